package explain

import (
	"slices"
	"strings"

	"github.com/linerate/linerate/result"
)

// Group is a place on the way of the data. Groups are judged in this order:
// the first in which a rule is sure explains what later ones see.
type Group int

// The groups.
const (
	Measurement Group = iota // is the figure real?
	Link                     // cable, PHY, MAC, bus
	Window                   // TCP: window, sender, receiver
	Drops                    // where packets are lost
	CPU                      // cores, caches, clocks
	Interrupts               // interrupts and polls
	Stack                    // stacks and applications of small systems
)

// Rule is one explanation. A rule judges by Check, or by clues: all it needs
// must hold, what else holds makes it surer, doubts make it less so.
type Rule struct {
	ID    string // "tcp.window-limited"
	Code  string // its number in the rule base, "R-TCP-1"; a number may have several rules
	Group Group
	Title string
	Ref   string // the standard or source it rests on

	// What a finding says that limits, unless Check says it better.
	Gain, Trade, Next string
	Levers            []result.Advice

	// Check judges one View. It returns false where the View lacks the
	// evidence to judge; Judge fills in the rest.
	Check func(View) (result.Finding, bool)

	needs, clues, doubts []clue
	act                  func(View) []result.Advice // levers whose value depends on the figures
}

// Facts lists the facts that the clues of the rule look at.
func (r Rule) Facts() []string {
	var keys []string
	for _, c := range slices.Concat(r.needs, r.clues, r.doubts) {
		keys = append(keys, c.facts...)
	}
	slices.Sort(keys)
	return slices.Compact(keys)
}

// judge applies the rule to one View.
func (r Rule) judge(v View) (result.Finding, bool) {
	check := r.Check
	if check == nil {
		check = r.weigh
	}
	f, ok := check(v)
	if !ok {
		return f, false
	}
	f.Rule, f.Code, f.Trial, f.Ref = r.ID, r.Code, v.Trial, r.Ref
	if f.Verdict == result.DoesNotLimit {
		return f, true
	}
	if f.Next == "" {
		f.Next = r.Next
	}
	if f.Gain == "" {
		f.Gain = r.Gain
	}
	if f.Trade == "" {
		f.Trade = r.Trade
	}
	if len(f.Levers) == 0 {
		f.Levers = r.Levers
		if r.act != nil {
			f.Levers = append(r.act(v), f.Levers...)
		}
	}
	return f, true
}

// weigh adds up clues as independent evidence: each leaves as much doubt as it
// does not convince (noisy or).
func (r Rule) weigh(v View) (result.Finding, bool) {
	f := result.Finding{}
	doubt := 1.0
	var texts []string
	take := func(s sign) {
		doubt *= 1 - s.weight
		for _, text := range s.texts {
			if !slices.Contains(texts, text) {
				texts = append(texts, text)
			}
		}
		f.Evidence = append(f.Evidence, s.evidence...)
	}
	for _, c := range r.needs {
		s := c.look(v)
		if !s.holds {
			return f, false
		}
		take(s)
	}
	for _, c := range r.clues {
		if s := c.look(v); s.holds && adds(f.Evidence, s.evidence) {
			take(s) // what only repeats earlier evidence convinces no further
		}
	}
	f.Confidence = min(1-doubt, surest)
	for _, c := range r.doubts {
		if s := c.look(v); s.holds {
			f.Confidence *= 1 - s.weight
			f.Against = append(f.Against, s.texts...)
		}
	}
	switch {
	case f.Confidence >= sure:
		f.Verdict = result.Limits
	case f.Confidence >= suspect:
		f.Verdict = result.Unknown
	default:
		return f, false
	}
	f.Text = r.Title + ": " + strings.Join(texts, ", ")
	f.Evidence = distinct(f.Evidence)
	return f, true
}

// adds reports whether a sign has evidence that is not known yet; a sign that
// rests on the absence of figures has none and always adds.
func adds(known, more []result.Value) bool {
	return len(more) == 0 || slices.ContainsFunc(more, func(v result.Value) bool {
		return !slices.ContainsFunc(known, func(x result.Value) bool { return same(x, v) })
	})
}

// distinct leaves out evidence that two clues named.
func distinct(vs []result.Value) []result.Value {
	var out []result.Value
	for _, v := range vs {
		if !slices.ContainsFunc(out, func(x result.Value) bool { return same(x, v) }) {
			out = append(out, v)
		}
	}
	return out
}
