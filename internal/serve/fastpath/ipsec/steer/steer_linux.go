// Package steer sends the packets of an interface that are to be sealed or
// opened to AF_XDP sockets, past the stack; everything else stays with it.
package steer

import (
	"encoding/binary"
	"errors"
	"fmt"
	"net"
	"net/netip"

	"github.com/cilium/ebpf"
	"github.com/cilium/ebpf/link"

	"github.com/linerate/linerate/internal/port"
)

//go:generate go tool bpf2go -cc clang -cflags "-O2 -g -Wall -Werror -I/usr/include/x86_64-linux-gnu" -type config -target bpfel,bpfeb program bpf/steer.bpf.c

// Steering is a program on an interface, off until Set turns it on.
type Steering struct {
	Mode string // "driver" or "stack"
	objs programObjects
	link link.Link
	mac  net.HardwareAddr
}

// Wanted is what a program steers.
type Wanted struct {
	On      bool
	Ports   []uint16                // ours, for ESP in UDP; four at most
	Locals  []netip.Addr            // our outer addresses
	Remotes map[netip.Prefix]uint32 // what is protected, and the longest packet that fits
}

// maxPorts is PORTS of the program.
const maxPorts = 4

// Attach puts a program on an interface that has none.
func Attach(name string) (*Steering, error) {
	ifi, err := net.InterfaceByName(name)
	if err != nil {
		return nil, fmt.Errorf("steer: %s: %w", name, err)
	}
	if len(ifi.HardwareAddr) != 6 {
		return nil, fmt.Errorf("steer: %s is no Ethernet interface: %w", name, errors.ErrUnsupported)
	}
	s := &Steering{mac: ifi.HardwareAddr}
	if err := loadProgramObjects(&s.objs, nil); err != nil {
		return nil, fmt.Errorf("steer: load (it needs CAP_BPF and CAP_NET_ADMIN): %w", err)
	}
	if s.link, s.Mode, err = port.AttachXDP(s.objs.Steer, ifi.Index); err != nil {
		return nil, errors.Join(fmt.Errorf("steer: %s: %w", name, err), s.objs.Close())
	}
	return s, nil
}

// Sockets returns the map that the sockets of the interface's queues go to.
func (s *Steering) Sockets() *ebpf.Map { return s.objs.Sockets }

// Close takes the program off.
func (s *Steering) Close() error { return errors.Join(s.link.Close(), s.objs.Close()) }

// Set changes what is steered. While it changes nothing is.
func (s *Steering) Set(w Wanted) error {
	if len(w.Ports) > maxPorts {
		return fmt.Errorf("steer: %d UDP ports, %d at most: %w", len(w.Ports), maxPorts, errors.ErrUnsupported)
	}
	c := programConfig{}
	for i := range c.Mac {
		c.Mac[i] = binary.NativeEndian.Uint16(s.mac[2*i:])
	}
	for i, p := range w.Ports {
		c.Ports[i] = swap(p)
	}
	if err := s.objs.Configs.Put(uint32(0), &c); err != nil {
		return fmt.Errorf("steer: %w", err)
	}
	if err := errors.Join(s.locals(w.Locals), s.remotes(w.Remotes)); err != nil {
		return fmt.Errorf("steer: %w", err)
	}
	if w.On {
		c.On = 1
	}
	if err := s.objs.Configs.Put(uint32(0), &c); err != nil {
		return fmt.Errorf("steer: %w", err)
	}
	return nil
}

// swap puts a number into network byte order.
func swap(n uint16) uint16 {
	return binary.NativeEndian.Uint16(binary.BigEndian.AppendUint16(nil, n))
}

func (s *Steering) locals(want []netip.Addr) error {
	keep := map[[16]byte]bool{}
	for _, a := range want {
		keep[a.As16()] = true
	}
	if err := prune(s.objs.Locals, func(k [16]byte) bool { return keep[k] }); err != nil {
		return err
	}
	for k := range keep {
		if err := s.objs.Locals.Put(k, uint32(1)); err != nil {
			return err
		}
	}
	return nil
}

type (
	prefix4 struct {
		Length  uint32
		Address [4]byte
	}
	prefix6 struct {
		Length  uint32
		Address [16]byte
	}
)

func (s *Steering) remotes(want map[netip.Prefix]uint32) error {
	four, six := map[prefix4]uint32{}, map[prefix6]uint32{}
	for p, room := range want {
		if p = p.Masked(); p.Addr().Is4() {
			four[prefix4{uint32(p.Bits()), p.Addr().As4()}] = room
		} else {
			six[prefix6{uint32(p.Bits()), p.Addr().As16()}] = room
		}
	}
	return errors.Join(fill(s.objs.Remotes4, four), fill(s.objs.Remotes6, six))
}

// fill makes a map hold what is wanted and nothing else.
func fill[K comparable](m *ebpf.Map, want map[K]uint32) error {
	if err := prune(m, func(k K) bool { _, ok := want[k]; return ok }); err != nil {
		return err
	}
	for k, v := range want {
		if err := m.Put(k, v); err != nil {
			return err
		}
	}
	return nil
}

func prune[K comparable](m *ebpf.Map, keep func(K) bool) error {
	var k K
	var v uint32
	var gone []K
	it := m.Iterate()
	for it.Next(&k, &v) {
		if !keep(k) {
			gone = append(gone, k)
		}
	}
	for _, k := range gone {
		if err := m.Delete(k); err != nil && !errors.Is(err, ebpf.ErrKeyNotExist) {
			return err
		}
	}
	return it.Err()
}
