package memory

import (
	"fmt"
	"math"
	"os"
	"sync"
)

const (
	blockSize = 64 << 10 // what a file's memory is a multiple of
	runSize   = 4 << 20  // most that is taken at once
)

// arena is memory that is mapped once and used again and again: a page that
// exists already takes data twice as fast as one that the kernel has to find
// and clear. Where the system can, it is also a file, for sendfile.
type arena struct {
	mem  []byte
	file *os.File // nil where memory isn't a file

	mu    sync.Mutex
	taken []bool // by block
	low   int    // no block below is free
	free  int    // blocks
}

// run is a contiguous part of the arena.
type run struct{ off, len int }

func newArena(budget int64) (*arena, error) {
	if budget > math.MaxInt {
		return nil, fmt.Errorf("a budget of %d bytes is more than this processor can address", budget)
	}
	n := max(int(budget/blockSize), 1)
	mem, file, err := allocate(n * blockSize)
	if err != nil {
		return nil, err
	}
	return &arena{mem: mem, file: file, taken: make([]bool, n), free: n}, nil
}

// take takes up to most bytes in one piece; false where nothing is left.
// The lowest free blocks come first, for they are the ones used before.
func (a *arena) take(most int) (run, bool) {
	a.mu.Lock()
	defer a.mu.Unlock()
	for a.low < len(a.taken) && a.taken[a.low] {
		a.low++
	}
	first, want := a.low, max(most/blockSize, 1)
	for a.low < len(a.taken) && !a.taken[a.low] && a.low-first < want {
		a.taken[a.low] = true
		a.low++
	}
	n := a.low - first
	a.free -= n
	return run{first * blockSize, n * blockSize}, n > 0
}

// give gives r back.
func (a *arena) give(r run) {
	a.mu.Lock()
	defer a.mu.Unlock()
	first := r.off / blockSize
	for i := range r.len / blockSize {
		a.taken[first+i] = false
	}
	a.free += r.len / blockSize
	if r.len > 0 {
		a.low = min(a.low, first)
	}
}

// room returns the bytes that are free.
func (a *arena) room() int64 {
	a.mu.Lock()
	defer a.mu.Unlock()
	return int64(a.free) * blockSize
}

func (a *arena) bytes(r run) []byte { return a.mem[r.off : r.off+r.len] }
