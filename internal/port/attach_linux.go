package port

import (
	"fmt"

	"github.com/cilium/ebpf"
	"github.com/cilium/ebpf/link"
)

// AttachXDP attaches a program to an interface: in the driver where that can,
// in the stack otherwise; mode says which. A driver that cannot refuses at once.
func AttachXDP(prog *ebpf.Program, index int) (l link.Link, mode string, err error) {
	for _, m := range []struct {
		name  string
		flags link.XDPAttachFlags
	}{{"driver", link.XDPDriverMode}, {"stack", link.XDPGenericMode}} {
		l, err = link.AttachXDP(link.XDPOptions{Program: prog, Interface: index, Flags: m.flags})
		if err == nil {
			return l, m.name, nil
		}
	}
	return nil, "", fmt.Errorf("attach: %w", err)
}
