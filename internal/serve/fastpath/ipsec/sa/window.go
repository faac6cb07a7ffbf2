package sa

// MaxWindow is the most sequence numbers a Window looks back, as many as Linux.
const MaxWindow = 4096

// Window recognises what came before: a ring of bits, moved on a word at a time
// (RFC 6479). One goroutine at a time may use it.
type Window struct {
	size uint64 // sequence numbers it looks back
	top  uint64 // greatest so far
	bits []uint64
	mask uint64 // of the index into bits, whose length is a power of two
}

// NewWindow makes a window of size numbers, at most MaxWindow.
func NewWindow(size int) *Window {
	words := 2 // one more than the window, for the word that is being filled
	for words < size/64+2 {
		words *= 2
	}
	return &Window{size: uint64(size), bits: make([]uint64, words), mask: uint64(words - 1)}
}

// Top returns the greatest number marked.
func (w *Window) Top() uint64 { return w.top }

// Check returns OK, Replayed or TooOld. Zero is never sent.
func (w *Window) Check(seq uint64) Reason {
	switch {
	case seq > w.top:
		return OK
	case seq == 0 || w.top-seq >= w.size:
		return TooOld
	case w.bits[seq>>6&w.mask]>>(seq&63)&1 == 1:
		return Replayed
	}
	return OK
}

// Mark notes a number that Check found OK and whose packet is authentic.
func (w *Window) Mark(seq uint64) {
	if seq > w.top {
		last := seq >> 6
		for word := max(w.top>>6, last-min(last, w.mask+1)) + 1; word <= last; word++ {
			w.bits[word&w.mask] = 0
		}
		w.top = seq
	}
	w.bits[seq>>6&w.mask] |= 1 << (seq & 63)
}

// Expand guesses the high half of an extended number by where its low half lies
// to the window (RFC 4303 appendix A2.1). A wrong guess fails authentication.
func (w *Window) Expand(low uint32) uint64 {
	high, bottom := w.top>>32, uint32(w.top)-uint32(w.size)+1
	switch {
	case uint64(uint32(w.top)) >= w.size-1: // the window is within one half
		if low < bottom {
			high++
		}
	case low >= bottom && high > 0: // it spans two
		high--
	}
	return high<<32 | uint64(low)
}
