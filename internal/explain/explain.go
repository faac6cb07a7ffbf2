// Package explain turns the figures of a Result into findings: what bounds the
// goodput, on which numbers that rests, which lever acts on it and what that
// costs. Rules are pure: the same figures always yield the same findings,
// whether they were measured an hour or a year ago, here or on a board.
//
// Each file holds one family of rules; every threshold is in thresholds.go.
package explain

import (
	"slices"

	"github.com/linerate/linerate/result"
)

// Rule is one explanation.
type Rule struct {
	ID    string // "tcp.window-limited"
	Title string
	Ref   string // the standard or source it rests on

	// Check judges one View. It returns false where the View lacks the
	// evidence to judge; Explain fills in Rule, Trial and Ref.
	Check func(View) (result.Finding, bool)
}

// Rules lists every rule in the order of judging, from the line upwards and
// then from the application down: the first that says Limits explains those
// after it.
func Rules() []Rule {
	return slices.Concat(lineRules(), applicationRules(), tcpRules(), cpuRules(), residualRules())
}

// Explain judges the totals of r and each of its trials, repeats taken
// together.
func Explain(r *result.Result) []result.Finding {
	var fs []result.Finding
	for _, v := range Views(r) {
		fs = append(fs, Judge(v, Rules())...)
	}
	return fs
}

// Judge applies rules to one View, in order.
func Judge(v View, rules []Rule) []result.Finding {
	var fs []result.Finding
	for _, rule := range rules {
		f, ok := rule.Check(v)
		if !ok {
			continue
		}
		f.Rule, f.Trial, f.Ref = rule.ID, v.Trial, rule.Ref
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

// Bound returns the first finding that says what limits; where none does, the
// first that names a suspect.
func Bound(fs []result.Finding) (result.Finding, bool) {
	for _, verdict := range []string{result.Limits, result.Unknown} {
		i := slices.IndexFunc(fs, func(f result.Finding) bool { return f.Verdict == verdict })
		if i >= 0 {
			return fs[i], true
		}
	}
	return result.Finding{}, false
}
