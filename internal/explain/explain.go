// Package explain turns the figures of a Result into findings: what bounds the
// goodput, on which numbers that rests, which lever acts on it and what that
// costs. Rules are pure: the same figures always yield the same findings,
// whether they were measured an hour or a year ago, here or on a board.
//
// Each file holds one family of rules; every threshold is in thresholds.go.
package explain

import (
	"cmp"
	"slices"
	"strings"

	"github.com/linerate/linerate/result"
)

// Rules lists every rule in the order of judging, from the line upwards and
// then from the application down: the first that says Limits explains those
// after it.
func Rules() []Rule {
	return slices.Concat(lineRules(), applicationRules(), tcpRules(), measurementRules(), linkRules(), busRules(), offloadRules(),
		windowRules(), dropRules(),
		cpuRules(), coreRules(), interruptRules(), stackRules(), residualRules(), serialRules())
}

// Explain judges the totals of r and each of its trials, repeats taken
// together; the findings of each stand in the order of Rank. What others found,
// such as the analysis of a capture, is ranked with them.
func Explain(r *result.Result) []result.Finding {
	ours := map[string]bool{}
	for _, rule := range Rules() {
		ours[rule.ID] = true
	}
	others := slices.DeleteFunc(slices.Clone(r.Findings), func(f result.Finding) bool { return ours[f.Rule] })
	for i, f := range others {
		others[i].Code = cmp.Or(f.Code, codeOf(f.Rule))
	}
	known := settings(r)
	var fs []result.Finding
	for _, v := range Views(r) {
		v.Values = slices.Concat(v.Values, known)
		here := Judge(v, Rules())
		others = slices.DeleteFunc(others, func(f result.Finding) bool {
			if f.Trial == v.Trial {
				here = append(here, f)
			}
			return f.Trial == v.Trial
		})
		fs = append(fs, Rank(here)...)
	}
	return append(fs, others...)
}

// codeOf returns the number in the rule base of what the analysis of a capture
// finds, "" where it has none.
func codeOf(rule string) string {
	return map[string]string{
		"tcp.receive-window": "R-TCP-1", "tcp.send-buffer": "R-TCP-2", "tcp.application": "R-TCP-4", "tcp.request-response": "R-TCP-4",
		"tcp.loss": "R-TCP-5", "tcp.nagle-delayed-ack": "R-TCP-10", "tcp.mtu-black-hole": "R-TCP-12", "tcp.rto-stall": "R-TCP-13",
		"tcp.small-segments": "R-RTOS-1", "tcp.sender-host": "R-CPU-4", "tcp.bandwidth": "R-MEAS-4",
	}[rule]
}

// Judge applies rules to one View, in order.
func Judge(v View, rules []Rule) []result.Finding {
	v = observe(v)
	var fs []result.Finding
	for _, rule := range rules {
		f, ok := rule.judge(v)
		if !ok {
			continue
		}
		if v.Direction != "" {
			f.Text = v.Direction + ": " + f.Text
			for i := range f.Evidence {
				f.Evidence[i] = label(f.Evidence[i], "direction", v.Direction)
			}
		}
		fs = append(fs, f)
	}
	return fs
}

// Rank sorts the findings of one View: at line rate there is nothing to find;
// else what limits by confidence, then what is suspected, then what does not
// limit. What an earlier group is sure of explains later groups, which keep
// less confidence.
func Rank(fs []result.Finding) []result.Finding {
	groups := map[string]Group{}
	for _, r := range Rules() {
		groups[r.ID] = r.Group
	}
	earliest := Group(-1)
	for _, f := range fs {
		if g := groups[f.Rule]; f.Verdict == result.Limits && f.Confidence >= firm && (earliest < 0 || g < earliest) {
			earliest = g
		}
	}
	fs = slices.Clone(fs)
	for i, f := range fs {
		if earliest >= 0 && groups[f.Rule] > earliest && f.Verdict != result.DoesNotLimit {
			if fs[i].Confidence *= explained; fs[i].Confidence < sure {
				fs[i].Verdict = result.Unknown
			}
		}
	}
	place := func(f result.Finding) int {
		switch {
		case f.Rule == "line.at-rate" && f.Verdict == result.Limits:
			return 0
		case f.Verdict == result.DoesNotLimit, f.Confidence == 0:
			return 2
		}
		return 1
	}
	slices.SortStableFunc(fs, func(a, b result.Finding) int {
		if c := cmp.Compare(place(a), place(b)); c != 0 || place(a) == 2 {
			return c
		}
		return cmp.Compare(b.Confidence, a.Confidence)
	})
	return fs
}

// Hypotheses returns the findings of a ranked list that say or suspect what
// limits.
func Hypotheses(ranked []result.Finding) []result.Finding {
	return slices.DeleteFunc(slices.Clone(ranked), func(f result.Finding) bool { return f.Verdict == result.DoesNotLimit || f.Confidence == 0 })
}

// Undecided says that nothing explains the figures, and what to tell or measure
// next: the first of the things that most rules rest on.
func Undecided(v View) result.Finding {
	v = observe(v)
	f := result.Finding{Rule: "undecided", Verdict: result.Unknown, Text: "don't know: too little is known to say what bounds it"}
	var missing []string
	for _, key := range []string{"link.speed", "goodput", "protocol", "cpu.busiest", "tcp.retransmits", "tcp.window", "tcp.rtt", "drops.ring", "works"} {
		_, number := v.Number(key)
		_, word := v.Seen(key, "")
		if _, got := v.Goodput(); !number && !word && (key != "goodput" || !got) {
			missing = append(missing, key)
		}
	}
	if len(missing) > 0 {
		f.Next = "tell " + strings.Join(missing[:min(len(missing), 4)], ", ")
	} else {
		f.Next = "capture both directions at the sender and analyze it"
	}
	for _, v := range v.Values {
		if v.Metric == result.Goodput.Name || v.Metric == result.LineLimit.Name {
			f.Evidence = append(f.Evidence, v)
		}
	}
	return f
}

// Bound returns the first finding that says what limits; where none does, the
// likeliest suspect.
func Bound(fs []result.Finding) (result.Finding, bool) {
	if i := slices.IndexFunc(fs, func(f result.Finding) bool { return f.Verdict == result.Limits }); i >= 0 {
		return fs[i], true
	}
	suspects := slices.DeleteFunc(slices.Clone(fs), func(f result.Finding) bool { return f.Verdict != result.Unknown })
	if len(suspects) == 0 {
		return result.Finding{}, false
	}
	return slices.MaxFunc(suspects, func(a, b result.Finding) int { return cmp.Compare(a.Confidence, b.Confidence) }), true
}
