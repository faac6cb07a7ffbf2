package nic

import (
	"time"

	"golang.org/x/sys/unix"
)

// sleepFor sleeps in the kernel, on this thread, with the least slack.
func sleepFor(d time.Duration) {
	_ = unix.Prctl(unix.PR_SET_TIMERSLACK, 1, 0, 0, 0) // the default of 50 us shows as lateness
	for end := time.Now().Add(d); ; {
		ts := unix.NsecToTimespec(int64(d))
		if unix.Nanosleep(&ts, nil) != unix.EINTR {
			return
		}
		if d = time.Until(end); d <= 0 {
			return
		}
	}
}
