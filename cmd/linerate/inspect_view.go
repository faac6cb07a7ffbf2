package main

import (
	"fmt"
	"io"
	"os"
	"strings"
	"time"

	"github.com/linerate/linerate/internal/serve/inspect"
	"github.com/linerate/linerate/result"
)

// flowView shows the largest flows once a second, in place on a terminal.
type flowView struct {
	out     io.Writer
	session *inspect.Session
	where   string

	last  map[inspect.Key]inspect.Flow
	at    time.Duration // of the last reading
	seen  float64
	lines int // drawn before
}

// viewFlows is how many flows are shown.
const viewFlows = 12

// Reading draws what happened since the last one.
func (v *flowView) Reading(r result.Reading) {
	flows, err := v.session.Flows()
	seconds := (r.At - v.at).Seconds()
	seen := outcome(r.Values, "seen")
	if err == nil && v.last != nil && seconds > 0.5 { // the last reading may follow another at once
		v.draw(r, flows, seen, seconds)
	}
	v.last = make(map[inspect.Key]inspect.Flow, len(flows))
	for _, f := range flows {
		v.last[f.Key] = f
	}
	v.at, v.seen = r.At, seen
}

func (v *flowView) draw(r result.Reading, flows []inspect.Flow, seen, seconds float64) {
	var b strings.Builder
	if f, ok := v.out.(*os.File); ok && isTerminal(f) && v.lines > 0 {
		fmt.Fprintf(&b, "\x1b[%dA\x1b[J", v.lines)
	}
	v.lines = 1
	fmt.Fprintf(&b, "%s  in the %s  %.0f frame/s seen, %.0f taken in all, %.0f lost; %d flows\n", time.Now().Format("15:04:05"), v.where,
		(seen-v.seen)/seconds, outcome(r.Values, "taken"), outcome(r.Values, "lost"), len(flows))
	for i := range flows {
		flows[i].Bytes -= v.last[flows[i].Key].Bytes
		flows[i].Frames -= v.last[flows[i].Key].Frames
	}
	for _, f := range inspect.Largest(flows, viewFlows) {
		if f.Frames == 0 {
			break
		}
		fmt.Fprintf(&b, "  %-64s %10.0f frame/s  %s\n", f, float64(f.Frames)/seconds, result.FormatRate(float64(f.Bytes)*8/seconds))
		v.lines++
	}
	fmt.Fprint(v.out, b.String())
}

// Done leaves what was drawn.
func (*flowView) Done(*result.Result) error { return nil }

// outcome returns the frames of an outcome.
func outcome(vs []result.Value, name string) float64 {
	for _, v := range vs {
		if v.Metric == result.InspectFrames.Name && v.Labels["outcome"] == name {
			return v.V
		}
	}
	return 0
}
