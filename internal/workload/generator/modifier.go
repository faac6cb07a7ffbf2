package generator

import "math"

// Modifier puts other frames in the place of test frames (RFC 2544 section 11).
type Modifier int

// The modifiers that a sender itself knows.
const (
	Unmodified Modifier = iota
	Broadcast           // every 100th frame goes to the broadcast address (11.1)
	Management          // one frame a second is left out, for a query that somebody else sends (11.2)
)

// every returns that the last of so many frames is replaced, 0 for none.
func (m Modifier) every(rate float64) uint64 {
	switch m {
	case Broadcast:
		return 100
	case Management:
		return max(2, uint64(math.Round(rate)))
	}
	return 0
}

// slots returns how many departures it takes to send so many test frames, of
// which the last of every e is another frame.
func slots(frames, e uint64) uint64 {
	if e == 0 || frames == 0 {
		return frames
	}
	return frames + (frames-1)/(e-1)
}
