package stream

import (
	"math/rand/v2"
	"testing"
)

func TestSequence(t *testing.T) {
	for _, c := range []struct {
		name                             string
		in                               []uint64
		lost, unique, duplicate, reorder int64
	}{
		{"in order", []uint64{1, 2, 3}, 0, 3, 0, 0},
		{"a gap", []uint64{1, 4}, 2, 2, 0, 0},
		{"late, not lost", []uint64{1, 3, 2}, 0, 3, 0, 1},
		{"a duplicate hides no loss", []uint64{1, 3, 3}, 1, 2, 1, 0},
		{"a late one twice", []uint64{1, 3, 2, 2}, 0, 3, 1, 1},
		{"beyond the window stays lost", []uint64{1, 5000, 2}, 4998, 2, 0, 1},
		{"the window's edge", []uint64{1, 1025, 2}, 1022, 3, 0, 1},
		{"number 0 is none", []uint64{0, 1}, 0, 1, 0, 0},
	} {
		var s Sequence
		for _, n := range c.in {
			s.Add(n)
		}
		if s.Lost() != c.lost || s.Unique != c.unique || s.Duplicates != c.duplicate || s.Reordered != c.reorder {
			t.Errorf("%s: lost %d unique %d duplicate %d reordered %d, want %d %d %d %d",
				c.name, s.Lost(), s.Unique, s.Duplicates, s.Reordered, c.lost, c.unique, c.duplicate, c.reorder)
		}
	}
}

// The window is checked against a set, over a stream that loses, repeats and
// shuffles within the window.
func TestSequenceAgainstASet(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	var s Sequence
	seen := map[uint64]bool{}
	var dup int64
	for base := uint64(1); base < 200_000; base += 100 {
		block := make([]uint64, 0, 120)
		for i := range uint64(100) {
			if rng.IntN(20) > 0 {
				block = append(block, base+i)
			}
			if rng.IntN(20) == 0 && len(block) > 0 {
				block = append(block, block[rng.IntN(len(block))])
			}
		}
		rng.Shuffle(len(block), func(i, j int) { block[i], block[j] = block[j], block[i] })
		for _, n := range block {
			if seen[n] {
				dup++
			}
			seen[n] = true
			s.Add(n)
		}
	}
	if s.Unique != int64(len(seen)) || s.Duplicates != dup || s.Lost() != s.Highest()-int64(len(seen)) {
		t.Errorf("unique %d duplicates %d lost %d of %d, want %d %d", s.Unique, s.Duplicates, s.Lost(), s.Highest(), len(seen), dup)
	}
}

func TestSequenceUnwraps(t *testing.T) {
	var s Sequence
	s.Add(1<<32 - 2) // as if so many had come before
	for _, n := range []uint64{1<<32 - 1, 1 << 32, 1<<32 + 1, 1<<32 - 3, 1<<32 + 1<<30} {
		got := s.Unwrap(uint32(n))
		if got != n {
			t.Errorf("%#x: got %#x", n, got)
		}
		s.Add(got)
	}
}

func FuzzSequence(f *testing.F) {
	f.Add([]byte{1, 2, 3, 3, 9, 1})
	f.Add([]byte{0, 255, 0, 255})
	f.Fuzz(func(t *testing.T, steps []byte) {
		var s Sequence
		n := uint64(0)
		for _, b := range steps {
			n += uint64(int64(int8(b)) * int64(b))
			s.Add(n)
			if s.Lost() < 0 || s.Unique > s.Highest() || s.Unique+s.Duplicates > s.Received {
				t.Fatalf("after %#x: %+v", n, s)
			}
		}
	})
}
