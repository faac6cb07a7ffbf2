package lever

import (
	"context"
	"fmt"
	"io/fs"
	"strings"

	"github.com/linerate/linerate/internal/host"
)

// Line is one setting in a file of many: a "key: value" line, as the host's
// ethtool files have them.
type Line struct {
	Name string // lever ID
	Path string // below the host's root
	Key  string
	Host host.Host
}

// ID returns the lever's name.
func (l Line) ID() string { return l.Name }

// Get returns the value of the key. A key that the driver does not have gives
// an error that wraps host.ErrUnsupported.
func (l Line) Get(context.Context) (string, error) {
	b, err := fs.ReadFile(l.Host, l.Path)
	if err != nil {
		return "", fmt.Errorf("%s: read: %w", l.Name, err)
	}
	for line := range strings.Lines(string(b)) {
		if k, v, ok := strings.Cut(line, ":"); ok && strings.TrimSpace(k) == l.Key {
			return strings.TrimSpace(v), nil
		}
	}
	return "", fmt.Errorf("%s: the driver has no such setting: %w", l.Name, host.ErrUnsupported)
}

// Set writes "key: value"; the host changes this key only.
func (l Line) Set(_ context.Context, v string) error {
	if err := l.Host.Write(l.Path, l.Key+": "+v+"\n"); err != nil {
		return fmt.Errorf("%s: set %q: %w", l.Name, v, err)
	}
	return nil
}
