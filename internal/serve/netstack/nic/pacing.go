package nic

import (
	"errors"
	"fmt"
	"time"
)

// Mode is when a receive interrupt is raised.
type Mode int

// The modes. Those after Immediate, which paces nothing, are 0 to 3 in the
// KeyStone accumulator's firmware.
const (
	Immediate      Mode = iota // as soon as a frame is there
	Threshold                  // when Pacing.Threshold frames wait, and not before
	SinceInterrupt             // a time after the last interrupt
	SinceFirst                 // a time after the first frame since the last interrupt
	SinceLast                  // a time after the last frame; each one restarts it
)

// String is the mode as flags name it.
func (m Mode) String() string {
	switch m {
	case Threshold:
		return "threshold"
	case SinceInterrupt:
		return "since-interrupt"
	case SinceFirst:
		return "since-first"
	case SinceLast:
		return "since-last"
	}
	return "immediate"
}

// ParseMode reads a mode by its number, 0 to 3, or its name.
func ParseMode(s string) (Mode, error) {
	for m := Immediate; m <= SinceLast; m++ {
		if s == m.String() || m > Immediate && s == fmt.Sprint(int(m-Threshold)) {
			return m, nil
		}
	}
	return 0, fmt.Errorf("pacing mode %q: want immediate, 0 threshold, 1 since-interrupt, 2 since-first or 3 since-last", s)
}

// Tick is the period of the accumulator's timer.
const Tick = 25 * time.Microsecond

// Pacing holds receive interrupts back, so that one serves several frames.
type Pacing struct {
	Mode      Mode
	Timer     time.Duration // of modes 1 to 3; boards count it in Ticks
	Threshold int           // frames that end the wait in every mode; 0: the ring
	Watchdog  time.Duration // of mode 0: a frame held for so long is served all the same
}

// errStarves is mode 0 alone: when traffic pauses, what is in the ring stays
// there for ever, also the segment whose acknowledgement would end the pause.
var errStarves = errors.New("threshold-only pacing holds the last frames for ever when traffic pauses, so TCP starves: add a watchdog, or use since-first with a timer")

func (p Pacing) check(ring int) (Pacing, error) {
	if p.Threshold == 0 || p.Threshold > ring {
		p.Threshold = ring
	}
	switch {
	case p.Mode < Immediate || p.Mode > SinceLast:
		return p, fmt.Errorf("pacing mode %d: there are 5", p.Mode)
	case p.Threshold < 0 || p.Timer < 0 || p.Watchdog < 0:
		return p, errors.New("pacing: a negative time or threshold")
	case p.Mode == Threshold && p.Watchdog == 0:
		return p, errStarves
	case p.Mode > Threshold && p.Timer == 0:
		return p, fmt.Errorf("pacing mode %s needs a time, such as 50us", p.Mode)
	}
	return p, nil
}

// pacer decides when the next interrupt is due. Times are since any start.
type pacer struct {
	Pacing
	interrupt time.Duration // the last one
	first     time.Duration // when the first frame since then was seen
	newest    time.Duration // when the number of frames last grew
	filled    int
}

// due says whether to interrupt now that filled frames wait, and if not, how
// long to wait before asking again.
func (p *pacer) due(now time.Duration, filled int) (wait time.Duration, yes bool) {
	if filled > p.filled {
		if p.filled == 0 {
			p.first = now
		}
		p.newest, p.filled = now, filled
	}
	switch {
	case filled == 0:
		return 0, false
	case p.Mode == Immediate || filled >= p.Threshold:
		return 0, true
	}
	var at time.Duration
	switch p.Mode {
	case Threshold:
		at = p.first + p.Watchdog
	case SinceInterrupt:
		at = p.interrupt + p.Timer
	case SinceFirst:
		at = p.first + p.Timer
	case SinceLast:
		at = p.newest + p.Timer
	}
	return at - now, at <= now
}

// served notes the interrupt.
func (p *pacer) served(now time.Duration) { p.interrupt, p.filled = now, 0 }
