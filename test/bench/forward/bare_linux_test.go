package forward

import (
	"encoding/binary"
	"net"
	"testing"

	"github.com/cilium/ebpf"
	"github.com/cilium/ebpf/link"

	"github.com/linerate/linerate/internal/port"
)

// bare puts the least program that forwards on the router's way in.
func (r *rig) bare(b *testing.B, nat bool) (down func()) {
	b.Helper()
	spec, err := loadBare()
	if err != nil {
		b.Fatal(err)
	}
	out := r.index(b)
	var macs [12]byte
	for i, text := range []string{r.to.MAC, r.out.MAC} {
		mac, err := net.ParseMAC(text)
		if err != nil {
			b.Fatal(err)
		}
		copy(macs[6*i:], mac)
	}
	source := r.out.IPv4.Addr().As4()
	for name, value := range map[string]any{"out": out, "macs": macs, "saddr": binary.NativeEndian.Uint32(source[:])} {
		if err := spec.Variables[name].Set(value); err != nil {
			b.Fatal(err)
		}
	}
	var objs bareObjects
	var l link.Link
	err = r.box.Do(func() error {
		if err := spec.LoadAndAssign(&objs, nil); err != nil {
			return err
		}
		if err := objs.Ports.Put(out, out); err != nil {
			return err
		}
		ifi, err := net.InterfaceByName(r.in.Interface)
		if err != nil {
			return err
		}
		program := map[bool]*ebpf.Program{false: objs.Fib, true: objs.Napt}[nat]
		l, _, err = port.AttachXDP(program, ifi.Index)
		return err
	})
	if err != nil {
		b.Fatal(err)
	}
	return func() { l.Close(); objs.Close() }
}

func (r *rig) index(b *testing.B) (index uint32) {
	b.Helper()
	err := r.box.Do(func() error {
		ifi, err := net.InterfaceByName(r.out.Interface)
		if err == nil {
			index = uint32(ifi.Index)
		}
		return err
	})
	if err != nil {
		b.Fatal(err)
	}
	return index
}
