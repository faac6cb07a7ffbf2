package main

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/linerate/linerate/internal/workload/generator"
	"github.com/linerate/linerate/result"
)

// The compliance line says unconditionally where nothing is left out, and names
// what is.
func TestCompliance(t *testing.T) {
	full := func() *rfc2544Options {
		return &rfc2544Options{strict: true, testerOptions: &testerOptions{frameSizes: []int{64, 128, 256, 512, 1024, 1280, 1518}, both: true, hosts: 256, modifier: "broadcast"}}
	}
	for name, c := range map[string]struct {
		edit       func(*rfc2544Options)
		capped     bool
		want, says string
	}{
		"all":            {func(*rfc2544Options) {}, false, "unconditionally compliant", ""},
		"one direction":  {func(o *rfc2544Options) { o.both = false }, false, "conditionally compliant", "section 14"},
		"tester's limit": {func(*rfc2544Options) {}, true, "conditionally compliant", "section 20"},
		"verified loss":  {func(o *rfc2544Options) { o.repeats = 2 }, false, "not compliant", "TST 009"},
		"quick":          {func(o *rfc2544Options) { o.strict, o.duration = false, 2*time.Second }, false, "quick, not compliant", "2s instead of 60 s"},
	} {
		o, res := full(), &result.Result{Workload: result.Workload{Params: map[string]string{}}}
		c.edit(o)
		o.note(res, o.deviations(c.capped))
		o.note(res, o.deviations(c.capped)) // the next frame size
		p := res.Workload.Params
		if p["compliance"] != c.want || !strings.Contains(p["deviations"], c.says) || c.says != "" && strings.Count(p["deviations"], c.says) != 1 {
			t.Errorf("%s: %q, %q", name, p["compliance"], p["deviations"])
		}
	}
}

// A preset fills in what the user did not say.
func TestPresets(t *testing.T) {
	for _, c := range []struct {
		args        []string
		sizes, line string
	}{
		{[]string{"--preset", "p1020"}, "1500", "1Gbit"},
		{[]string{"--preset", "p1020", "--size", "64", "--line", "100Mbit"}, "64", "100Mbit"},
	} {
		cmd := newGenerate(cli{strings.NewReader(""), &bytes.Buffer{}, &bytes.Buffer{}})
		o := &testerOptions{}
		if err := cmd.ParseFlags(c.args); err != nil {
			t.Fatal(err)
		}
		o.preset = "p1020"
		if err := o.usePreset(cmd); err != nil {
			t.Fatal(err)
		}
		for flag, want := range map[string]string{"size": c.sizes, "flows": "1024", "line": c.line} {
			if got := cmd.Flag(flag).Value.String(); got != want {
				t.Errorf("%v: --%s %s, want %s", c.args, flag, got, want)
			}
		}
	}
	o := &mlrOptions{testerOptions: &testerOptions{}, goals: "ndr-pdr"}
	if gs, err := o.list(); err != nil || len(gs) != 2 || gs[1].LossRatio != 0.005 {
		t.Errorf("ndr-pdr: %+v, %v", gs, err)
	}
	o.goals = "rfc2544"
	if gs, err := o.list(); err != nil || len(gs) != 1 || gs[0].Final != time.Minute || gs[0].ExceedRatio != 0 {
		t.Errorf("rfc2544: %+v, %v", gs, err)
	}
}

// The tester's own latency comes out of an earlier result, by frame size.
func TestBaseline(t *testing.T) {
	file := filepath.Join(t.TempDir(), "cable.json")
	var b bytes.Buffer
	r := &result.Result{ID: "x", Origin: result.Measured, Ending: result.Completed, Trials: []result.Trial{
		{Name: "latency", Params: map[string]string{"size": "64"}, Values: []result.Value{result.FrameLatency.Of(1.5e-6, "quantile", "0.5")}}}}
	if err := result.Encode(&b, r); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(file, b.Bytes(), 0o644); err != nil {
		t.Fatal(err)
	}
	o := &rfc2544Options{baseline: file}
	base, err := o.readBaseline(cli{})
	if err != nil || base["64"] != 1500*time.Nanosecond {
		t.Errorf("%v, %v", base, err)
	}
	got := latencyValues(received(2000, 8000), base["64"])
	if p50, _ := result.Get(got, result.FrameLatency, "quantile", "0.5"); p50 < 0.4e-6 || p50 > 0.7e-6 {
		t.Errorf("2 µs less 1.5 µs is %v s", p50)
	}
}

// received has latencies of so many ns.
func received(ns ...uint64) (r generator.Received) {
	for _, v := range append(ns, ns[0]) {
		r.Latency.Add(v)
	}
	return r
}
