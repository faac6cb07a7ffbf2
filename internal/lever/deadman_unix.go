//go:build unix

package lever

import (
	"os"
	"syscall"
)

// ownSession keeps the timer alive when the terminal or SSH session ends.
func ownSession() *syscall.SysProcAttr { return &syscall.SysProcAttr{Setsid: true} }

// inherited are the files that a child gets beside the standard ones: the lock
// of a journal belongs to whoever has the file open.
func inherited(f *os.File) []*os.File {
	if f == nil {
		return nil
	}
	return []*os.File{f}
}
