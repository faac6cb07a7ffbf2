package ftp

import (
	"fmt"
	"strings"
	"time"
)

const timeLayout = "20060102150405"

// FormatTime writes a time as RFC 3659 2.3 wants it: UTC, YYYYMMDDHHMMSS, with
// milliseconds only where there are any.
func FormatTime(t time.Time) string {
	t = t.UTC()
	s := t.Format(timeLayout)
	if ms := t.Nanosecond() / 1e6; ms != 0 {
		s += strings.TrimRight(fmt.Sprintf(".%03d", ms), "0")
	}
	return s
}

// ParseTime reads "YYYYMMDDHHMMSS[.fraction]" as UTC. The error wraps
// ErrSyntax.
func ParseTime(s string) (time.Time, error) {
	whole, fraction, _ := strings.Cut(s, ".")
	// "19100" + two digits was the year 2000 of servers that printed 19%02d.
	if strings.HasPrefix(whole, "191") && len(whole) == len(timeLayout)+1 {
		whole = "20" + whole[3:]
	}
	t, err := time.Parse(timeLayout, whole)
	if err != nil || len(whole) != len(timeLayout) || strings.Trim(fraction, "0123456789") != "" {
		return time.Time{}, fmt.Errorf("time %.40q: want YYYYMMDDHHMMSS: %w", s, ErrSyntax)
	}
	unit := 100 * time.Millisecond
	for _, digit := range fraction {
		t = t.Add(time.Duration(digit-'0') * unit)
		unit /= 10
	}
	return t, nil
}
