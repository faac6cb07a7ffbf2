package plot

import (
	"math"
	"strconv"
	"strings"
)

// span is an axis laid out on pixels.
type span struct {
	min, max float64 // of the data
	from, to float64 // of the drawing; from > to for y
	log      bool
}

// at maps a value to its pixel.
func (s span) at(v float64) float64 {
	a, b := s.min, s.max
	if s.log {
		v, a, b = math.Log(v), math.Log(a), math.Log(b)
	}
	return s.from + (v-a)/(b-a)*(s.to-s.from)
}

// holds reports whether the axis can show v.
func (s span) holds(v float64) bool {
	return !math.IsNaN(v) && !math.IsInf(v, 0) && (!s.log || v > 0)
}

// extent returns the range of the values that an axis can show.
func extent(values func(yield func(float64) bool), log bool) (lo, hi float64, ok bool) {
	lo, hi = math.Inf(1), math.Inf(-1)
	for v := range values {
		if (span{log: log}).holds(v) {
			lo, hi = min(lo, v), max(hi, v)
		}
	}
	return lo, hi, lo <= hi
}

// niceStep returns the step of 1, 2 or 5 times a power of ten that divides
// width into at most n parts.
func niceStep(width float64, n int) float64 {
	raw := width / float64(max(n, 1))
	base := math.Pow(10, math.Floor(math.Log10(raw)))
	for _, m := range []float64{1, 2, 5} {
		if m*base >= raw*0.9999 {
			return m * base
		}
	}
	return 10 * base
}

// linearTicks returns round values from lo to hi, at most n steps apart.
func linearTicks(lo, hi float64, n int) []float64 {
	if !(hi > lo) {
		return []float64{lo}
	}
	step := niceStep(hi-lo, n)
	var out []float64
	for i := math.Ceil(lo/step - 1e-9); i*step <= hi+step*1e-9; i++ {
		out = append(out, i*step+0) // + 0 turns -0 into 0
	}
	return out
}

// logTicks returns the powers of ten from lo to hi, with 2 and 5 between where
// there are few.
func logTicks(lo, hi float64, n int) []float64 {
	lowest, highest := math.Floor(math.Log10(lo)), math.Ceil(math.Log10(hi))
	between := []float64{1}
	if (highest-lowest)*3 <= float64(n) {
		between = []float64{1, 2, 5}
	}
	every := max(1, math.Ceil((highest-lowest)/float64(max(n, 1))))
	var out []float64
	for e := lowest; e <= highest; e += every {
		for _, m := range between {
			if v := m * math.Pow(10, e); v >= lo*0.9999 && v <= hi*1.0001 {
				out = append(out, v)
			}
		}
	}
	return out
}

// prefix picks the SI prefix that suits v of a unit; the greater one from 2,000
// of the lesser on, so that an axis to 1,000 Mbit/s is not one to 1 Gbit/s. A
// unit without a dimension gets none below 10,000.
func prefix(v float64, unit string) (div float64, name string) {
	v = math.Abs(v)
	if unit == "s" || unit == "s/B" {
		for _, p := range []struct {
			div  float64
			name string
		}{{1e-9, "n"}, {1e-6, "µ"}, {1e-3, "m"}} {
			if v > 0 && v < p.div*1000 {
				return p.div, p.name
			}
		}
		return 1, ""
	}
	if (unit == "" || unit == "1") && v < 1e4 {
		return 1, ""
	}
	div = 1
	for _, p := range []string{"k", "M", "G", "T", "P"} {
		if v < div*2000 {
			break
		}
		div, name = div*1000, p
	}
	return div, name
}

// number formats a tick: no more digits than it needs, thousands grouped.
func number(v float64) string {
	return Group(strconv.FormatFloat(math.Round(v*1e6)/1e6+0, 'f', -1, 64)) // + 0 turns -0 into 0
}

// Group sets commas between the thousands of a decimal number.
func Group(s string) string {
	whole, frac, dot := strings.Cut(s, ".")
	sign := ""
	if strings.HasPrefix(whole, "-") {
		sign, whole = "-", whole[1:]
	}
	for i := len(whole) - 3; i > 0; i -= 3 {
		whole = whole[:i] + "," + whole[i:]
	}
	if dot {
		frac = "." + frac
	}
	return sign + whole + frac
}

// unitLabel joins a label and a prefixed unit: "goodput, Mbit/s".
func unitLabel(label, prefix, unit string) string {
	if unit == "1" {
		unit = ""
	}
	if u := prefix + unit; u != "" && label != "" {
		return label + ", " + u
	} else if u != "" {
		return u
	}
	return label
}
