package lever

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/linerate/linerate/internal/host"
)

// Here returns the place that changes to h made now would hold in; parts that
// cannot be read are empty.
func Here(h host.Host) Place {
	var p Place
	if b, err := fs.ReadFile(h, "proc/sys/kernel/random/boot_id"); err == nil {
		p.Boot = strings.TrimSpace(string(b))
	}
	if s, err := os.Readlink("/proc/thread-self/ns/net"); err == nil {
		p.Netns = s
	}
	return p
}

// InNamespace returns the place in a network namespace at path, such as
// "/proc/4711/ns/net" or a name of ip-netns(8).
func InNamespace(h host.Host, path string) (Place, error) {
	p := Here(h)
	if !strings.Contains(path, "/") {
		path = filepath.Join("/run/netns", path)
	}
	inode, err := inodeOf(path)
	if err != nil {
		return p, fmt.Errorf("network namespace: %w", err)
	}
	p.Netns = fmt.Sprintf("net:[%d]", inode) // as the link in /proc shows it
	return p, nil
}

// StateDir is where journals live: /var/lib/linerate for root, the user's
// state directory otherwise.
func StateDir() string {
	if d := os.Getenv("STATE_DIRECTORY"); d != "" { // systemd.exec(5)
		return d
	}
	if os.Geteuid() == 0 {
		return "/var/lib/linerate"
	}
	if d := os.Getenv("XDG_STATE_HOME"); d != "" {
		return filepath.Join(d, "linerate")
	}
	home, err := os.UserHomeDir()
	if err != nil {
		return filepath.Join(os.TempDir(), "linerate")
	}
	return filepath.Join(home, ".local", "state", "linerate")
}
