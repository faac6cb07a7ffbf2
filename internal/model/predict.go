package model

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"

	"github.com/linerate/linerate/internal/wire/frame"
)

// ErrNotExplained is wrapped where a path has anchors but no costs that fit
// them: the model shows what was measured and refuses to extrapolate.
var ErrNotExplained = errors.New("not reproduced by the model")

// Prediction is what the model expects.
type Prediction struct {
	Goodput float64 // bit/s
	CPU     float64 // busy share of a core, 0 where unknown
	Paced   Paced   // receive interrupts; none where the board's pacing is unknown
	Bound   string  // what limits
	Next    string  // what would limit next, and where
	Error   float64 // of the fit, as a share: promise no more
}

// limit is one bound on goodput.
type limit struct {
	name string
	rate float64 // bit/s
}

// Predict returns what path p of board b does with the settings changed by set:
// mtu, message and window in bytes; ack in segments; pacing as a mode, timer in
// microseconds and list in frames; cpu, serial and delay in microseconds.
func Predict(b Board, p Path, set map[string]float64) (Prediction, error) {
	s, c, err := adjust(b, p, set)
	if err != nil {
		return Prediction{}, err
	}
	var limits []limit
	if b.Line > 0 {
		limits = append(limits, limit{"line rate", s.stack().Goodput(b.Line, s.MTU)})
	}
	out := Prediction{Error: p.Error}
	switch {
	case c != nil:
		limits = append(limits, networkLimits(s, *c, b.Line, &out)...)
	case p.Message != nil:
		if s.Message > p.UpTo && p.UpTo > 0 {
			return out, fmt.Errorf("%s at %.0f bytes: fitted to %.0f bytes only: %w", p.Name, s.Message, p.UpTo, ErrNotExplained)
		}
		limits = append(limits, limit{"CPU per message", s.Message * 8 / p.Message.At(s.Message, s.segments())})
	case len(set) > 0 || len(p.Anchors) > 0 && p.Error == 0 && !atLine(b, p):
		return out, fmt.Errorf("%s: only the measured points are known: %w", p.Name, ErrNotExplained)
	}
	if len(limits) == 0 {
		return out, fmt.Errorf("%s: neither a line rate nor costs are known: %w", p.Name, ErrNotExplained)
	}
	slices.SortFunc(limits, func(x, y limit) int { return cmp.Compare(x.rate, y.rate) })
	if c == nil || out.Goodput == 0 {
		out.Goodput = limits[0].rate
	}
	out.Bound = limits[0].name
	if len(limits) > 1 {
		out.Next = fmt.Sprintf("%s at %.4g Mbit/s", limits[1].name, limits[1].rate/1e6)
	}
	if p.CPU != nil {
		out.CPU = out.Goodput / 8 / s.Message * p.CPU.At(s.Message, s.segments())
	}
	if s.Timer > 0 {
		out.Paced, err = s.pace(p, out.Goodput)
	}
	return out, err
}

// pace returns what the board's pacing makes of the frames it receives at a
// goodput: those of the payload or their acknowledgements.
func (s Settings) pace(p Path, goodput float64) (Paced, error) {
	const usualAck, usualList = 2, 32
	frames := goodput / 8 / s.segment()
	if !p.Receive {
		frames /= max(cmp.Or(s.Ack, usualAck), 1)
	}
	return Pace(Pacing(s.Pacing), frames, s.Timer*1e-6, cmp.Or(s.List, usualList))
}

// segment returns the payload of a message's segments, bytes.
func (s Settings) segment() float64 { return min(s.Message, s.most()) }

func (s Settings) most() float64 { return float64(s.MTU - s.stack().Headers()) }

// segments returns those of a message. With Nagle's algorithm a message shares
// them with others.
func (s Settings) segments() float64 {
	if s.NoDelay {
		return math.Ceil(s.Message / s.most())
	}
	return s.Message / s.most()
}

// atLine reports whether what was measured is the line's own limit.
func atLine(b Board, p Path) bool {
	return slices.ContainsFunc(p.Anchors, func(a Anchor) bool {
		return a.Goodput >= 0.985*b.Settings.stack().Goodput(b.Line, b.Settings.MTU)
	})
}

func (s Settings) stack() frame.Stack { return frame.Stack{UDP: s.UDP, Timestamps: s.Timestamps} }

// networkLimits solves the closed network, and names each station's own limit.
func networkLimits(s Settings, c Circuit, line float64, out *Prediction) []limit {
	segment := s.segment()
	wire := float64(frame.OnWire(int(segment)+s.stack().Headers()+frame.HeaderBytes)) * 8 / line
	const us = 1e-6
	if line == 0 {
		wire = 0
	}
	n := Network{Stations: []Station{{"CPU", c.CPU * us}, {"line rate", wire}, {"serial step of the driver", c.Serial * us}}, Delay: c.Delay * us}
	sol := n.Solve(s.Window / segment)
	out.Goodput, out.CPU = sol.Rate*segment*8, sol.Utilization[0]
	cycle := n.Delay
	var ls []limit
	for _, st := range n.Stations {
		cycle += st.Demand
		if st.Demand > 0 && st.Name != "line rate" {
			ls = append(ls, limit{st.Name, segment * 8 / st.Demand})
		}
	}
	return append(ls, limit{"window over round trip", s.Window * 8 / cycle})
}

// adjust applies set to copies of the board's settings and the path's circuit.
func adjust(b Board, p Path, set map[string]float64) (Settings, *Circuit, error) {
	s := b.Settings
	var c *Circuit
	if p.Network != nil {
		k := *p.Network
		c = &k
	}
	for _, key := range slices.Sorted(maps.Keys(set)) {
		v := set[key]
		if v <= 0 && !slices.Contains([]string{"serial", "delay", "pacing", "timer"}, key) || v < 0 || math.IsNaN(v) || math.IsInf(v, 0) {
			return s, c, fmt.Errorf("%s=%v: want a number above 0", key, v)
		}
		switch {
		case key == "mtu":
			s.MTU = int(v)
		case key == "message":
			s.Message = v
		case key == "window":
			s.Window = v
		case key == "ack":
			s.Ack = v
		case key == "pacing" && v <= float64(SinceLastFrame):
			s.Pacing = math.Floor(v)
		case key == "timer":
			s.Timer = v
		case key == "list" && v >= 1:
			s.List = v
		case key == "cpu" && c != nil:
			c.CPU = v
		case key == "serial" && c != nil:
			c.Serial = v
		case key == "delay" && c != nil:
			c.Delay = v
		default:
			return s, c, fmt.Errorf("%s: not a setting of %s; there are mtu, message, window, ack (segments), pacing (0 to 3), timer (us), list (frames) and, where the path is a network, cpu, serial, delay (us)", key, p.Name)
		}
	}
	if s.stack().Headers() >= s.MTU {
		return s, c, fmt.Errorf("mtu=%d: leaves no payload", s.MTU)
	}
	return s, c, nil
}

// Residual compares one anchor with its prediction.
type Residual struct {
	Path, What          string
	Measured, Predicted float64 // bit/s; Predicted is 0 where the model refuses
	Share               float64 // (predicted - measured) / measured
	Bound               string
	Err                 error // why there is no prediction
}

// Check predicts every anchor of b.
func Check(b Board) []Residual {
	var out []Residual
	for _, p := range b.Paths {
		for _, a := range p.Anchors {
			r := Residual{Path: p.Name, What: a.What, Measured: a.Goodput}
			pr, err := Predict(b, p, a.Set)
			if r.Err = err; err == nil {
				r.Predicted, r.Bound, r.Share = pr.Goodput, pr.Bound, pr.Goodput/a.Goodput-1
			}
			out = append(out, r)
		}
	}
	return out
}
