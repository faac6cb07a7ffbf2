package fastpath

import (
	"errors"
	"io/fs"
	"sync"
	"testing"

	"github.com/linerate/linerate/internal/testnet"
)

// wire gives a namespace an interface.
func wire(t *testing.T, box, other *testnet.Namespace) Options {
	t.Helper()
	l, err := testnet.Connect(box, other, testnet.LinkOptions{})
	if err != nil {
		t.Fatal(err)
	}
	return Options{Interfaces: []string{l.A.Interface}}
}

// TestLoadsDoNotCollide: showing a fast path while it comes up, twice, neither
// fails nor makes half of one.
func TestLoadsDoNotCollide(t *testing.T) {
	testnet.NeedRoot(t)
	box, other := testnet.NewNamespace(t, "box"), testnet.NewNamespace(t, "other")
	o := wire(t, box, other)
	var all sync.WaitGroup
	for i := range 6 {
		all.Go(func() {
			err := box.Do(func() error {
				p, err := Open("")
				if i < 2 {
					p, err = Up(o)
				}
				if err != nil {
					return err
				}
				return p.Close()
			})
			if err != nil && (i < 2 || !errors.Is(err, fs.ErrNotExist)) {
				t.Errorf("loader %d: %v", i, err)
			}
		})
	}
	all.Wait()
}

// TestUpAfterItsInterfaceWent: pins of an interface that is no more are no fast
// path, and do not keep another of its name from having one.
func TestUpAfterItsInterfaceWent(t *testing.T) {
	testnet.NeedRoot(t)
	box, other := testnet.NewNamespace(t, "box"), testnet.NewNamespace(t, "other")
	for range 2 {
		o := wire(t, box, other)
		name := o.Interfaces[0]
		var mode string
		err := box.Do(func() error {
			p, err := Up(o)
			if err != nil {
				return err
			}
			mode = p.Modes()[name]
			return p.Close()
		})
		if err != nil {
			t.Fatal(err)
		}
		if mode == "" {
			t.Error("a program was replaced that sat nowhere")
		}
		if out, err := box.Run(t.Context(), "ip", "link", "del", name); err != nil {
			t.Fatalf("%v\n%s", err, out)
		}
		if err := box.Do(func() error { _, err := Open(""); return err }); !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("opened what sits nowhere: %v", err)
		}
	}
}
