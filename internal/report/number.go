package report

import (
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"
	"unicode"

	"github.com/linerate/linerate/internal/report/plot"
	"github.com/linerate/linerate/result"
)

// scale shows the figures of one column in one unit, so that they can be
// compared by eye.
type scale struct {
	unit   string
	div    float64
	digits int
}

// rateScales are the two ways a rate in bit/s is shown: bits, then bytes.
func rateScales(vs []float64) [2]scale {
	s := newScale("bit/s", vs)
	if s.div < 1e6 && typical(vs) >= 1e5 {
		s = scale{unit: "Mbit/s", div: 1e6, digits: 2}
	}
	if s.div > 1e6 {
		s = scale{unit: "Mbit/s", div: 1e6, digits: 1} // the unit links are named in, also when faster
	}
	b := scale{unit: strings.Replace(s.unit, "bit/s", "B/s", 1), div: s.div * 8}
	s.digits, b.digits = digits(vs, s.div), digits(vs, b.div)
	return [2]scale{s, b}
}

// newScale picks a prefix by the middle of vs.
func newScale(unit string, vs []float64) scale {
	s := scale{unit: unit, div: 1}
	mid := typical(vs)
	switch unit {
	case "1":
		s.unit = ""
	case "s", "s/B":
		for _, p := range []scale{{unit: "n", div: 1e-9}, {unit: "µ", div: 1e-6}, {unit: "m", div: 1e-3}} {
			if mid > 0 && mid < p.div*999.5 {
				s = scale{unit: p.unit + unit, div: p.div}
				break
			}
		}
	case "bit/s", "B", "B/s":
		for _, p := range []string{"k", "M", "G", "T"} {
			if mid < s.div*1000 || unit == "B" && mid < 1e5 {
				break
			}
			s.div, s.unit = s.div*1000, p+unit
		}
	}
	s.digits = digits(vs, s.div)
	return s
}

// typical is the median of the magnitudes in vs that are not zero.
func typical(vs []float64) float64 {
	var a []float64
	for _, v := range vs {
		if v = math.Abs(v); v > 0 && !math.IsInf(v, 0) {
			a = append(a, v)
		}
	}
	return result.Summarize(a).Median
}

// digits are the decimals that leave the smallest of vs three figures, and
// none where all are whole.
func digits(vs []float64, div float64) int {
	low, whole := math.Inf(1), true
	for _, v := range vs {
		if v = math.Abs(v) / div; v > 0 && !math.IsInf(v, 0) {
			low = min(low, v)
			whole = whole && v == math.Trunc(v)
		}
	}
	switch {
	case whole && div == 1 || low >= 1000:
		return 0
	case low >= 10:
		return 1
	case low >= 0.1:
		return 2
	}
	return min(9, 1-int(math.Floor(math.Log10(low))))
}

// show formats v, in the unit of s but without naming it.
func (s scale) show(v float64) string {
	if math.IsNaN(v) || math.IsInf(v, 0) {
		return "-"
	}
	return plot.Group(strconv.FormatFloat(v/s.div, 'f', s.digits, 64))
}

// figure shows one value with its unit; a rate both ways.
func figure(v result.Value) string {
	if v.Unit == "bit/s" {
		s := rateScales([]float64{v.V})
		return s[0].show(v.V) + " " + s[0].unit + " (" + s[1].show(v.V) + " " + s[1].unit + ")"
	}
	s := newScale(v.Unit, []float64{v.V})
	return strings.TrimSpace(s.show(v.V) + " " + s.unit)
}

// heading names a metric for a reader.
func heading(name string) string {
	if m, ok := result.Lookup(name); ok {
		return m.Heading()
	}
	return result.Metric{Name: name}.Heading()
}

// named shows a value behind the name of its metric; the unit is left out where
// the name says it.
func named(v result.Value) string {
	name, value := heading(v.Metric), figure(v)
	plural, rest, per := strings.Cut(v.Unit, "/")
	plural += "s"
	if per {
		plural += "/" + rest
	}
	if strings.HasSuffix(name, v.Unit) || strings.HasSuffix(name, plural) {
		value = strings.TrimSuffix(value, " "+v.Unit)
	}
	return name + " " + value
}

// qualified names a value: its metric, then its direction and other labels.
func qualified(v result.Value) string {
	rest := maps.Clone(v.Labels)
	delete(rest, "direction")
	return strings.Join(strings.Fields(heading(v.Metric)+" "+v.Labels["direction"]+" "+labels(rest)), " ")
}

// labels shows a value's labels: "cpu=0 mode=user".
func labels(m map[string]string) string {
	var b strings.Builder
	for i, k := range sortedKeys(m) {
		if i > 0 {
			b.WriteByte(' ')
		}
		b.WriteString(k + "=" + m[k])
	}
	return b.String()
}

func sortedKeys[V any](m map[string]V) []string {
	keys := make([]string, 0, len(m))
	for k := range m {
		keys = append(keys, k)
	}
	slices.Sort(keys)
	return keys
}

// printable keeps strings of other hosts from steering the terminal: control
// characters, also those that turn text around, become a replacement mark.
func printable(s string) string {
	return strings.Map(func(r rune) rune {
		switch {
		case r == '\n' || r == '\t':
			return ' '
		case unicode.IsControl(r) || unicode.Is(unicode.Cf, r):
			return unicode.ReplacementChar
		}
		return r
	}, s)
}
