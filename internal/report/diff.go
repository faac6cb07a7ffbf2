package report

import (
	"encoding/json"
	"io"
	"slices"
	"strings"

	"github.com/linerate/linerate/result"
)

// ComparisonSchema names the format that Comparison is written in.
const ComparisonSchema = "linerate.diff/1"

// Set is one side of a comparison: results of the same thing done again.
type Set struct {
	Name    string
	Results []*result.Result
}

// Comparison holds the figures of two or more sets against the first.
type Comparison struct {
	Schema string     `json:"schema"`
	Sets   []Compared `json:"sets"`
	Setup  []Unlike   `json:"setup,omitempty"`
	Rows   []DiffRow  `json:"rows"`
}

// Compared names a set and the results in it.
type Compared struct {
	Name string   `json:"name"`
	IDs  []string `json:"ids"`
}

// Unlike is something about the set-up in which the sets differ.
type Unlike struct {
	What   string   `json:"what"`   // "server setting link.mtu"
	Values []string `json:"values"` // of each set; empty where it has none
}

// DiffRow compares one figure: of a trial, or of the whole where Trial and
// Params are empty.
type DiffRow struct {
	Trial  string            `json:"trial,omitempty"`
	Params map[string]string `json:"params,omitempty"`
	Metric string            `json:"metric"`
	Unit   string            `json:"unit"`
	Labels map[string]string `json:"labels,omitempty"`
	Sides  []Side            `json:"sides"` // of each set
}

// The verdicts of a Side against the first.
const (
	Higher    = "higher"            // the intervals lie apart
	Lower     = "lower"             // likewise
	Same      = "same"              // every value is equal
	NoneShown = "intervals overlap" // no difference is shown; that none exists is not
	TooFew    = "too few runs"      // fewer than two on a side: nothing is known of the spread
	NotInBoth = "not in both"
)

// Side is what one set measured of a figure. The interval holds the true
// median with at least 95 % confidence from 6 values on; with fewer it goes
// from the least to the greatest (result.Summarize).
type Side struct {
	N       int     `json:"n"`
	Median  float64 `json:"median"`
	Lo      float64 `json:"lo"`
	Hi      float64 `json:"hi"`
	Ratio   float64 `json:"ratio,omitempty"`   // to the median of the first set
	Verdict string  `json:"verdict,omitempty"` // against the first set, which has none
}

// Diff compares sets with the first of them. A figure is the same in two sets
// if trial, parameters (but for the repeat), metric and labels are.
func Diff(sets []Set) Comparison {
	c := Comparison{Schema: ComparisonSchema, Setup: unlike(sets)}
	index := map[string]int{}
	for i, s := range sets {
		var ids []string
		var totals []result.Value
		var trials []result.Trial
		for _, r := range s.Results {
			ids = append(ids, r.ID)
			totals = append(totals, r.Totals...)
			trials = append(trials, r.Trials...)
		}
		c.Sets = append(c.Sets, Compared{s.Name, ids})
		groups := append([]repeats{{trials: []result.Trial{{Values: totals}}}}, gather(trials)...)
		for _, g := range groups {
			for _, f := range g.figures() {
				v := f.value
				key := strings.Join([]string{g.name, labels(g.params), v.Metric, labels(v.Labels)}, "\x00")
				at, seen := index[key]
				if !seen {
					at = len(c.Rows)
					index[key] = at
					c.Rows = append(c.Rows, DiffRow{Trial: g.name, Params: g.params, Metric: v.Metric, Unit: v.Unit, Labels: v.Labels, Sides: make([]Side, len(sets))})
				}
				c.Rows[at].Sides[i] = side(f.vs)
			}
		}
	}
	for _, row := range c.Rows {
		for i := range row.Sides[1:] {
			row.Sides[i+1].judge(row.Sides[0])
		}
	}
	return c
}

func side(vs []float64) Side {
	s := result.Summarize(vs)
	return Side{N: s.N, Median: s.Median, Lo: s.Lo, Hi: s.Hi}
}

// judge compares s with the first set's side.
func (s *Side) judge(first Side) {
	if first.N == 0 || s.N == 0 {
		s.Verdict = NotInBoth
		return
	}
	if first.Median != 0 {
		s.Ratio = s.Median / first.Median
	}
	switch {
	case first.N < 2 || s.N < 2:
		s.Verdict = TooFew
	case first.Lo == first.Hi && s.Lo == first.Lo && s.Hi == first.Hi:
		s.Verdict = Same
	case s.Lo > first.Hi:
		s.Verdict = Higher
	case s.Hi < first.Lo:
		s.Verdict = Lower
	default:
		s.Verdict = NoneShown
	}
}

// unlike lists the parameters, facts, settings and bounds that differ.
func unlike(sets []Set) []Unlike {
	found := make([]map[string]string, len(sets))
	names := map[string]bool{}
	for i, s := range sets {
		all := map[string][]string{}
		note := func(what, value string) {
			names[what] = true
			if !slices.Contains(all[what], value) {
				all[what] = append(all[what], value)
			}
		}
		for _, r := range s.Results {
			setup(r, note)
		}
		found[i] = map[string]string{}
		for what, values := range all {
			found[i][what] = strings.Join(slices.Sorted(slices.Values(values)), ", ")
		}
	}
	var out []Unlike
	for _, what := range sortedKeys(names) {
		u := Unlike{What: what}
		for i := range sets {
			u.Values = append(u.Values, found[i][what])
		}
		if slices.ContainsFunc(u.Values, func(v string) bool { return v != u.Values[0] }) {
			out = append(out, u)
		}
	}
	return out
}

// setup notes what r was made with and what bounded it.
func setup(r *result.Result, note func(what, value string)) {
	note("workload", r.Workload.Kind)
	note("origin", string(r.Origin))
	for k, v := range r.Workload.Params {
		note("parameter "+k, v)
	}
	for _, e := range r.Ends {
		note(e.Role+" host", e.Host)
		for k, v := range e.Facts {
			note(e.Role+" "+k, v)
		}
		for k, v := range e.Settings {
			note(e.Role+" setting "+k, v)
		}
	}
	for _, f := range r.Findings {
		if f.Verdict == result.Limits {
			note(strings.TrimSpace(f.Trial+" bound by"), f.Rule)
		}
	}
}

// JSON writes the comparison as a document of ComparisonSchema.
func (c Comparison) JSON(w io.Writer) error {
	enc := json.NewEncoder(w)
	enc.SetIndent("", "  ")
	enc.SetEscapeHTML(false)
	return enc.Encode(c)
}
