package fastpath

import (
	"errors"
	"fmt"
	"sync"
	"time"
	"unsafe"

	"github.com/cilium/ebpf"
	"golang.org/x/sys/unix"
)

//go:generate go tool bpf2go -cc clang -cflags "-O2 -g -Wall -Werror -I/usr/include/x86_64-linux-gnu" -type way -type config -type interface -type reason -type state -target bpfel,bpfeb program bpf/fastpath.bpf.c

// errTableFull is returned when the table has no place for another connection;
// the stack forwards it then.
var errTableFull = errors.New("the flow table is full")

const (
	// window is WINDOW of bpf/find.h.
	window = 32
	// placesPer is how many places there are for a connection's two ways: with
	// half of them empty nearly every way finds one near where its key points.
	placesPer = 4
	// rest is how long a place lies fallow after its connection ended: a packet
	// that is under way may still look at it.
	rest = time.Second
)

// table is the connections that the programs forward: an array in memory
// shared with them, and so filled without a call into the kernel.
type table struct {
	memory []byte
	ways   []programWay // in it
	seed   uint32

	mu      sync.Mutex
	held    int // connections
	fallow  []fallow
	resting map[uint32]bool // places of fallow
}

type fallow struct {
	places [2]uint32
	from   time.Time
}

// openTable takes over what the map holds, whose keys are hashed with seed.
func openTable(m *ebpf.Map, seed uint32) (*table, error) {
	n := int(m.MaxEntries())
	mem, err := shared(m, n*int(unsafe.Sizeof(programWay{})))
	if err != nil {
		return nil, fmt.Errorf("map the flow table: %w", err)
	}
	t := &table{memory: mem, ways: unsafe.Slice((*programWay)(unsafe.Pointer(&mem[0])), n), seed: seed, resting: map[uint32]bool{}}
	t.held = t.count()
	for i := range t.ways {
		if t.ways[i].state() == programStateFREED { // perhaps just now
			t.lieFallow(uint32(i), uint32(i))
		}
	}
	return t, nil
}

// shared maps an array of the kernel.
func shared(m *ebpf.Map, bytes int) ([]byte, error) {
	return unix.Mmap(m.FD(), 0, bytes, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_SHARED)
}

func (t *table) close() error { return unix.Munmap(t.memory) }

// room is how many connections the table is made for.
func (t *table) room() int { return len(t.ways) / placesPer }

// count returns how many connections there are, whoever added them.
func (t *table) count() (n int) {
	for i := range t.ways {
		if w := &t.ways[i]; w.live() && w.Flags&flagFirst != 0 {
			n++
		}
	}
	return n
}

// near yields the places where a way of this key may lie, in the order in which
// the programs look.
func (t *table) near(k key) func(yield func(uint32) bool) {
	at, mask := k.mix(t.seed), uint32(len(t.ways)-1)
	return func(yield func(uint32) bool) {
		for i := range uint32(window) {
			if !yield((at + i) & mask) {
				return
			}
		}
	}
}

// find returns the place of the first way of the connection that was opened so.
func (t *table) find(original Tuple) (uint32, bool) {
	k := keyOf(original)
	for i := range t.near(k) {
		w := &t.ways[i]
		if w.state() == programStateNEVER {
			break
		}
		if w.live() && w.Flags&flagFirst != 0 && w.comesAs(original, k) {
			return i, true
		}
	}
	return 0, false
}

// vacant returns a place for a way of this key other than taken.
func (t *table) vacant(k key, taken uint32) (uint32, error) {
	for i := range t.near(k) {
		if !t.ways[i].live() && !t.resting[i] && i != taken {
			return i, nil
		}
	}
	return 0, errTableFull
}

// add makes a connection fast, unless it is already.
func (t *table) add(c Connection) error {
	t.mu.Lock()
	defer t.mu.Unlock()
	if i, ok := t.find(c.Original); ok {
		if before, _ := t.connection(i); before == c {
			return nil
		}
		t.free(i) // NAT makes something else of it now
	}
	t.wake()
	if t.held >= t.room() {
		return errTableFull
	}
	ways := c.ways()
	first, err := t.vacant(keyOf(ways[0].in), uint32(len(t.ways)))
	if err != nil {
		return err
	}
	second, err := t.vacant(keyOf(ways[1].in), first)
	if err != nil {
		return err
	}
	a, b := &t.ways[first], &t.ways[second]
	a.fill(ways[0].in, ways[0].out)
	b.fill(ways[1].in, ways[1].out)
	a.Flags |= flagFirst
	a.Other, b.Other = second, first
	b.set(programStateLIVE)
	a.set(programStateLIVE)
	t.held++
	return nil
}

func (t *table) has(c Connection) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	i, ok := t.find(c.Original)
	if !ok {
		return false
	}
	held, _ := t.connection(i)
	return held == c
}

// connections returns those that are fast.
func (t *table) connections() []Connection {
	t.mu.Lock()
	defer t.mu.Unlock()
	var all []Connection
	for i := range t.ways {
		if c, ok := t.connection(uint32(i)); ok {
			all = append(all, c)
		}
	}
	return all
}

// end gives a connection back to the stack.
func (t *table) end(c Connection) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if i, ok := t.find(c.Original); ok {
		t.free(i)
	}
}

// free gives up the connection whose first way lies at i.
func (t *table) free(i uint32) {
	other := t.ways[i].Other
	t.ways[i].set(programStateFREED)
	t.ways[other].set(programStateFREED)
	t.held--
	t.lieFallow(i, other)
}

// connection reads back what a place is of, if it is a connection's first way.
func (t *table) connection(i uint32) (c Connection, ok bool) {
	w := &t.ways[i]
	if !w.live() || w.Flags&flagFirst == 0 || int(w.Other) >= len(t.ways) {
		return c, false
	}
	return Connection{Original: t.ways[w.Other].out().turned(), Reply: w.out().turned()}, true
}
