package facts

import (
	"fmt"
	"maps"
	"math"
	"strconv"
	"strings"
	"time"

	"github.com/linerate/linerate/result"
)

// Parse reads a quantity as people write it, in the unit of the fact's metric.
func (f Fact) Parse(s string) (float64, error) {
	v, err := f.parse(s)
	if err != nil || math.IsNaN(v) || math.IsInf(v, 0) || v < 0 {
		return 0, fmt.Errorf("%s %q: want %s", f.Key, s, f.example())
	}
	return v, nil
}

func (f Fact) parse(s string) (float64, error) {
	switch f.Kind {
	case Rate:
		if n, err := strconv.ParseFloat(s, 64); err == nil && n != 0 {
			return 0, strconv.ErrSyntax // "1000" of what? ethtool means Mbit/s, a file size bytes
		}
		return result.ParseRate(s)
	case Size:
		n, err := result.ParseSize(strings.ReplaceAll(s, " ", ""))
		return float64(n), err
	case Time:
		d, err := time.ParseDuration(strings.ReplaceAll(s, " ", ""))
		return d.Seconds(), err
	case Clock:
		return result.ParseRate(strings.TrimSuffix(s, "Hz")) // the prefixes are the same
	case Share:
		if n, ok := strings.CutSuffix(s, "%"); ok {
			v, err := strconv.ParseFloat(strings.TrimSpace(n), 64)
			return v / 100, err
		}
		v, err := strconv.ParseFloat(s, 64)
		if v > 1 {
			return 0, strconv.ErrRange // 55 could be meant as 55 %, 1.5 as neither
		}
		return v, err
	}
	if s == "none" {
		return 0, nil
	}
	return strconv.ParseFloat(s, 64)
}

func (f Fact) example() string {
	switch f.Kind {
	case Rate:
		return "a rate, such as 940Mbit/s or 11MB/s"
	case Size:
		return "a size, such as 1500 or 64KiB"
	case Time:
		return "a time, such as 356us, 0.6ms or 10s"
	case Clock:
		return "a frequency, such as 800MHz"
	case Share:
		return "a share, such as 55% or 0.55"
	}
	return "a number, or some, or none"
}

// Format writes a quantity for a reader.
func (f Fact) Format(v float64) string {
	switch f.Kind {
	case Rate:
		return result.FormatBits(v)
	case Size:
		return fmt.Sprintf("%.0f B", v)
	case Time:
		return time.Duration(v * float64(time.Second)).String()
	case Clock:
		return fmt.Sprintf("%.0f MHz", v/1e6)
	case Share:
		return fmt.Sprintf("%.3g %%", 100*v)
	}
	if v == math.Trunc(v) {
		return fmt.Sprintf("%.0f", v)
	}
	return fmt.Sprintf("%.4g", v)
}

// Describe writes a value under the name of its fact, or of its metric where it
// is none.
func Describe(v result.Value) string {
	for _, f := range Table() {
		if f.Number() && f.Metric.Name == v.Metric && (f.Kind != Share || v.Unit == "1") && f.Key != "test.duration" && maps.Equal(labels(f.Labels), v.Labels) {
			return f.Key + " " + f.Format(v.V)
		}
	}
	m, _ := result.Lookup(v.Metric)
	name := m.Heading()
	if name == "" {
		name = v.Metric
	}
	return fmt.Sprintf("%s %.4g %s", name, v.V, v.Unit)
}

// labels makes a map of names and values in turn.
func labels(kv []string) map[string]string {
	var m map[string]string
	for i := 0; i+1 < len(kv); i += 2 {
		if m == nil {
			m = map[string]string{}
		}
		m[kv[i]] = kv[i+1]
	}
	return m
}
