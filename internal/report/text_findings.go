package report

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/linerate/linerate/result"
)

// verdictPart is a part of a report that gathers findings of one verdict.
type verdictPart struct{ verdict, title, class string }

// verdicts orders the parts: those that limit come first.
func verdicts() []verdictPart {
	return []verdictPart{
		{result.Limits, "What bounds it", "limits"},
		{result.DoesNotLimit, "What does not", "no"},
		{result.Unknown, "Undecided", "unknown"},
	}
}

// findings shows each explanation with its evidence and what to do about it.
func (t *text) findings(r *result.Result) {
	for _, part := range verdicts() {
		open := false
		for _, f := range r.Findings {
			if f.Verdict != part.verdict {
				continue
			}
			if !open {
				t.section(part.title)
				open = true
			}
			t.finding(f)
		}
	}
}

func (t *text) finding(f result.Finding) {
	head := f.Rule
	if f.Trial != "" {
		head = f.Trial + ": " + head
	}
	if f.Confidence > 0 {
		head += fmt.Sprintf(" (confidence %.0f %%)", 100*f.Confidence)
	}
	t.line("  %s", printable(head))
	for _, l := range wrap(printable(f.Text), width-4) {
		t.line("    %s", l)
	}
	for _, d := range details(f) {
		t.item(4, d.Label, d.Body)
	}
}

// detail is a labelled line below a finding.
type detail struct{ Label, Body string }

// details are what a finding rests on and leads to, without the empty ones.
func details(f result.Finding) []detail {
	all := []detail{
		{"evidence", evidence(f.Evidence)},
		{"against", strings.Join(f.Against, "; ")},
		{"turn", advice(f.Levers)},
		{"gain", f.Gain},
		{"trade", f.Trade},
		{"next", f.Next},
		{"frames", frames(f)},
		{"source", f.Ref},
	}
	return slices.DeleteFunc(all, func(d detail) bool { return d.Body == "" })
}

// evidence lists the numbers a verdict rests on; labels that all of them carry
// are named once.
func evidence(vs []result.Value) string {
	if len(vs) == 0 {
		return ""
	}
	common := maps.Clone(vs[0].Labels)
	maps.DeleteFunc(common, func(k, v string) bool {
		return slices.ContainsFunc(vs, func(x result.Value) bool { return x.Labels[k] != v })
	})
	var parts []string
	for _, v := range vs {
		own := maps.Clone(v.Labels)
		maps.DeleteFunc(own, func(k, _ string) bool { _, ok := common[k]; return ok })
		s := named(v)
		if len(own) > 0 {
			s += " [" + labels(own) + "]"
		}
		parts = append(parts, s)
	}
	out := strings.Join(parts, ", ")
	if len(common) > 0 {
		out = labels(common) + ": " + out
	}
	return out
}

// advice lists levers in the spelling that 'linerate set' takes.
func advice(as []result.Advice) string {
	var parts []string
	for _, a := range as {
		s := a.Lever + "=" + a.Value
		if a.End != "" {
			s += " at the " + a.End
		}
		parts = append(parts, s)
	}
	return strings.Join(parts, ", ")
}

// frames points into the capture.
func frames(f result.Finding) string {
	var parts []string
	if len(f.Frames) > 0 {
		parts = append(parts, strings.Trim(fmt.Sprint(f.Frames), "[]"))
	}
	if f.Filter != "" {
		parts = append(parts, "filter "+f.Filter)
	}
	return strings.Join(parts, "; ")
}
