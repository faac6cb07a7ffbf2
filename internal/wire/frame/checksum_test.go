package frame

import (
	"math/rand/v2"
	"testing"
)

// TestSum holds it against the plain loop of RFC 1071 4.1, at every length to
// beyond its stride.
func TestSum(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	for n := range 100 {
		b := make([]byte, n)
		for i := range b {
			b[i] = byte(r.Uint32() | 0xf0)
		}
		want := uint64(7)
		for i, v := range b {
			if i&1 == 0 {
				want += uint64(v) << 8
			} else {
				want += uint64(v)
			}
		}
		if got := Fold(Sum(7, b)); got != Fold(want) {
			t.Errorf("%d bytes: %#04x, want %#04x", n, got, Fold(want))
		}
	}
	// The example of RFC 1071 3.
	if got := Fold(Sum(0, []byte{0x00, 0x01, 0xf2, 0x03, 0xf4, 0xf5, 0xf6, 0xf7})); got != 0xddf2 {
		t.Errorf("%#04x, want 0xddf2", got)
	}
}
