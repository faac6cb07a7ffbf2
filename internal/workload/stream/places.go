package stream

import (
	"runtime"
	"sync"
)

// spare is how many of the scheduler's places are left to goroutines beside
// those of the streams.
const spare = 2

// places counts what the streams of all groups keep of the scheduler's places,
// see sock. GOMAXPROCS is the process's own, so this is too: with a count of its
// own each of several tests at once would take the others' places away, and
// their control connections would wait for a stream to be interrupted.
var places struct {
	sync.Mutex
	own  int // the process's setting before the first stream
	kept int
}

// keepPlaces takes n places for streams, or gives them back when n is negative.
func keepPlaces(n int) {
	places.Lock()
	defer places.Unlock()
	if places.kept == 0 {
		places.own = runtime.GOMAXPROCS(0)
	}
	places.kept += n
	want := places.own
	if places.kept > 0 {
		want = max(want, places.kept+spare)
	}
	// Setting it stops the world, even to the same value.
	if want != runtime.GOMAXPROCS(0) {
		runtime.GOMAXPROCS(want)
	}
}
