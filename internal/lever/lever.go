// Package lever changes settings and puts them back.
//
// Every change goes through a Journal: the old value is on disk before the new
// one is set, so that a crash, kill -9 or power cut at any point leaves the way
// back. A change that nobody confirms in time undoes itself.
package lever

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"strings"

	"github.com/linerate/linerate/internal/host"
)

// Errors that callers tell apart.
var (
	// ErrUnchanged: the write was accepted, but the value reads back
	// unchanged; many drivers take only part of what ethtool offers.
	ErrUnchanged = host.ErrUnchanged
	// ErrNotBack: at least one change could not be undone.
	ErrNotBack = errors.New("not fully put back")
)

// Lever is one setting that can be read and moved.
type Lever interface {
	// ID is the tool's own spelling, with the interface where there is one:
	// "sysctl.net.ipv4.tcp_rmem", "ethtool.coalesce.rx-usecs@eth0".
	ID() string
	Get(ctx context.Context) (string, error)
	Set(ctx context.Context, value string) error
}

// File is the commonest Lever: one file of a host.
type File struct {
	Name string // lever ID
	Path string // below the host's root
	Host host.Host
}

// ID returns the lever's name.
func (f File) ID() string { return f.Name }

// Get returns the file's content with white space folded, as sysctl(8) shows it.
func (f File) Get(context.Context) (string, error) {
	b, err := fs.ReadFile(f.Host, f.Path)
	if err != nil {
		return "", fmt.Errorf("%s: read: %w", f.Name, err)
	}
	return fold(string(b)), nil
}

// Set writes the file.
func (f File) Set(_ context.Context, v string) error {
	if err := f.Host.Write(f.Path, v); err != nil {
		return fmt.Errorf("%s: set %q: %w", f.Name, v, err)
	}
	return nil
}

func fold(s string) string { return strings.Join(strings.Fields(s), " ") }

// Same reports whether two values of one setting mean the same: white space,
// the case of hexadecimal digits and leading zeros of CPU masks ("00000003")
// do not count.
func Same(a, b string) bool {
	x, y := strings.Fields(a), strings.Fields(b)
	if len(x) != len(y) {
		return false
	}
	for i := range x {
		if bare(x[i]) != bare(y[i]) {
			return false
		}
	}
	return true
}

func bare(s string) string {
	s = strings.ToLower(strings.Trim(s, ","))
	if t := strings.TrimLeft(s, "0,"); t != "" || s == "" {
		return t
	}
	return "0"
}
