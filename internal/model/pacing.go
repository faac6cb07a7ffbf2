package model

import (
	"fmt"
	"math"
)

// Pacing is when a NIC raises its receive interrupt.
type Pacing int

// The modes, numbered as in the KeyStone accumulator's firmware.
const (
	Threshold       Pacing = iota // when the list is full, only
	SinceInterrupt                // a time after the last interrupt
	SinceFirstFrame               // a time after the first frame since then
	SinceLastFrame                // a time after the last frame; each restarts it
)

// Paced is what a pacing does to a stream of frames.
type Paced struct {
	Batch      float64 // frames per interrupt
	Interrupts float64 // per second
	Delay      float64 // worst delay added to a frame, s; +Inf where a pause holds frames for ever
}

// Pace returns the closed form for Poisson arrivals of rate frames per second,
// a timer in seconds and a list of threshold frames.
func Pace(mode Pacing, rate, timer, threshold float64) (Paced, error) {
	if rate <= 0 || timer < 0 || threshold < 1 {
		return Paced{}, fmt.Errorf("pacing: want a rate above 0, a timer of at least 0 and a threshold of at least 1")
	}
	var p Paced
	held := rate * timer // frames expected during the timer
	switch mode {
	case Threshold:
		p = Paced{Batch: threshold, Delay: math.Inf(1)}
	case SinceInterrupt:
		p = Paced{Batch: held + math.Exp(-held), Delay: timer}
	case SinceFirstFrame:
		p = Paced{Batch: 1 + held, Delay: timer}
	case SinceLastFrame:
		fires := math.Exp(-held) // the next frame comes later than the timer
		p = Paced{Batch: (1 - math.Pow(1-fires, threshold)) / fires, Delay: threshold/rate + timer}
	default:
		return p, fmt.Errorf("pacing mode %d: want 0 to 3", mode)
	}
	p.Batch = max(1, min(p.Batch, threshold))
	p.Interrupts = rate / p.Batch
	return p, nil
}

// Ring returns the descriptors a receive ring needs so that none is missing
// while an interrupt is held back and the softirq is late by latency seconds.
func Ring(rate, timer, threshold, latency float64) float64 {
	return math.Ceil(rate * (min(timer, threshold/rate) + latency))
}
