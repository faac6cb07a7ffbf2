package report

import (
	"bytes"
	"strings"
	"testing"

	"github.com/linerate/linerate/result"
)

// benchmarked is what a run of RFC 2544 makes.
func benchmarked() *result.Result {
	r := &result.Result{ID: "x", Workload: result.Workload{Kind: "rfc2544.all", Params: map[string]string{
		"compliance": "quick, not compliant", "deviations": "trials of 2s instead of 60 s (section 24); one direction only (section 14)", "flows": "1"}}}
	add := func(test, size string, params map[string]string, vs ...result.Value) {
		p := map[string]string{"test": test, "size": size}
		for k, v := range params {
			p[k] = v
		}
		r.Trials = append(r.Trials, result.Trial{Name: test, Params: p, Values: vs, Pass: true})
	}
	for size, rate := range map[string]float64{"64": 700e3, "512": 200e3, "1518": 81274} {
		add("throughput", size, nil, result.ThroughputRate.Of(rate), result.FrameLimit.Of(1.1*rate))
		add("latency", size, nil, result.FrameLatency.Of(1e-5, "quantile", "0.5"), result.FrameLatency.Of(2e-5, "quantile", "0.99"))
		add("loss", size, map[string]string{"load %": "100.0"}, result.FrameLossRatio.Of(0.1), result.IntendedLoad.Of(1.1*rate))
		add("loss", size, map[string]string{"load %": "90.0"}, result.FrameLossRatio.Of(0), result.IntendedLoad.Of(rate))
		add("b2b", size, nil, result.ImpliedBuffer.Of(0.02), result.BufferSeconds.Of(0.005))
	}
	return r
}

// Each benchmark has a table and the plot that RFC 2544 asks for.
func TestBenchmarksHaveTheirOwnParts(t *testing.T) {
	ps := parts(benchmarked().Trials)
	if len(ps) != 4 {
		t.Fatalf("%d parts, want one for each benchmark", len(ps))
	}
	series := map[string]int{}
	for _, p := range ps {
		telling, _ := p.figures()
		plots := p.plots(telling)
		if len(plots) == 0 {
			t.Fatalf("%s: no plot", p.title)
		}
		series[p.title] = len(plots[0].Series)
		if strings.HasPrefix(p.title, "Frame loss") && (plots[0].X.Most != 100 || plots[0].Y.Most != 100 || plots[0].Series[0].Points[1].Y != 10 || len(plots) != 1) {
			t.Errorf("loss over load: %+v", plots)
		}
	}
	// The rate and the theoretical line; two quantiles; a curve each size; two buffer times.
	for title, want := range map[string]int{"Throughput": 2, "Latency": 2, "Frame loss": 3, "Back-to-back": 2} {
		for name, n := range series {
			if strings.HasPrefix(name, title) && n != want {
				t.Errorf("%s: %d curves, want %d", name, n, want)
			}
		}
	}
}

// What is not as the RFC has it stands at the top.
func TestDeviationsStandAtTheTop(t *testing.T) {
	var text, page bytes.Buffer
	if err := Text(&text, benchmarked()); err != nil {
		t.Fatal(err)
	}
	if err := HTML(&page, benchmarked()); err != nil {
		t.Fatal(err)
	}
	for name, s := range map[string]string{"text": text.String(), "page": page.String()} {
		head, rest, _ := strings.Cut(s, "26.1")
		if !strings.Contains(head, "quick, not compliant") || !strings.Contains(head, "one direction only") || !strings.Contains(rest, "RFC 9004") {
			t.Errorf("%s:\n%s", name, head)
		}
	}
}
