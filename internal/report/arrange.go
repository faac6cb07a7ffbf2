package report

import (
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/linerate/linerate/result"
)

// stepParam and repeatParam number the steps of a ladder and the repeats of a
// trial; neither tells trials apart. nameParam stands for the name of a trial.
const (
	stepParam   = "step"
	repeatParam = "repeat"
	nameParam   = ""
)

// The most variants that stand side by side in a table, and the most curves
// that can be told apart in a plot.
const (
	maxColumns = 3
	maxCurves  = 6
)

// newMatrix finds what varies among trials and makes rows and variants of it.
// Where nothing leaves few enough variants to stand side by side, every kind of
// trial gets a row of its own.
func newMatrix(trials []result.Trial) matrix {
	params := rowParams(trials)
	for _, most := range []int{maxColumns, maxCurves} {
		for _, p := range params {
			m := arrange(trials, p, others(trials, p))
			if len(m.variants) <= most && 2*m.filled() >= len(m.rows)*len(m.variants) {
				return m
			}
		}
	}
	return list(trials)
}

// rowParams lists what may name the rows, the best first: the step of a ladder,
// a size that varies, another number that varies, the name.
func rowParams(trials []result.Trial) []string {
	var out []string
	for _, p := range varying(trials) {
		if p == stepParam {
			return []string{stepParam}
		}
		if p != nameParam && numeric(trials, p) && len(distinct(trials, param(p))) > 2 {
			out = append(out, p)
		}
	}
	rank := func(p string) int {
		if strings.Contains(p, "bytes") || strings.Contains(p, "size") {
			return -1
		}
		return 0
	}
	slices.SortStableFunc(out, func(a, b string) int { return rank(a) - rank(b) })
	return append(out, nameParam)
}

// others are the parameters that tell trials of one row apart. What a step
// changes goes without saying; beside a number, only what says the same does.
func others(trials []result.Trial, row string) []string {
	return slices.DeleteFunc(varying(trials), func(p string) bool {
		known := settled(trials, rowOf(row), param(p))
		return p == row || p == stepParam || known && (row == stepParam || settled(trials, param(p), rowOf(row)))
	})
}

// rowOf names the row of a trial; a step is named by its trial.
func rowOf(p string) func(result.Trial) string {
	if p == stepParam {
		p = nameParam
	}
	return param(p)
}

// arrange makes a row of each value of parameter row, and a variant of each
// combination of the others.
func arrange(trials []result.Trial, row string, others []string) matrix {
	m := matrix{head: row, numeric: row != stepParam && row != nameParam}
	if row == nameParam {
		m.head = "trial"
	}
	m.fill(trials, rowOf(row), joined(others))
	return m
}

// list gives every kind of trial a row.
func list(trials []result.Trial) matrix {
	m := matrix{head: "trial"}
	m.fill(trials, joined(varying(trials)), func(result.Trial) string { return "" })
	return m
}

func (m *matrix) fill(trials []result.Trial, row, variant func(result.Trial) string) {
	m.variants = distinct(trials, variant)
	index := map[string]int{}
	for _, t := range trials {
		k, v := row(t), variant(t)
		i, seen := index[k]
		if !seen {
			i = len(m.rows)
			index[k] = i
			x, _ := strconv.ParseFloat(k, 64) // used only where rows are numbers
			m.rows = append(m.rows, mrow{name: k, trial: t.Name, note: t.Note, x: x, cells: map[string][]result.Trial{}})
		}
		m.rows[i].cells[v] = append(m.rows[i].cells[v], t)
		m.repeats = max(m.repeats, len(m.rows[i].cells[v]))
	}
}

// filled counts the cells that have a trial.
func (m matrix) filled() int {
	n := 0
	for _, r := range m.rows {
		n += len(r.cells)
	}
	return n
}

func param(p string) func(result.Trial) string {
	return func(t result.Trial) string {
		if p == nameParam {
			return t.Name
		}
		return t.Params[p]
	}
}

// joined names a trial by the values of several parameters; a number alone
// would not say what it is of.
func joined(ps []string) func(result.Trial) string {
	return func(t result.Trial) string {
		var vs []string
		for _, p := range ps {
			v := param(p)(t)
			if _, err := strconv.ParseFloat(v, 64); err == nil && p != nameParam {
				v = p + "=" + v
			}
			vs = append(vs, v)
		}
		return strings.TrimSpace(strings.Join(vs, " "))
	}
}

// varying lists the parameters, the name among them and repeats aside, that
// differ among trials.
func varying(trials []result.Trial) []string {
	all := map[string]bool{nameParam: true}
	for _, t := range trials {
		for p := range t.Params {
			all[p] = true
		}
	}
	delete(all, repeatParam)
	maps.DeleteFunc(all, func(p string, _ bool) bool {
		return len(distinct(trials, param(p))) < 2
	})
	return slices.Sorted(maps.Keys(all))
}

// settled reports whether the value of row alone decides that of f.
func settled(trials []result.Trial, row, f func(result.Trial) string) bool {
	is := map[string]string{}
	for _, t := range trials {
		k, v := row(t), f(t)
		if before, seen := is[k]; seen && before != v {
			return false
		}
		is[k] = v
	}
	return true
}

func numeric(trials []result.Trial, p string) bool {
	for _, t := range trials {
		if _, err := strconv.ParseFloat(t.Params[p], 64); err != nil {
			return false
		}
	}
	return true
}

// distinct lists the values of f in order of appearance.
func distinct(trials []result.Trial, f func(result.Trial) string) []string {
	var out []string
	seen := map[string]bool{}
	for _, t := range trials {
		if v := f(t); !seen[v] {
			seen[v] = true
			out = append(out, v)
		}
	}
	return out
}
