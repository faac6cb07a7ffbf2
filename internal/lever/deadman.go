package lever

import (
	"fmt"
	"os"
)

// Arm starts exe with args as a process of its own session, which shall wait
// and roll the journal back unless it was confirmed: a dead-man timer that
// outlives this process and its terminal. It must be armed before the first
// change. The process reads and prints nothing.
func Arm(exe string, args ...string) error {
	null, err := os.OpenFile(os.DevNull, os.O_RDWR, 0)
	if err != nil {
		return fmt.Errorf("dead-man timer: %w", err)
	}
	defer null.Close()
	p, err := os.StartProcess(exe, append([]string{exe}, args...), &os.ProcAttr{
		Dir: "/", Files: []*os.File{null, null, null}, Sys: ownSession(),
	})
	if err != nil {
		return fmt.Errorf("dead-man timer: start %s: %w", exe, err)
	}
	return p.Release()
}
