//go:build !linux

package stream

import "net"

// Detach returns c: its data path is package net's.
func Detach(c net.Conn) (net.Conn, error) { return c, nil }
