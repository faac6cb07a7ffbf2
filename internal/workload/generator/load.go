package generator

import "time"

// Load is what one trial offers.
type Load struct {
	Frames uint64
	Rate   float64 // frames per second; 0: as fast as possible
	Burst  int     // frames back to back, then a pause that keeps Rate; 0 or 1: evenly spaced
}

// Sent is what a sender did.
type Sent struct {
	Frames   uint64
	Duration time.Duration // from the first departure to the last
	Late     Histogram     // of departures, against the schedule; empty where Rate is 0
	Slips    uint64        // times the schedule was moved because a frame was later than LateMax
	Slipped  time.Duration // by how much in all
	CPU      time.Duration // of the sending thread
}

// Rate returns the average offered rate in frames per second.
func (s Sent) Rate() float64 {
	if s.Frames < 2 || s.Duration <= 0 {
		return 0
	}
	return float64(s.Frames-1) / s.Duration.Seconds()
}

// LateMax is the lateness from which the schedule moves instead of being caught
// up with. Below it frames follow one another at most an eighth faster than
// asked until the schedule is met again.
const LateMax = 20 * time.Millisecond

// Received is what a receiver counted since its Reset.
type Received struct {
	Frames, Bytes                uint64 // ours, without FCS
	Unique, Duplicate, Reordered uint64
	TooLate                      uint64 // too far behind to tell from a duplicate
	Corrupt                      uint64 // signature broken
	Foreign                      uint64 // not ours
	UnknownFlow                  uint64
	Latency                      Histogram // of stamped frames, one clock
}
