//go:build !linux

package main

// monotonic is asked for where frames are stamped only, which is on Linux.
func monotonic() int64 { return 0 }
