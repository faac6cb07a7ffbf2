package fastpath

import (
	"encoding/binary"
	"errors"
	"fmt"
	"maps"
	"net/netip"
	"slices"
	"sync"
	"sync/atomic"
	"time"
	"unsafe"

	"github.com/cilium/ebpf"
	"golang.org/x/sys/unix"
)

//go:generate go tool bpf2go -cc clang -cflags "-O2 -g -Wall -Werror -I/usr/include/x86_64-linux-gnu" -type pair -type way -type place -type config -type interface -type reason -target bpfel,bpfeb program bpf/fastpath.bpf.c

// errTableFull is returned when every pair is in use; the stack forwards the
// connection then.
var errTableFull = errors.New("the flow table is full")

// States of a pair, as in bpf/flow.h.
const (
	pairFree = iota
	pairLive
	pairClosing
)

// rest is how long a pair lies fallow after its connection ended: a packet
// that is under way may still look at it.
const rest = time.Second

// table is the connections that the programs forward.
type table struct {
	maps   *programMaps
	memory []byte        // shared with the kernel
	pairs  []programPair // in it

	mu     sync.Mutex
	known  map[Connection]uint32
	free   []uint32
	fallow []fallow // in the order of time
	full   uint64
}

type fallow struct {
	pair uint32
	from time.Time
}

// openTable takes over what the maps hold.
func openTable(m *programMaps) (*table, error) {
	n := int(m.Pairs.MaxEntries())
	mem, err := shared(m.Pairs, n*int(unsafe.Sizeof(programPair{})))
	if err != nil {
		return nil, fmt.Errorf("map the flow table: %w", err)
	}
	t := &table{maps: m, memory: mem, pairs: unsafe.Slice((*programPair)(unsafe.Pointer(&mem[0])), n), known: map[Connection]uint32{}}
	for i := len(t.pairs) - 1; i >= 0; i-- {
		if c, live := t.connection(uint32(i)); live {
			t.known[c] = uint32(i)
		} else {
			t.free = append(t.free, uint32(i))
		}
	}
	return t, nil
}

// shared maps an array of the kernel.
func shared(m *ebpf.Map, bytes int) ([]byte, error) {
	return unix.Mmap(m.FD(), 0, bytes, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_SHARED)
}

func (t *table) close() error { return unix.Munmap(t.memory) }

// add makes a connection fast, unless it is already.
func (t *table) add(c Connection) error {
	t.mu.Lock()
	defer t.mu.Unlock()
	if _, ok := t.known[c]; ok {
		return nil
	}
	i, err := t.take()
	if err != nil {
		return err
	}
	p := &t.pairs[i]
	*p = programPair{Proto: uint16(c.Original.Protocol), Family: 4}
	if c.Original.Source.Addr().Is6() {
		p.Family = 6
	}
	for way, x := range c.ways() {
		w := &p.Way[way]
		n := translate(x.in, x.out)
		w.NetworkDelta, w.TransportDelta = n.network, n.transport
		if n.changes {
			w.Nat = 1
		}
		putAddress(&w.Saddr, x.out.Source.Addr())
		putAddress(&w.Daddr, x.out.Target.Addr())
		s, d := bigEndian(x.out.Source.Port()), bigEndian(x.out.Target.Port())
		w.Sport, w.Dport = binary.NativeEndian.Uint16(s[:]), binary.NativeEndian.Uint16(d[:])
	}
	atomic.StoreUint32(&p.State, pairLive)
	t.known[c] = i
	if err := t.index(c, i); err != nil {
		t.drop(c, i)
		return err
	}
	return nil
}

// take returns a pair that nothing uses.
func (t *table) take() (uint32, error) {
	for len(t.fallow) > 0 && time.Since(t.fallow[0].from) > rest {
		t.free = append(t.free, t.fallow[0].pair)
		t.fallow = t.fallow[1:]
	}
	if len(t.free) == 0 {
		t.full++
		return 0, errTableFull
	}
	i := t.free[len(t.free)-1]
	t.free = t.free[:len(t.free)-1]
	return i, nil
}

// index makes the pair be found.
func (t *table) index(c Connection, i uint32) error {
	for way, x := range c.ways() {
		at := programPlace{Pair: i, Way: uint32(way)}
		if err := t.put(x.out, at, t.maps.Leaving4, t.maps.Leaving6); err != nil {
			return err
		}
		if err := t.put(x.in, at, t.maps.Flows4, t.maps.Flows6); err != nil {
			return err
		}
	}
	return nil
}

func (t *table) put(x Tuple, at programPlace, four, six *ebpf.Map) error {
	if x.Source.Addr().Is4() {
		return four.Put(x.key4(), at)
	}
	return six.Put(x.key6(), at)
}

func remove(x Tuple, four, six *ebpf.Map) {
	// What is not there need not be removed.
	if x.Source.Addr().Is4() {
		_ = four.Delete(x.key4())
	} else {
		_ = six.Delete(x.key6())
	}
}

func (t *table) has(c Connection) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	_, ok := t.known[c]
	return ok
}

// connections returns those that are fast.
func (t *table) connections() []Connection {
	t.mu.Lock()
	defer t.mu.Unlock()
	return slices.Collect(maps.Keys(t.known))
}

// end gives a connection back to the stack.
func (t *table) end(c Connection) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if i, ok := t.known[c]; ok {
		t.drop(c, i)
	}
}

func (t *table) drop(c Connection, i uint32) {
	atomic.StoreUint32(&t.pairs[i].State, pairFree)
	for _, x := range c.ways() {
		remove(x.in, t.maps.Flows4, t.maps.Flows6)
		remove(x.out, t.maps.Leaving4, t.maps.Leaving6)
	}
	delete(t.known, c)
	t.fallow = append(t.fallow, fallow{i, time.Now()})
}

// connection reads back what a pair is of; live is false for a free one.
func (t *table) connection(i uint32) (c Connection, live bool) {
	p := &t.pairs[i]
	if atomic.LoadUint32(&p.State) == pairFree {
		return c, false
	}
	six := p.Family == 6
	out := [2]Tuple{}
	for way := range out {
		w := &p.Way[way]
		var s, d [2]byte
		binary.NativeEndian.PutUint16(s[:], w.Sport)
		binary.NativeEndian.PutUint16(d[:], w.Dport)
		out[way] = Tuple{
			netip.AddrPortFrom(getAddress(w.Saddr, six), binary.BigEndian.Uint16(s[:])),
			netip.AddrPortFrom(getAddress(w.Daddr, six), binary.BigEndian.Uint16(d[:])), uint8(p.Proto),
		}
	}
	return Connection{Original: out[1].turned(), Reply: out[0].turned()}, true
}

func putAddress(to *[4]uint32, a netip.Addr) {
	b := a.AsSlice()
	for i := 0; i < len(b); i += 4 {
		to[i/4] = binary.NativeEndian.Uint32(b[i:])
	}
}

func getAddress(from [4]uint32, six bool) netip.Addr {
	var b [16]byte
	for i, w := range from {
		binary.NativeEndian.PutUint32(b[4*i:], w)
	}
	if six {
		return netip.AddrFrom16(b)
	}
	return netip.AddrFrom4([4]byte(b[:4]))
}
