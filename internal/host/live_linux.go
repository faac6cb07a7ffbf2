package host

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

// Live returns the box this process runs on, in the network namespace of the
// thread that reads: a goroutine that moved its thread to another namespace
// (and locked it) reads that one's proc/net, link, ethtool and sockdiag.
// sys/class/net belongs to the namespace that mounted it; link/ does not have
// that trap. LiveIn and InNamespace serve another namespace to any goroutine.
func Live() (Host, error) { return live{}, nil }

type live struct{}

// source is a part of the tree that is not a file of the kernel's own.
type source interface {
	open(rest string) (fs.File, error)
	write(rest, value string) error
}

// sources are the synthetic parts by the first element of their names.
func sources() map[string]source {
	return map[string]source{"link": links{}, "ethtool": ethtools{}, "sockdiag": sockdiag{}, "qdisc": qdiscs{}, "process": processes{}}
}

func (live) Open(name string) (fs.File, error) {
	if !fs.ValidPath(name) {
		return nil, &fs.PathError{Op: "open", Path: name, Err: fs.ErrInvalid}
	}
	top, rest, _ := strings.Cut(name, "/")
	if s, ok := sources()[top]; ok {
		f, err := s.open(rest)
		if err != nil {
			return nil, &fs.PathError{Op: "open", Path: name, Err: err}
		}
		return f, nil
	}
	switch top {
	case ".":
		return dir(".", entries("ethtool/", "link/", "proc/", "qdisc/", "sockdiag/", "sys/")), nil
	case "proc", "sys", "boot", "lib": // the last two for the kernel's configuration and modules
		return os.DirFS("/").Open(perThread(name))
	}
	return nil, &fs.PathError{Op: "open", Path: name, Err: fs.ErrNotExist}
}

// ReadFile reads a whole file. It must not leave that to fs.ReadFile, which
// begins with a read of the length that Stat tells, 0 for all of proc, and a
// byte: a sysctl answers the first read only.
func (l live) ReadFile(name string) ([]byte, error) {
	f, err := l.Open(name)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return io.ReadAll(f)
}

func (live) Write(name, value string) error {
	if !fs.ValidPath(name) {
		return fmt.Errorf("write %s: %w", name, fs.ErrInvalid)
	}
	top, rest, _ := strings.Cut(name, "/")
	if s, ok := sources()[top]; ok {
		if err := s.write(rest, value); err != nil {
			return fmt.Errorf("write %s: %w", name, err)
		}
		return nil
	}
	if top != "proc" && top != "sys" {
		return fmt.Errorf("write %s: %w", name, fs.ErrNotExist)
	}
	// No O_CREATE: a setting that the kernel does not have must not look set.
	f, err := os.OpenFile(filepath.Join("/", perThread(name)), os.O_WRONLY|os.O_TRUNC, 0)
	if err != nil {
		return fmt.Errorf("write %w", err)
	}
	_, err = f.WriteString(value)
	if err = errors.Join(err, f.Close()); err != nil {
		return fmt.Errorf("write %s: %q: %w", name, value, err)
	}
	return nil
}

// perThread names the file of the reading thread's network namespace: proc/net
// is a link to proc/self/net, which shows the namespace of the process's first
// thread.
func perThread(name string) string {
	if rest, ok := strings.CutPrefix(name, "proc/net"); ok && (rest == "" || rest[0] == '/') {
		return "proc/thread-self/net" + rest
	}
	return name
}
