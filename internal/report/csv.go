package report

import (
	"encoding/csv"
	"io"
	"maps"
	"slices"
	"strconv"
	"time"

	"github.com/linerate/linerate/result"
)

// CSV writes one line per value in tidy form (RFC 4180): a line is one
// observation, a column one variable. Every parameter of a trial and every
// label has a column of its own ("param.step", "label.cpu"), so that a
// spreadsheet or data frame can filter and pivot without parsing.
func CSV(w io.Writer, r *result.Result) error {
	t := &tidy{w: csv.NewWriter(w), id: r.ID}
	t.params = keys(func(yield func(map[string]string)) {
		for _, tr := range r.Trials {
			yield(tr.Params)
		}
	})
	t.labels = keys(func(yield func(map[string]string)) {
		eachValue(r, func(_ observation, v result.Value) { yield(v.Labels) })
	})
	head := []string{"id", "section", "end", "at_s", "trial", "duration_s", "pass", "metric", "unit", "value"}
	for _, p := range t.params {
		head = append(head, "param."+p)
	}
	for _, l := range t.labels {
		head = append(head, "label."+l)
	}
	_ = t.w.Write(head) // csv.Writer keeps the error for Error
	eachValue(r, t.line)
	t.w.Flush()
	return t.w.Error()
}

// observation is where a value stands in a Result.
type observation struct {
	section string // "total", "reading", "trial" or "evidence"
	end     string
	at      time.Duration
	timed   bool
	trial   *result.Trial
	name    string // of the trial
}

// eachValue visits every value of r in order.
func eachValue(r *result.Result, visit func(observation, result.Value)) {
	for _, v := range r.Totals {
		visit(observation{section: "total"}, v)
	}
	for _, rd := range r.Readings {
		for _, v := range rd.Values {
			visit(observation{section: "reading", end: rd.End, at: rd.At, timed: true}, v)
		}
	}
	for i := range r.Trials {
		tr := &r.Trials[i]
		for _, v := range tr.Values {
			visit(observation{section: "trial", at: tr.Start, timed: true, trial: tr, name: tr.Name}, v)
		}
	}
	for _, f := range r.Findings {
		for _, v := range f.Evidence {
			visit(observation{section: "evidence", name: f.Trial}, v)
		}
	}
}

// keys gathers the keys of many maps, sorted.
func keys(each func(yield func(map[string]string))) []string {
	all := map[string]bool{}
	each(func(m map[string]string) {
		for k := range m {
			all[k] = true
		}
	})
	return slices.Sorted(maps.Keys(all))
}

// tidy writes the lines of one document.
type tidy struct {
	w              *csv.Writer
	id             string
	params, labels []string
}

func (t *tidy) line(o observation, v result.Value) {
	at, duration, pass := "", "", ""
	var params map[string]string
	if o.timed {
		at = seconds(o.at)
	}
	if o.trial != nil {
		duration, pass, params = seconds(o.trial.Duration), strconv.FormatBool(o.trial.Pass), o.trial.Params
	}
	row := []string{t.id, o.section, o.end, at, o.name, duration, pass, v.Metric, v.Unit, strconv.FormatFloat(v.V, 'g', -1, 64)}
	for _, p := range t.params {
		row = append(row, params[p])
	}
	for _, l := range t.labels {
		row = append(row, v.Labels[l])
	}
	_ = t.w.Write(row)
}

func seconds(d time.Duration) string { return strconv.FormatFloat(d.Seconds(), 'f', -1, 64) }
