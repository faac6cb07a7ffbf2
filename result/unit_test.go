package result

import (
	"math"
	"testing"
)

func TestParseRate(t *testing.T) {
	for s, want := range map[string]float64{
		"940Mbit/s": 940e6, "1Gbit": 1e9, "10g": 10e9, "117.7 MB/s": 941.6e6, "950000000": 950e6, "1Mbps": 1e6,
		"64kbit/s": 64e3, "1MiB/s": 8 << 20, "1 Gibit/s": 1 << 30, "0": 0, "2.5Gb/s": 2.5e9, "12500 bytes/s": 1e5, "100bits": 100,
	} {
		if got, err := ParseRate(s); err != nil || math.Abs(got-want) > 1e-6*want {
			t.Errorf("%q: got %v, %v; want %v", s, got, err, want)
		}
	}
	for _, s := range []string{"", "fast", "-1Mbit/s", "1Xbit/s", "1i", "Mbit/s", "NaN", "Inf", "1e400"} {
		if got, err := ParseRate(s); err == nil {
			t.Errorf("%q: got %v, want an error", s, got)
		}
	}
}

func TestParseSize(t *testing.T) {
	for s, want := range map[string]int64{"292MB": 292e6, "64KiB": 65536, "64k": 64000, "1500": 1500, "1.5 GB": 15e8, "0B": 0} {
		if got, err := ParseSize(s); err != nil || got != want {
			t.Errorf("%q: got %v, %v; want %v", s, got, err, want)
		}
	}
	for _, s := range []string{"", "big", "-1", "0.5", "1e19", "10000P", "1 KiBB"} {
		if got, err := ParseSize(s); err == nil {
			t.Errorf("%q: got %v, want an error", s, got)
		}
	}
}

func TestFormat(t *testing.T) {
	for _, c := range []struct{ got, want string }{
		{FormatRate(941.48e6), "941.5 Mbit/s (117.7 MB/s)"},
		{FormatRate(0), "0 bit/s (0 B/s)"},
		{FormatRate(800), "800 bit/s (100 B/s)"},
		{FormatBits(100e9), "100.0 Gbit/s"},
		{FormatBits(999.96e6), "1.0 Gbit/s"},
		{FormatSize(292e6), "292.0 MB"},
		{FormatSize(1514), "1.5 kB"},
		{FormatSize(-2e6), "-2.0 MB"},
	} {
		if c.got != c.want {
			t.Errorf("got %q, want %q", c.got, c.want)
		}
	}
}

func FuzzParseRate(f *testing.F) {
	for _, s := range []string{"940Mbit/s", "1 Gibit/s", "117.7MB/s", "1e3k", "i", "K"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		if v, err := ParseRate(s); err == nil && (v < 0 || math.IsNaN(v)) {
			t.Errorf("%q: %v", s, v)
		}
		if n, err := ParseSize(s); err == nil && n < 0 {
			t.Errorf("%q: %d bytes", s, n)
		}
	})
}
