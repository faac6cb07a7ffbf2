package stream

import (
	"testing"
	"time"
)

func TestModerate(t *testing.T) {
	for rate, want := range map[float64]time.Duration{
		100e6: 0, // a frame in 123 us: nothing gathers
		1e9:   mostSleep,
		10e9:  mostSleep,
		21e9:  50 * time.Microsecond, // 128 KiB take as long
		100e9: leastSleep,
	} {
		got := moderate(int64(rate/8/100), 10*time.Millisecond)
		if (got - want).Abs() > time.Microsecond {
			t.Errorf("%v bit/s: sleep %v, want %v", rate, got, want)
		}
	}
}
