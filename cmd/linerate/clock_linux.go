package main

import "golang.org/x/sys/unix"

// monotonic reads the clock that stamps frames in the kernel, in ns.
func monotonic() int64 {
	var t unix.Timespec
	if unix.ClockGettime(unix.CLOCK_MONOTONIC, &t) != nil {
		return 0
	}
	return t.Nano()
}
