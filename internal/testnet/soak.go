package testnet

import (
	"math/rand/v2"
	"os"
	"runtime"
	"sync"
	"time"
)

// SoakVariable names the environment variable that says how long a soak test
// goes on, such as "1h"; "make soak" sets it.
const SoakVariable = "LINERATE_SOAK"

// shortSoak is the length of a soak test within all the others.
const shortSoak = 3 * time.Second

// Times of a soak: how often what the process holds is looked at, and how long
// it takes until every step of the last clients has timed out.
const (
	lookEvery = time.Minute
	settle    = 600 * time.Millisecond
	warmUp    = time.Second
)

// Footprint is what a process holds.
type Footprint struct {
	Goroutines, Descriptors int
	Heap                    uint64 // bytes in use after a collection
}

// TakeFootprint returns what this process holds now.
func TakeFootprint(t TB) Footprint {
	t.Helper()
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	es, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		t.Fatalf("%v", err)
	}
	return Footprint{runtime.NumGoroutine(), len(es), m.HeapAlloc}
}

// Within reports whether f is no more than an earlier footprint and a margin of
// what comes and goes.
func (f Footprint) Within(earlier Footprint) bool {
	return f.Goroutines <= earlier.Goroutines+10 && f.Descriptors <= earlier.Descriptors+10 && f.Heap <= earlier.Heap+16<<20
}

// Soak has workers do attacks at random, side by side, for as long as
// SoakVariable says, calls good after every minute, which must work as if there
// were no attacks, and fails the test where the process has grown since the
// first second.
func Soak(t TB, workers int, attacks []func(), good func()) {
	t.Helper()
	length := shortSoak
	if v := os.Getenv(SoakVariable); v != "" {
		d, err := time.ParseDuration(v)
		if err != nil {
			t.Fatalf("%s: %v", SoakVariable, err)
		}
		length = d
	}
	round := func(d time.Duration) (attacked int) {
		until := time.Now().Add(d)
		counts := make([]int, workers)
		var wg sync.WaitGroup
		for i := range workers {
			wg.Go(func() {
				for ; time.Now().Before(until); counts[i]++ {
					attacks[rand.IntN(len(attacks))]()
				}
			})
		}
		wg.Wait()
		good()
		time.Sleep(settle)
		for _, n := range counts {
			attacked += n
		}
		return attacked
	}
	round(warmUp)
	first := TakeFootprint(t)
	attacked := 0
	for begin := time.Now(); time.Since(begin) < length; {
		attacked += round(min(length-time.Since(begin), lookEvery))
		f := TakeFootprint(t)
		t.Logf("%4.0f s, %7d hostile clients: goroutines %d -> %d, descriptors %d -> %d, heap %d -> %d KiB", time.Since(begin).Seconds(), attacked,
			first.Goroutines, f.Goroutines, first.Descriptors, f.Descriptors, first.Heap>>10, f.Heap>>10)
		if !f.Within(first) {
			t.Fatalf("grown: %+v -> %+v", first, f)
		}
	}
}
