package fastpath

import "time"

// lieFallow keeps two places from being used again for a while.
func (t *table) lieFallow(a, b uint32) {
	t.fallow = append(t.fallow, fallow{[2]uint32{a, b}, time.Now()})
	t.resting[a], t.resting[b] = true, true
}

// wake lets places be used again that have rested.
func (t *table) wake() {
	for len(t.fallow) > 0 && time.Since(t.fallow[0].from) > rest {
		for _, i := range t.fallow[0].places {
			delete(t.resting, i)
			t.clear(i)
		}
		t.fallow = t.fallow[1:]
	}
}

// clear marks a free place, and free ones before it, as never used where
// nothing lies further on: a search ends there.
func (t *table) clear(i uint32) {
	mask := uint32(len(t.ways) - 1)
	if t.ways[(i+1)&mask].state() != programStateNEVER {
		return
	}
	for t.ways[i].state() == programStateFREED && !t.resting[i] {
		t.ways[i].set(programStateNEVER)
		i = (i - 1) & mask
	}
}
