package port

import (
	"errors"
	"fmt"

	"github.com/cilium/ebpf"
	"github.com/cilium/ebpf/asm"
	"github.com/cilium/ebpf/link"
)

// steered is a program that sends a queue's frames to a socket.
type steered struct {
	sockets *ebpf.Map
	prog    *ebpf.Program
	link    link.Link
}

// steer attaches a program to the interface that redirects the frames of one
// queue to the socket; the other queues' go to the stack.
func steer(index, queue, socket int, generic bool) (*steered, error) {
	s := &steered{}
	err := s.load(queue, socket)
	if err == nil {
		flags := link.XDPDriverMode
		if generic {
			flags = link.XDPGenericMode
		}
		s.link, err = link.AttachXDP(link.XDPOptions{Program: s.prog, Interface: index, Flags: flags})
	}
	if err != nil {
		return nil, errors.Join(fmt.Errorf("steer queue %d: %w", queue, err), s.Close())
	}
	return s, nil
}

func (s *steered) load(queue, socket int) (err error) {
	s.sockets, err = ebpf.NewMap(&ebpf.MapSpec{Type: ebpf.XSKMap, KeySize: 4, ValueSize: 4, MaxEntries: uint32(queue + 1)})
	if err != nil {
		return err
	}
	if err := s.sockets.Put(uint32(queue), uint32(socket)); err != nil {
		return err
	}
	const rxQueueIndex = 16 // offset in struct xdp_md
	const pass = 2          // XDP_PASS, where the map holds no socket for the queue
	s.prog, err = ebpf.NewProgram(&ebpf.ProgramSpec{Type: ebpf.XDP, License: "Apache-2.0", Instructions: asm.Instructions{
		asm.LoadMem(asm.R2, asm.R1, rxQueueIndex, asm.Word),
		asm.LoadMapPtr(asm.R1, s.sockets.FD()),
		asm.Mov.Imm(asm.R3, pass),
		asm.FnRedirectMap.Call(),
		asm.Return(),
	}})
	return err
}

func (s *steered) Close() error {
	var err error
	if s.link != nil {
		err = s.link.Close()
	}
	if s.prog != nil {
		err = errors.Join(err, s.prog.Close())
	}
	if s.sockets != nil {
		err = errors.Join(err, s.sockets.Close())
	}
	return err
}
