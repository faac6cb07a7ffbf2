package generator

import (
	"math"
	"time"

	"github.com/linerate/linerate/internal/wire/frame"
)

// Load is what one trial offers.
type Load struct {
	Frames uint64
	Rate   float64 // frames per second; 0: as fast as possible
	Burst  int     // frames back to back, then a pause that keeps Rate; 0 or 1: evenly spaced

	// After StepAfter frames the rate becomes StepRate, without a pause: the
	// overload that ends at once of RFC 2544 section 26.5. 0: it never does.
	StepAfter uint64
	StepRate  float64
}

// Sent is what a sender did.
type Sent struct {
	Frames   uint64
	Others   uint64          // frames besides, in the place of test frames (Profile.Modifier)
	Duration time.Duration   // from the first departure to the last
	Stepped  uint64          // departure of the first frame at Load.StepRate, ns of the monotonic clock
	Late     frame.Histogram // of departures, against the schedule; empty where Rate is 0
	Slips    uint64          // times the schedule was moved because a frame was later than LateMax
	Slipped  time.Duration   // by how much in all
	CPU      time.Duration   // of the sending thread
}

// Rate returns the average offered rate in frames per second.
func (s Sent) Rate() float64 {
	n := s.Frames + s.Others
	if n < 2 || s.Duration <= 0 {
		return 0
	}
	return float64(n-1) / s.Duration.Seconds()
}

// Merge adds what another sender did at the same time.
func (s *Sent) Merge(o Sent) {
	s.Frames, s.Others, s.Slips = s.Frames+o.Frames, s.Others+o.Others, s.Slips+o.Slips
	s.Duration, s.Stepped = max(s.Duration, o.Duration), max(s.Stepped, o.Stepped)
	s.Slipped, s.CPU = s.Slipped+o.Slipped, s.CPU+o.CPU
	s.Late.Merge(&o.Late)
}

// LateMax is the lateness from which the schedule moves instead of being caught
// up with. Below it frames follow one another at most a third faster than
// asked until the schedule is met again.
const LateMax = 20 * time.Millisecond

// schedule says when each frame of a load is due; fractions of a nanosecond
// count, 16 bits of them, as in generator.bpf.c.
type schedule struct {
	interval, stepInterval uint64 // ns << 16
	stepAt                 uint64
}

func (l Load) schedule() schedule {
	s := schedule{interval: intervalOf(l.Rate), stepAt: math.MaxUint64}
	if l.StepAfter > 0 {
		s.stepAt, s.stepInterval = l.StepAfter, intervalOf(l.StepRate)
	}
	return s
}

// least is the time that n frames from the first on take while catching up: a
// quarter less than their intervals.
func (s schedule) least(first uint64, n int) time.Duration {
	d := s.due(first+uint64(n)) - s.due(first)
	return d - d/4
}

func intervalOf(rate float64) uint64 {
	if rate <= 0 {
		return 0
	}
	return uint64(math.Round(1e9 / rate * (1 << 16)))
}

// due is when frame n leaves, from the start.
func (s schedule) due(n uint64) time.Duration {
	if n <= s.stepAt {
		return time.Duration(n * s.interval >> 16)
	}
	return time.Duration((s.stepAt*s.interval + (n-s.stepAt)*s.stepInterval) >> 16)
}

// Received is what a receiver counted since its Reset.
type Received struct {
	Frames, Bytes                uint64 // ours, without FCS
	Unique, Duplicate, Reordered uint64
	TooLate                      uint64 // too far behind to tell from a duplicate
	Corrupt                      uint64 // signature broken
	Foreign                      uint64 // not ours
	UnknownFlow                  uint64
	Latency                      frame.Histogram // of stamped frames, one clock
	Jitter                       time.Duration   // mean difference of consecutive latencies of a flow (RFC 4689 3.2.5)

	// Only of a Watch, the rest are zero.
	After      uint64        // of Unique: from the sequence number watched on
	LostAt     uint64        // when a loss showed last, ns of the monotonic clock
	Silence    time.Duration // longest time without a frame
	SilenceEnd uint64        // ns of the monotonic clock

	jitter, jitters uint64 // sum in ns, and number
}

// Merge adds what another receiver counted.
func (r *Received) Merge(o Received) {
	r.Frames, r.Bytes, r.Unique = r.Frames+o.Frames, r.Bytes+o.Bytes, r.Unique+o.Unique
	r.Duplicate, r.Reordered, r.TooLate = r.Duplicate+o.Duplicate, r.Reordered+o.Reordered, r.TooLate+o.TooLate
	r.Corrupt, r.Foreign, r.UnknownFlow = r.Corrupt+o.Corrupt, r.Foreign+o.Foreign, r.UnknownFlow+o.UnknownFlow
	r.After, r.LostAt = r.After+o.After, max(r.LostAt, o.LostAt)
	if o.Silence > r.Silence {
		r.Silence, r.SilenceEnd = o.Silence, o.SilenceEnd
	}
	r.Latency.Merge(&o.Latency)
	r.jitter, r.jitters = r.jitter+o.jitter, r.jitters+o.jitters
	r.meanJitter()
}

func (r *Received) meanJitter() {
	if r.jitters > 0 {
		r.Jitter = time.Duration(r.jitter / r.jitters)
	}
}
