package capture

import (
	"math"
	"os"
	"strconv"
	"strings"
	"testing"
)

// TestAgainstTshark compares figures with what tshark 4.0 found, in the columns
// of truth.tsv. docs/guides/capture.md explains the exceptions.
func TestAgainstTshark(t *testing.T) {
	table, err := os.ReadFile("testdata/truth.tsv")
	if err != nil {
		t.Fatal(err)
	}
	medianDiffers := []string{"d1_", "j1_mtu_blackhole.snd"}
	var columns map[string]int
	for line := range strings.Lines(string(table)) {
		f := strings.Split(strings.TrimRight(line, "\n"), "\t")
		if columns == nil {
			columns = map[string]int{}
			for i, name := range f {
				columns[name] = i
			}
			continue
		}
		number := func(name string) float64 {
			v, err := strconv.ParseFloat(f[columns[name]], 64)
			if err != nil {
				t.Fatalf("%s: %s: %v", f[0], name, err)
			}
			return v
		}
		_, x := verdictOfFile(t, "testdata/"+f[0]+".zst")
		s := x.e.s
		near := func(what string, got, want, tolerance float64) {
			if math.Abs(got-want) > tolerance {
				t.Errorf("%s: %s %g, tshark has %g", f[0], what, got, want)
			}
		}
		median := number("ts_rtt_med_ms")
		if !has(medianDiffers, f[0]) {
			near("median RTT in ms", s.loop.down.median()/1e6, median, 0.03*median+0.002)
		}
		least := number("ts_rtt_min_ms")
		near("least RTT in ms", float64(s.loop.downMin)/1e6, least, 0.01*least+0.001)
		near("greatest window", float64(s.winMax), number("ts_rwnd_max"), 0)
		near("acknowledgements without window", float64(s.zeroACKs), number("ts_zerowin"), 0)
		shift, known := x.e.c.flow.scale(1 - x.e.side)
		scale := float64(int(1) << shift)
		if want := number("ts_scale"); want == -2 { // not used
			near("window scale", scale, 1, 0)
		} else {
			near("window scale", scale, want, 0)
		}
		if !known {
			t.Errorf("%s: scale unknown", f[0])
		}
	}
}

func has(prefixes []string, name string) bool {
	for _, p := range prefixes {
		if strings.HasPrefix(name, p) {
			return true
		}
	}
	return false
}
