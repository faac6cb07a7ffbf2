package lever

import (
	"fmt"
	"io"
	"os"
)

// Arm starts exe with args as a process of its own session, which shall wait
// and put things back unless it was told that they are wanted: a dead-man timer
// that outlives this process and its terminal. It must be armed before the first
// change. The process reads and prints nothing.
func Arm(exe string, args ...string) error { return arm(nil, exe, args) }

// Arm is the dead-man timer of a journal: the process owns the journal too, from
// the first moment on, so that it never looks abandoned.
func (j *Journal) Arm(exe string, args ...string) error { return arm(j.f, exe, args) }

func arm(owned *os.File, exe string, args []string) error {
	null, err := os.OpenFile(os.DevNull, os.O_RDWR, 0)
	if err != nil {
		return fmt.Errorf("dead-man timer: %w", err)
	}
	defer null.Close()
	return spawn(null, owned, exe, args)
}

// Leash is Arm for a process that goes on working: what it starts must wait
// until its standard input ends, which is when the returned leash is closed or
// this process has ended, however it did. What is written into the leash says
// that a confirmation may still come.
func (j *Journal) Leash(exe string, args ...string) (io.WriteCloser, error) {
	r, w, err := os.Pipe()
	if err != nil {
		return nil, fmt.Errorf("dead-man timer: %w", err)
	}
	defer r.Close()
	if err := spawn(r, j.f, exe, args); err != nil {
		w.Close()
		return nil, err
	}
	return w, nil
}

func spawn(in, owned *os.File, exe string, args []string) error {
	null, err := os.OpenFile(os.DevNull, os.O_RDWR, 0)
	if err != nil {
		return fmt.Errorf("dead-man timer: %w", err)
	}
	defer null.Close()
	p, err := os.StartProcess(exe, append([]string{exe}, args...), &os.ProcAttr{
		Dir: "/", Files: append([]*os.File{in, null, null}, inherited(owned)...), Sys: ownSession(),
	})
	if err != nil {
		return fmt.Errorf("dead-man timer: start %s: %w", exe, err)
	}
	return p.Release()
}
