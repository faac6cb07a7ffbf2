//go:build !linux

package nic

import "time"

func sleepFor(d time.Duration) { time.Sleep(d) }
