package disk

import (
	"os"

	"golang.org/x/sys/windows"
)

// lock takes f for this upload alone; false where another has it. Locks of
// Windows keep others from reading, so it takes a byte far beyond the content.
func lock(f *os.File) bool {
	far := &windows.Overlapped{OffsetHigh: 1 << 30}
	return windows.LockFileEx(windows.Handle(f.Fd()), windows.LOCKFILE_EXCLUSIVE_LOCK|windows.LOCKFILE_FAIL_IMMEDIATELY, 0, 1, 0, far) == nil
}
