package fastpath

import (
	"errors"
	"fmt"
	"io/fs"
	"math/bits"
	"math/rand/v2"
	"net"
	"os"
	"path/filepath"
	"sync/atomic"
	"time"
	"unsafe"

	"github.com/cilium/ebpf"
	"github.com/cilium/ebpf/link"
	"golang.org/x/sys/unix"

	"github.com/linerate/linerate/internal/port"
)

// Path is a fast path, attached and pinned: it goes on without this process.
type Path struct {
	opt    Options
	objs   programObjects
	table  *table
	memory []byte
	config *programConfig // shared with the kernel
	modes  map[string]string
}

// Up attaches the fast path to interfaces of the calling thread's namespace, or
// takes over the one that is there: its flows stay, its programs are replaced
// without a gap. It needs CAP_BPF, CAP_NET_ADMIN and Linux 6.6.
func Up(o Options) (*Path, error) {
	o, err := o.located()
	if err != nil {
		return nil, err
	}
	if err := os.MkdirAll(o.Dir, 0o700); err != nil {
		return nil, fmt.Errorf("fastpath: %w", err)
	}
	unlock, err := lock(o.Dir)
	if err != nil {
		return nil, err
	}
	defer unlock()
	p := &Path{opt: o, modes: map[string]string{}}
	if err := p.up(); err != nil {
		return nil, errors.Join(fmt.Errorf("fastpath: %w", err), p.Close())
	}
	return p, nil
}

// Open opens the fast path that is attached. It wraps fs.ErrNotExist where
// there is none.
func Open(dir string) (*Path, error) {
	o, err := Options{Dir: dir}.located()
	if err != nil {
		return nil, err
	}
	unlock, err := lock(o.Dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("fastpath: none is up: %w", fs.ErrNotExist)
	}
	if err != nil {
		return nil, err
	}
	defer unlock()
	if live, err := attached(o.Dir); err != nil || !live {
		return nil, errors.Join(fmt.Errorf("fastpath: none is up: %w", fs.ErrNotExist), err)
	}
	p := &Path{opt: o, modes: map[string]string{}}
	if err := p.load(); err != nil {
		return nil, errors.Join(fmt.Errorf("fastpath: %w", err), p.Close())
	}
	return p, nil
}

// load loads the programs on the pinned maps, or on new ones that it pins.
func (p *Path) load() error {
	spec, err := loadProgram()
	if err != nil {
		return err
	}
	p.size(spec)
	for _, m := range spec.Maps {
		if m.Name != ".rodata" && m.Name != ".bss" && m.Name != ".data" {
			m.Pinning = ebpf.PinByName
		}
	}
	if err := spec.LoadAndAssign(&p.objs, &ebpf.CollectionOptions{Maps: ebpf.MapOptions{PinPath: p.opt.Dir}}); err != nil {
		if errors.Is(err, ebpf.ErrMapIncompatible) {
			return fmt.Errorf("the tables of another version or size are pinned in %s: 'linerate forward down' first: %w", p.opt.Dir, err)
		}
		return fmt.Errorf("load (it needs CAP_BPF, CAP_NET_ADMIN and Linux 6.6): %w", err)
	}
	if p.memory, err = shared(p.objs.Settings, os.Getpagesize()); err != nil {
		return fmt.Errorf("map the settings: %w", err)
	}
	p.config = (*programConfig)(unsafe.Pointer(&p.memory[0]))
	if p.config.Mask == 0 {
		p.config.Mask, p.config.Seed = p.objs.Ways.MaxEntries()-1, rand.Uint32()
	}
	p.table, err = openTable(p.objs.Ways, p.config.Seed)
	return err
}

// size makes the table as large as asked for, or as the one is that is pinned.
func (p *Path) size(spec *ebpf.CollectionSpec) {
	flows := p.opt.Flows
	if flows == 0 {
		flows = affordable()
	}
	places := uint32(placesPer) << bits.Len(uint(flows-1))
	if m, err := ebpf.LoadPinnedMap(filepath.Join(p.opt.Dir, "ways"), nil); err == nil {
		places = m.MaxEntries()
		m.Close()
	}
	spec.Maps["ways"].MaxEntries = places
}

// affordable is how many connections a 64th of the memory holds, and 65,536 at
// most.
func affordable() int {
	const most = 1 << 16
	var info unix.Sysinfo_t
	if unix.Sysinfo(&info) != nil {
		return most
	}
	each := uint64(placesPer * unsafe.Sizeof(programWay{}))
	return int(min(most, max(1<<8, uint64(info.Totalram)*uint64(info.Unit)/64/each)))
}

func (p *Path) up() error {
	// What an earlier namespace of this number left is nobody's.
	if live, err := attached(p.opt.Dir); err != nil {
		return err
	} else if !live {
		if err := unpin(p.opt.Dir); err != nil {
			return err
		}
	}
	if err := p.load(); err != nil {
		return err
	}
	p.config.Recheck = uint64(p.opt.Recheck)
	atomic.CompareAndSwapUint32(&p.config.Generation, 0, 1)
	for _, name := range p.opt.Interfaces {
		if err := p.attach(name); err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
	}
	return nil
}

// attach makes an interface one of the fast path's.
func (p *Path) attach(name string) error {
	ifi, err := p.note(name)
	if err != nil {
		return err
	}
	egress := func() (link.Link, error) {
		return link.AttachTCX(link.TCXOptions{Interface: ifi.Index, Program: p.objs.Observe, Attach: ebpf.AttachTCXEgress})
	}
	if err := p.pin(name+"-out", p.objs.Observe, egress); err != nil {
		return fmt.Errorf("watch what leaves: %w", err)
	}
	return p.pin(name+"-in", p.objs.Forward, func() (l link.Link, err error) {
		l, p.modes[name], err = port.AttachXDP(p.objs.Forward, ifi.Index)
		return l, err
	})
}

// note tells the programs of an interface.
func (p *Path) note(name string) (*net.Interface, error) {
	ifi, err := net.InterfaceByName(name)
	if err != nil {
		return nil, err
	}
	if len(ifi.HardwareAddr) != 6 {
		return nil, fmt.Errorf("it is not Ethernet: %w", errors.ErrUnsupported)
	}
	index := uint32(ifi.Index)
	if index >= p.objs.Interfaces.MaxEntries() {
		return nil, fmt.Errorf("it has number %d, and %d is the highest: %w", index, p.objs.Interfaces.MaxEntries()-1, errors.ErrUnsupported)
	}
	err = p.objs.Interfaces.Put(index, programInterface{Mac: [6]byte(ifi.HardwareAddr), Ours: 1, Mtu: uint32(ifi.MTU)})
	return ifi, errors.Join(err, p.objs.Ports.Put(index, index))
}

// extend lets the programs trust the generation for another lease.
func (p *Path) extend(d time.Duration) {
	var now unix.Timespec
	if unix.ClockGettime(unix.CLOCK_MONOTONIC, &now) == nil {
		atomic.StoreUint64(&p.config.Lease, uint64(now.Nano()+int64(d)))
	}
}

// Renew starts a new generation: the stack decides on every flow again.
func (p *Path) Renew() {
	if atomic.AddUint32(&p.config.Generation, 1) == 0 {
		atomic.AddUint32(&p.config.Generation, 1) // 0 is no generation
	}
}

// Close leaves the fast path running.
func (p *Path) Close() error {
	var err error
	if p.table != nil {
		err = p.table.close()
	}
	if p.memory != nil {
		err = errors.Join(err, unix.Munmap(p.memory))
	}
	return errors.Join(err, p.objs.Close())
}
