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

// findingGroup is findings that differ only in what they were seen in: one
// explanation, said once.
type findingGroup struct {
	result.Finding // the first
	seen           []result.Finding
}

// groups gathers the findings of one verdict that follow from the same rule and
// lead to the same levers.
func groups(fs []result.Finding, verdict string) []findingGroup {
	var out []findingGroup
	index := map[string]int{}
	for _, f := range fs {
		if f.Verdict != verdict {
			continue
		}
		key := strings.Join([]string{f.Rule, advice(f.Levers), f.Gain, f.Trade, f.Ref}, "\x00")
		i, seen := index[key]
		if !seen {
			i = len(out)
			index[key] = i
			out = append(out, findingGroup{Finding: f})
		}
		out[i].seen = append(out[i].seen, f)
	}
	return out
}

// ruleName names the rule of a finding, with its code in the rule base.
func ruleName(f result.Finding) string {
	if f.Code == "" {
		return f.Rule
	}
	return f.Rule + " (" + f.Code + ")"
}

// findings shows each explanation with its evidence and what to do about it.
func (t *text) findings(r *result.Result) {
	for _, part := range verdicts() {
		for i, g := range groups(r.Findings, part.verdict) {
			if i == 0 {
				t.section(part.title)
			}
			t.line("  %s", printable(ruleName(g.Finding)))
			for _, f := range g.seen {
				t.seen(f)
			}
			for _, d := range details(g.Finding) {
				t.item(4, d.Label, d.Body)
			}
		}
	}
}

// seen shows where a finding was made and what it rests on.
func (t *text) seen(f result.Finding) {
	for i, l := range wrap(printable(sentence(f)), width-6) {
		t.line("%s%s", strings.Repeat(" ", 4+2*min(i, 1)), l)
	}
	for _, d := range grounds(f) {
		t.item(6, d.Label, d.Body)
	}
}

// sentence is the text of a finding with its trial and confidence.
func sentence(f result.Finding) string {
	s := f.Text
	if f.Trial != "" {
		s = f.Trial + ": " + s
	}
	if f.Confidence > 0 {
		s += fmt.Sprintf(" (confidence %.0f %%)", 100*f.Confidence)
	}
	return s
}

// detail is a labelled line below a finding.
type detail struct{ Label, Body string }

// grounds are what a single finding rests on.
func grounds(f result.Finding) []detail {
	return filled([]detail{
		{"evidence", evidence(f.Evidence)},
		{"against", strings.Join(f.Against, "; ")},
		{"frames", frames(f)},
	})
}

// details are what a finding leads to.
func details(f result.Finding) []detail {
	return filled([]detail{
		{"turn", advice(f.Levers)},
		{"gain", f.Gain},
		{"trade", f.Trade},
		{"next", f.Next},
		{"source", f.Ref},
	})
}

func filled(all []detail) []detail {
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
