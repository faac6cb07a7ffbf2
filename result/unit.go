package result

import (
	"fmt"
	"math"
	"strconv"
	"strings"
)

// ParseRate reads a bit rate as people write it: "940Mbit/s", "1Gbit", "10g",
// "117.7 MB/s", "950000000". Bits unless bytes are named (capital B or "byte");
// prefixes k, M, G, T are powers of 1000, Ki, Mi, Gi, Ti of 1024. The result is
// in bit/s.
func ParseRate(s string) (float64, error) {
	t := strings.TrimSpace(s)
	for _, per := range []string{"/s", "ps"} {
		t = strings.TrimSuffix(t, per)
	}
	mult := 1.0
	switch {
	case strings.HasSuffix(t, "B"):
		t, mult = t[:len(t)-1], 8
	case strings.HasSuffix(t, "bytes"):
		t, mult = t[:len(t)-5], 8
	case strings.HasSuffix(t, "byte"):
		t, mult = t[:len(t)-4], 8
	case strings.HasSuffix(t, "bits"):
		t = t[:len(t)-4]
	case strings.HasSuffix(t, "bit"):
		t = t[:len(t)-3]
	case strings.HasSuffix(t, "b"):
		t = t[:len(t)-1]
	}
	v, err := parseScaled(t, 1000)
	if err != nil {
		return 0, fmt.Errorf("rate %q: want a number with a unit, such as 940Mbit/s or 117.7MB/s", s)
	}
	return v * mult, nil
}

// ParseSize reads a length in bytes: "292MB", "64KiB", "64k", "1500". k, M, G,
// T are powers of 1000, Ki, Mi, Gi, Ti of 1024.
func ParseSize(s string) (int64, error) {
	v, err := parseScaled(strings.TrimSuffix(strings.TrimSpace(s), "B"), 1000)
	if err != nil || v != math.Trunc(v) || v >= math.MaxInt64 {
		return 0, fmt.Errorf("size %q: want bytes, such as 65536, 64KiB or 292MB", s)
	}
	return int64(v), nil
}

func parseScaled(s string, base float64) (float64, error) {
	s = strings.TrimSpace(s)
	if t, ok := strings.CutSuffix(s, "i"); ok {
		s, base = t, 1024
	}
	if s == "" {
		return 0, strconv.ErrSyntax
	}
	exp := strings.IndexByte("KMGTP", strings.ToUpper(s[len(s)-1:])[0])
	if exp >= 0 {
		s = s[:len(s)-1]
	} else if base == 1024 {
		return 0, strconv.ErrSyntax
	}
	v, err := strconv.ParseFloat(strings.TrimSpace(s), 64)
	if err != nil || v < 0 || math.IsInf(v, 0) || math.IsNaN(v) {
		return 0, strconv.ErrSyntax
	}
	return v * math.Pow(base, float64(exp+1)), nil
}

// FormatRate shows a rate in bit/s both ways: "941.5 Mbit/s (117.7 MB/s)".
func FormatRate(bitsPerSecond float64) string {
	return FormatBits(bitsPerSecond) + " (" + scale(bitsPerSecond/8, 1000, "B/s") + ")"
}

// FormatBits shows a rate in bit/s: "941.5 Mbit/s".
func FormatBits(bitsPerSecond float64) string { return scale(bitsPerSecond, 1000, "bit/s") }

// FormatSize shows a length in bytes: "292.0 MB".
func FormatSize(n float64) string { return scale(n, 1000, "B") }

func scale(v, base float64, unit string) string {
	prefix := ""
	for _, p := range []string{"k", "M", "G", "T", "P"} {
		if math.Round(math.Abs(v)*10) < base*10 { // as it will be shown: never "1000.0 M"
			break
		}
		v, prefix = v/base, p
	}
	if prefix == "" && v == math.Trunc(v) {
		return fmt.Sprintf("%.0f %s", v, unit)
	}
	return fmt.Sprintf("%.1f %s%s", v, prefix, unit)
}
