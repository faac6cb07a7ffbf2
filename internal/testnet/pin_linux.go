package testnet

import (
	"errors"
	"fmt"
	"os"
	"strconv"

	"golang.org/x/sys/unix"
)

// Pin lets the programs that the namespace starts from now on run on one core
// only.
func (n *Namespace) Pin(core int) error {
	err := n.keep(func() error { return pin(0, core) })
	if err != nil {
		return fmt.Errorf("testnet: pin %s to core %d: %w", n.Name, core, err)
	}
	return nil
}

// PinSelf keeps this process on one core until undo is called.
func PinSelf(core int) (undo func() error, err error) {
	var before unix.CPUSet
	if err := unix.SchedGetaffinity(0, &before); err != nil {
		return nil, fmt.Errorf("testnet: affinity: %w", err)
	}
	var only unix.CPUSet
	only.Set(core)
	undo = func() error { return setThreads(&before) }
	if err := setThreads(&only); err != nil {
		return nil, errors.Join(fmt.Errorf("testnet: pin to core %d: %w", core, err), undo())
	}
	return undo, nil
}

func pin(thread, core int) error {
	var only unix.CPUSet
	only.Set(core)
	return unix.SchedSetaffinity(thread, &only)
}

// setThreads sets every thread; later ones inherit it from these.
func setThreads(set *unix.CPUSet) error {
	tasks, err := os.ReadDir("/proc/self/task")
	if err != nil {
		return err
	}
	for _, t := range tasks {
		id, err := strconv.Atoi(t.Name())
		if err != nil {
			continue
		}
		if err := unix.SchedSetaffinity(id, set); err != nil && err != unix.ESRCH {
			return err
		}
	}
	return nil
}
