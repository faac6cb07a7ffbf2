package lever

import (
	"io/fs"
	"strings"

	"github.com/linerate/linerate/internal/host"
)

// Owner is another program that sets what we set; its changes win sooner or
// later unless it is told.
type Owner struct {
	Name   string
	Moves  []string // prefixes of lever IDs
	Advice string
}

func owners() []Owner {
	return []Owner{
		{"irqbalance", []string{"irq."}, "stop it, or ban the interrupts with IRQBALANCE_ARGS=--banirq=N"},
		{"tuned", []string{"sysctl.", "cpu.", "ethtool."}, "see 'tuned-adm active'; put the setting into a profile of your own"},
		{"NetworkManager", []string{"link.mtu", "ethtool."}, "it sets again at activation; use 'nmcli connection modify ... ethtool.*'"},
		{"systemd-networkd", []string{"link.mtu"}, "it sets MTUBytes= again at reconfiguration"},
		{"bpftune", []string{"sysctl.net."}, "it steps aside for a tunable that somebody else writes"},
	}
}

// Owners returns the programs running on h that also set the lever id.
func Owners(h host.Host, id string) []Owner {
	running := map[string]bool{}
	comms, _ := fs.Glob(h, "proc/[0-9]*/comm") // the pattern is well formed
	for _, name := range comms {
		if b, err := fs.ReadFile(h, name); err == nil { // a process may end meanwhile
			running[strings.TrimSpace(string(b))] = true
		}
	}
	var out []Owner
	for _, o := range owners() {
		// The kernel keeps 15 characters of a command's name.
		if !running[o.Name] && !running[o.Name[:min(15, len(o.Name))]] {
			continue
		}
		for _, p := range o.Moves {
			if strings.HasPrefix(id, p) {
				out = append(out, o)
				break
			}
		}
	}
	return out
}
