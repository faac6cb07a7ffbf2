package stream

import (
	"testing"
	"testing/synctest"
	"time"
)

// A sender that oversleeps by any amount still keeps the rate over the whole
// time, and never runs ahead of it by more than a burst.
func TestPaceKeepsTheRate(t *testing.T) {
	for _, burst := range []int{1, 10} {
		synctest.Test(t, func(t *testing.T) {
			const rate, message = 958e6, 1472
			start := time.Now()
			p := newPace(start, rate, message, burst)
			var sent int64
			for i := 0; time.Since(start) < 2*time.Second; i++ {
				n, wait := p.due(sent, 64)
				sent += int64(n)
				if n == 0 {
					if wait <= 0 {
						t.Fatalf("nothing due and nothing to wait for after %v", time.Since(start))
					}
					time.Sleep(wait + time.Duration(i%7)*50*time.Microsecond)
				}
				ideal := time.Since(start).Seconds() * rate / 8 / message
				if float64(sent) > ideal+float64(burst)+1 {
					t.Fatalf("burst %d: %d messages after %v, rate allows %.0f", burst, sent, time.Since(start), ideal)
				}
			}
			got := float64(sent*message*8) / time.Since(start).Seconds()
			if got < 0.999*rate || got > 1.001*rate {
				t.Errorf("burst %d: %.1f Mbit/s, want %.1f", burst, got/1e6, rate/1e6)
			}
		})
	}
}

func TestPaceUnlimited(t *testing.T) {
	if newPace(time.Now(), 0, 100, 1) != nil {
		t.Error("rate 0 is paced")
	}
}
