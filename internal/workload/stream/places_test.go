package stream

import (
	"runtime"
	"testing"
)

// Tests at once have places each, and the process's own setting comes back.
func TestPlaces(t *testing.T) {
	own := runtime.GOMAXPROCS(0)
	for _, s := range []struct{ take, want int }{
		{own + 10, own + 10 + spare}, {5, own + 15 + spare}, {-own - 10, max(own, 5+spare)}, {-5, own},
	} {
		keepPlaces(s.take)
		if got := runtime.GOMAXPROCS(0); got != s.want {
			t.Errorf("after %+d: %d places, want %d", s.take, got, s.want)
		}
	}
}
