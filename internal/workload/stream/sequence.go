package stream

// window is how far back a late datagram is told from a duplicate.
const window = 1024

// maxSequence is the greatest sequence number taken seriously.
const maxSequence = 1 << 62

// Sequence tells lost, late and duplicate datagrams apart: it remembers which
// of the last 1,024 numbers arrived. Numbers start at 1.
type Sequence struct {
	highest uint64
	seen    [window / 64]uint64 // bit n%window of number n

	Received   int64 // datagrams, also duplicates
	Unique     int64
	Duplicates int64
	Reordered  int64 // arrived after a higher number (RFC 4737 3.3)
	Invalid    int64 // without a number that could be
}

// Unwrap extends a 32-bit number to the 64-bit one nearest to the highest
// seen.
func (s *Sequence) Unwrap(n uint32) uint64 {
	return s.highest + uint64(int64(int32(n-uint32(s.highest))))
}

// Add counts the datagram with number n. One that comes more than the window
// after its turn counts as reordered, and stays lost.
func (s *Sequence) Add(n uint64) {
	if n == 0 || n > maxSequence {
		s.Invalid++
		return
	}
	s.Received++
	switch {
	case n > s.highest:
		s.advance(n)
		s.Unique++
	case s.highest-n >= window:
		s.Reordered++
	case s.bit(n):
		s.Duplicates++
	default:
		s.set(n)
		s.Reordered++
		s.Unique++
	}
}

// advance moves the window up to n and marks it.
func (s *Sequence) advance(n uint64) {
	if n-s.highest >= window {
		s.seen = [window / 64]uint64{}
	} else {
		for m := s.highest + 1; m < n; m++ {
			s.seen[m%window/64] &^= 1 << (m % 64)
		}
	}
	s.highest = n
	s.set(n)
}

func (s *Sequence) bit(n uint64) bool { return s.seen[n%window/64]&(1<<(n%64)) != 0 }
func (s *Sequence) set(n uint64)      { s.seen[n%window/64] |= 1 << (n % 64) }

// Highest returns the highest number seen.
func (s *Sequence) Highest() int64 { return int64(s.highest) }

// Lost returns how many numbers up to the highest have not arrived. Losses
// after the last datagram that arrived show only against the sender's count.
func (s *Sequence) Lost() int64 { return int64(s.highest) - s.Unique }
