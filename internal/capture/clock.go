package capture

import "math"

// state is what holds a sender back at an instant.
type state uint8

// The states; each instant is in exactly one.
const (
	stateOpen     state = iota // congestion window, pacing, send buffer, CPU or link
	stateIdle                  // nothing in flight, window open
	stateApp                   // the send queue is empty
	stateWindow                // the receive window stops the next segment
	stateZero                  // the receive window is zero
	stateRecovery              // a loss is being repaired
	states
)

func (s state) String() string {
	return [...]string{"open", "idle", "application", "receive window", "zero window", "recovery"}[s]
}

// clock adds up the time in each state and keeps the frame that ended the
// longest stays as examples.
type clock struct {
	at      int64
	now     state
	total   [states]int64
	tail    int64 // of the application's time, what no data has ended yet
	waiting int64 // of the open time, what has passed since the last data
	longest [states][3]stay
	entries [states]int32
}

type stay struct {
	lasted uint32 // in 1024 ns
	frame  uint32
}

// advance charges the time since the last event to the state that held. Idle
// time counts once data ends it, so that a closing connection isn't idle. prompt
// is how soon a sender that has data answers an acknowledgement.
func (c *clock) advance(t int64, data bool, frame uint32, prompt int64) {
	d := t - c.at
	if d <= 0 || c.at == 0 {
		if c.at == 0 {
			c.at = t
		}
		return
	}
	if c.now == stateIdle && !data {
		return
	}
	c.at = t
	c.total[c.now] += d
	switch c.now {
	case stateApp:
		c.tail += d
	case stateOpen:
		c.waiting += d
	case stateIdle:
		// The sender let acknowledgements pass and sent nothing: it had nothing,
		// also while they were under way.
		if d > prompt {
			c.total[stateOpen] -= c.waiting
			c.total[stateApp] += c.waiting
		}
	}
	if data {
		c.tail, c.waiting = 0, 0
	}
	us := uint32(min(uint64(d)>>10, math.MaxUint32)) // near enough to compare
	if l := &c.longest[c.now]; us > l[2].lasted {
		i := 2
		for i > 0 && us > l[i-1].lasted {
			l[i] = l[i-1]
			i--
		}
		l[i] = stay{us, frame}
	}
}

func (c *clock) enter(s state) {
	if s != c.now {
		c.entries[s]++
		c.now = s
	}
}

// totals is the time in each state without the wait for the last
// acknowledgements: nothing was left to send, so nothing held it back.
func (c *clock) totals() [states]int64 {
	t := c.total
	t[stateApp] -= c.tail
	return t
}

// judge names the state that holds after an event.
func (s *sender) judge() state {
	slack := int64(s.full)
	switch {
	case s.window == 0 && s.offers > 0:
		return stateZero
	case s.una < s.loss.recover:
		return stateRecovery
	case s.offers > 0 && s.edge-s.next < s.windowSlack(slack):
		return stateWindow
	case s.next <= s.una:
		return stateIdle
	case s.lastShort || s.fin > 0:
		return stateApp
	}
	return stateOpen
}

// windowSlack is how much of the window a sender leaves unused for want of a
// whole segment. With segmentation offload Linux waits for a third of the
// window (tcp_tso_should_defer) while acknowledgements keep coming.
func (s *sender) windowSlack(full int64) int64 {
	if s.superMax > 0 && s.next > s.una {
		return max(full, min(int64(s.window)/3, int64(s.superMax)))
	}
	return full
}
