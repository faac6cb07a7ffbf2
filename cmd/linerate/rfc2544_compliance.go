package main

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/linerate/linerate/result"
)

// deviation is what a run does otherwise than RFC 2544 has it.
type deviation struct {
	text string
	must bool // the RFC says MUST
}

// deviations lists them all; capped says that the tester cannot offer the
// line's rate.
func (o *rfc2544Options) deviations(capped bool) []deviation {
	var ds []deviation
	add := func(is, must bool, format string, args ...any) {
		if is {
			ds = append(ds, deviation{fmt.Sprintf(format, args...), must})
		}
	}
	quick := !o.strict
	add(quick, true, "trials of %v instead of 60 s (section 24)", o.duration)
	add(quick, true, "waits of section 23 shortened: %v for late frames, none between trials", quickPhases().drain)
	add(quick, true, "latency of one stream of %v instead of 20 of 120 s (26.2)", o.duration)
	add(quick, true, "%d bursts instead of 50 (26.4)", quickBursts)
	add(o.repeats > 0, true, "lossy trials repeated up to %d times (TST 009, not RFC 2544)", o.repeats)
	add(capped, false, "the tester offers less than the line's frame rate (section 20)")
	add(o.imix || len(o.frameSizes) < 5, false, "%d frame sizes instead of five or more (section 9)", len(o.sizesInTurn()))
	add(!o.both, false, "one direction only (section 14)")
	add(o.hosts < 256, false, "%d destination addresses instead of one and then 256 networks (section 12)", o.hosts)
	add(o.modifier == "none", false, "no modifiers: repeat with --modifier broadcast, management and routing (section 11)")
	return ds
}

// note writes the compliance line: unconditionally compliant is every MUST and
// SHOULD, conditionally compliant every MUST (RFC 2544 section 3).
func (o *rfc2544Options) note(res *result.Result, ds []deviation) {
	p := res.Workload.Params
	var texts []string
	for _, d := range ds {
		texts = append(texts, d.text)
	}
	// A later frame size adds what holds for it only.
	if was := p["deviations"]; was != "" {
		texts = slices.Concat(strings.Split(was, "; "), texts)
	}
	var once []string
	for _, t := range texts {
		if !slices.Contains(once, t) {
			once = append(once, t)
		}
	}
	p["deviations"] = strings.Join(once, "; ")
	switch {
	case !o.strict:
		p["compliance"] = "quick, not compliant"
	case slices.ContainsFunc(ds, func(d deviation) bool { return d.must }):
		p["compliance"] = "not compliant"
	case len(once) > 0:
		p["compliance"] = "conditionally compliant"
	default:
		p["compliance"] = "unconditionally compliant"
	}
}

const quickBursts = 3

// length is that of a deciding trial.
func (o *rfc2544Options) length() time.Duration {
	if o.strict {
		return time.Minute
	}
	return o.duration
}
