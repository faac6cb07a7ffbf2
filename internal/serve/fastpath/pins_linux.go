package fastpath

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/cilium/ebpf"
	"github.com/cilium/ebpf/link"
	"golang.org/x/sys/unix"
)

// bpfRoot is where bpffs is mounted.
const bpfRoot = "/sys/fs/bpf"

// Dir returns where the fast path of the calling thread's network namespace is
// pinned.
func Dir() (string, error) {
	var st unix.Stat_t
	if err := unix.Stat("/proc/thread-self/ns/net", &st); err != nil {
		return "", fmt.Errorf("fastpath: which network namespace: %w", err)
	}
	return filepath.Join(bpfRoot, fmt.Sprintf("linerate-%d", st.Ino)), nil
}

func (o Options) located() (Options, error) {
	o = o.orDefault()
	if o.Dir != "" {
		return o, nil
	}
	if err := mountRoot(); err != nil {
		return o, fmt.Errorf("fastpath: %w", err)
	}
	var err error
	o.Dir, err = Dir()
	return o, err
}

// mountRoot mounts bpffs where it belongs, unless it is there.
func mountRoot() error {
	var st unix.Statfs_t
	if err := unix.Statfs(bpfRoot, &st); err == nil && uint32(st.Type) == unix.BPF_FS_MAGIC {
		return nil
	}
	if err := unix.Mount("bpf", bpfRoot, "bpf", unix.MS_NOSUID|unix.MS_NODEV|unix.MS_NOEXEC, "mode=0700"); err != nil {
		return fmt.Errorf("mount bpffs on %s: %w", bpfRoot, err)
	}
	return nil
}

// lock keeps others from loading or removing what is pinned in dir until
// unlock. It wraps fs.ErrNotExist where nothing is.
func lock(dir string) (unlock func(), err error) {
	for {
		f, err := os.Open(dir)
		if err != nil {
			return nil, fmt.Errorf("fastpath: %w", err)
		}
		if err := unix.Flock(int(f.Fd()), unix.LOCK_EX); err != nil {
			f.Close()
			return nil, fmt.Errorf("fastpath: lock %s: %w", dir, err)
		}
		held, err1 := f.Stat()
		named, err2 := os.Stat(dir)
		if err1 == nil && err2 == nil && os.SameFile(held, named) {
			return func() { f.Close() }, nil
		}
		f.Close() // it was removed while we waited
	}
}

// attached reports whether a pinned program still sits on an interface.
func attached(dir string) (bool, error) {
	pins, err := filepath.Glob(filepath.Join(dir, "*-in"))
	if err != nil {
		return false, fmt.Errorf("fastpath: %w", err)
	}
	for _, pin := range pins {
		l, err := link.LoadPinnedLink(pin, nil)
		if err != nil {
			return false, fmt.Errorf("fastpath: %s: %w", pin, err)
		}
		info, err := l.Info()
		l.Close()
		if err != nil {
			return false, fmt.Errorf("fastpath: %s: %w", pin, err)
		}
		if xdp := info.XDP(); xdp != nil && xdp.Ifindex != 0 {
			return true, nil
		}
	}
	return false, nil
}

// unpin removes what is pinned in dir: a link whose last reference goes
// detaches.
func unpin(dir string) error {
	pins, err := os.ReadDir(dir)
	errs := []error{err}
	for _, pin := range pins {
		errs = append(errs, os.Remove(filepath.Join(dir, pin.Name())))
	}
	return errors.Join(errs...)
}

// pin puts a program where an earlier link of the same name has one, or else
// attaches it and pins the link.
func (p *Path) pin(name string, prog *ebpf.Program, attach func() (link.Link, error)) error {
	file := filepath.Join(p.opt.Dir, name)
	if l, err := link.LoadPinnedLink(file, nil); err == nil {
		defer l.Close()
		err := l.Update(prog)
		if !errors.Is(err, unix.ENOLINK) {
			return err
		}
		// Its interface went, and this is another of the name.
		if err := os.Remove(file); err != nil {
			return err
		}
	}
	l, err := attach()
	if err != nil {
		return err
	}
	defer l.Close() // the pin holds it
	return l.Pin(file)
}

// Down detaches the fast path and frees its tables; dir as in Options. Without
// one it does nothing.
func Down(dir string) error {
	o, err := Options{Dir: dir}.located()
	if err != nil {
		return err
	}
	unlock, err := lock(o.Dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	defer unlock()
	if err := errors.Join(unpin(o.Dir), os.Remove(o.Dir)); err != nil {
		return fmt.Errorf("fastpath: down: %w", err)
	}
	return nil
}
