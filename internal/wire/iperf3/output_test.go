package iperf3

import (
	"errors"
	"math"
	"os"
	"path/filepath"
	"testing"

	"github.com/linerate/linerate/result"
)

// What iperf3 itself printed becomes a Result with the receiver's goodput.
func TestImport(t *testing.T) {
	for _, c := range []struct {
		file, kind, direction string
		goodput               []result.Value
		lost                  float64
		readings              int
	}{
		{"tcp-3.12.json", "tcp_stream", "tx", []result.Value{result.Goodput.Of(13803943550.320446, "direction", "tx")}, -1, 2},
		{"udp-3.12.json", "udp_stream", "tx", []result.Value{result.Goodput.Of(19334960.8049493, "direction", "tx")}, 6, 1},
		{"bidir-3.12.json", "tcp_stream", "both", []result.Value{result.Goodput.Of(9034825536.444674, "direction", "tx"), result.Goodput.Of(6542100823.496818, "direction", "rx")}, -1, 1},
		{"stream-3.21.jsonl", "tcp_stream", "tx", nil, -1, 1},
	} {
		b, err := os.ReadFile(filepath.Join("testdata", c.file))
		if err != nil {
			t.Fatal(err)
		}
		o, err := ParseOutput(b)
		if err != nil {
			t.Fatalf("%s: %v", c.file, err)
		}
		r := o.Result()
		if r.Origin != result.Imported || r.Workload.Kind != c.kind || r.Workload.Params["direction"] != c.direction || len(r.Readings) != c.readings || r.Duration <= 0 {
			t.Errorf("%s: %+v, %d readings, %v", c.file, r.Workload, len(r.Readings), r.Duration)
		}
		if _, ok := result.Get(r.Totals, result.Goodput); !ok {
			t.Errorf("%s: no goodput", c.file)
		}
		for _, want := range c.goodput {
			if got, ok := result.Get(r.Totals, result.Goodput, "direction", want.Labels["direction"]); !ok || got != want.V {
				t.Errorf("%s: goodput %s %v, want %v", c.file, want.Labels["direction"], got, want.V)
			}
		}
		lost, ok := result.Get(r.Totals, result.DatagramsLost)
		if c.lost >= 0 && (lost != c.lost || !ok) || c.lost < 0 && ok {
			t.Errorf("%s: lost %v %v", c.file, lost, ok)
		}
		last := r.Readings[len(r.Readings)-1]
		if n, ok := result.Sum(last.Values, result.Bytes); !ok || n <= 0 || last.At <= 0 {
			t.Errorf("%s: last reading %+v", c.file, last)
		}
	}
}

// Releases have printed a loss of 179 % with --omit (esnet/iperf #1489).
func TestImportLossStaysWithinOne(t *testing.T) {
	o, err := ParseOutput([]byte(`{"start":{"test_start":{"protocol":"UDP"}},"end":{"sum":{"end":1,"packets":100,"lost_packets":179,"lost_percent":179}}}`))
	if err != nil {
		t.Fatal(err)
	}
	r := o.Result()
	if got, ok := result.Get(r.Totals, result.LossRatio); !ok || got != 1 {
		t.Errorf("loss %v", got)
	}
}

func TestImportOfAFailedTest(t *testing.T) {
	o, err := ParseOutput([]byte(`{"start":{},"intervals":[],"end":{},"error":"unable to connect"}`))
	if err != nil {
		t.Fatal(err)
	}
	r := o.Result()
	if r.Ending != result.Failed || r.Error != "unable to connect" || len(r.Gaps) != 1 {
		t.Errorf("%+v", r)
	}
}

func FuzzOutput(f *testing.F) {
	for _, name := range []string{"tcp-3.12.json", "udp-3.12.json", "stream-3.21.jsonl"} {
		b, err := os.ReadFile(filepath.Join("testdata", name))
		if err != nil {
			f.Fatal(err)
		}
		f.Add(b)
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		o, err := ParseOutput(b)
		if err != nil {
			if !errors.Is(err, ErrOutput) {
				t.Errorf("%v", err)
			}
			return
		}
		if v, ok := result.Get(o.Result().Totals, result.LossRatio); ok && (v < 0 || v > 1 || math.IsNaN(v)) {
			t.Errorf("loss %v", v)
		}
	})
}
