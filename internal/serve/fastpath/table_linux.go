package fastpath

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"
	"time"
	"unsafe"

	"github.com/cilium/ebpf"
	"golang.org/x/sys/unix"
)

//go:generate go tool bpf2go -cc clang -cflags "-O2 -g -Wall -Werror -I/usr/include/x86_64-linux-gnu" -type pair -type way -type place -type config -type interface -type reason -type state -target bpfel,bpfeb program bpf/fastpath.bpf.c

// errTableFull is returned when every pair is in use; the stack forwards the
// connection then.
var errTableFull = errors.New("the flow table is full")

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
	*p = programPair{}
	for way, x := range c.ways() {
		w := &p.Way[way]
		n := translate(x.in, x.out)
		w.Proto, w.NetworkDelta, w.TransportDelta = c.Original.Protocol, n.network, n.transport
		if n.changes {
			w.Flags |= flagNAT
		}
		w.putOut(x.out)
	}
	p.set(programStateLIVE)
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
	t.pairs[i].set(programStateFREE)
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
	if p.state() == programStateFREE {
		return c, false
	}
	return Connection{Original: p.Way[1].out().turned(), Reply: p.Way[0].out().turned()}, true
}
