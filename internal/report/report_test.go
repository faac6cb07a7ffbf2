package report

import (
	"bytes"
	"encoding/csv"
	"flag"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/linerate/linerate/result"
)

var update = flag.Bool("update", false, "rewrite the golden files")

// sample reads one of the documents that package result guards.
func sample(t *testing.T, name string) *result.Result {
	t.Helper()
	f, err := os.Open(filepath.Join("..", "..", "result", "testdata", name+".json"))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	r, err := result.Decode(f)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func render(t *testing.T, show func(io.Writer, *result.Result) error, r *result.Result) string {
	t.Helper()
	var b bytes.Buffer
	if err := show(&b, r); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

// golden compares got with a file that a person has looked at.
func golden(t *testing.T, name, got string) {
	t.Helper()
	file := filepath.Join("testdata", name)
	if *update {
		if err := os.WriteFile(file, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if got != string(want) {
		t.Errorf("differs from %s; if that is meant, run go test -update and read the file:\n%s", file, got)
	}
}

func TestText(t *testing.T) {
	for _, name := range []string{"ladder", "stream", "sweep"} {
		got := render(t, Text, sample(t, name))
		golden(t, name+".txt", got)
		for line := range strings.Lines(got) {
			if n := utf8.RuneCountInString(strings.TrimSuffix(line, "\n")); n > width {
				t.Errorf("%s: %d columns, want at most %d: %s", name, n, width, line)
			}
			if strings.HasSuffix(line, " \n") {
				t.Errorf("%s: space at the end of %q", name, line)
			}
		}
	}
}

// hostile has in every string what would break out of each format.
func hostile() *result.Result {
	const s = "</script></title><img src=x onerror=alert(1)>\"'`{{.}}\x1b[2J\u202eevil\r\n,=1+1|\xff"
	v := []result.Value{{Metric: s, Unit: s, Labels: map[string]string{s: s}, V: 1}, result.Goodput.Of(1e6, s, s)}
	p := map[string]string{s: s}
	return &result.Result{
		ID: s, Origin: result.Origin(s), Ending: result.Ending(s), Error: s, Start: time.Unix(0, 0),
		Workload: result.Workload{Kind: s, Params: p},
		Ends:     []result.End{{Role: s, Host: s, Facts: p, Settings: p}},
		Totals:   v,
		Readings: []result.Reading{
			{End: s, Values: []result.Value{result.Bytes.Of(0, "direction", s)}},
			{At: time.Second, End: s, Values: []result.Value{result.Bytes.Of(5, "direction", s)}},
		},
		Trials: []result.Trial{
			{Name: s, Note: s, Params: map[string]string{s: s, "step": s}, Values: v},
			{Name: s + "2", Note: s, Params: map[string]string{s: s + "2", "step": "2"}, Values: v},
		},
		Gaps: []result.Gap{{Source: s, Reason: s}},
		Findings: []result.Finding{{Rule: s, Trial: s, Verdict: result.Limits, Text: s, Evidence: v, Against: []string{s}, Next: s, Gain: s,
			Trade: s, Ref: s, Filter: s, Levers: []result.Advice{{Lever: s, Value: s, End: s}}}},
		Changes: []result.Change{{Lever: s, Before: s, After: s, Why: s, End: s}},
	}
}

func TestTextKeepsTheTerminal(t *testing.T) {
	for _, bad := range []string{"\x1b", "\u202e", "\r", "\x00"} {
		if got := render(t, Text, hostile()); strings.Contains(got, bad) {
			t.Errorf("%q reaches the terminal:\n%s", bad, got)
		}
	}
}

// TestEmptyResult: a run that failed at once still gets every report.
func TestEmptyResult(t *testing.T) {
	for name, show := range map[string]func(io.Writer, *result.Result) error{"text": Text, "csv": CSV, "html": HTML, "prometheus": Prometheus} {
		if got := render(t, show, &result.Result{}); strings.Contains(got, "NaN") {
			t.Errorf("%s: %s", name, got)
		}
	}
}

func TestCSVIsTidy(t *testing.T) {
	r := sample(t, "ladder")
	rows, err := csv.NewReader(strings.NewReader(render(t, CSV, r))).ReadAll()
	if err != nil {
		t.Fatal(err)
	}
	n := 0
	eachValue(r, func(observation, result.Value) { n++ })
	if len(rows) != n+1 {
		t.Errorf("%d lines for %d values and a head", len(rows), n)
	}
	col := func(name string) int {
		i := slices.Index(rows[0], name)
		if i < 0 {
			t.Fatalf("no column %s in %q", name, rows[0])
		}
		return i
	}
	i := slices.IndexFunc(rows, func(row []string) bool { return row[col("section")] == "trial" })
	for name, want := range map[string]string{
		"id": r.ID, "trial": "as shipped", "metric": result.Goodput.Name, "unit": "bit/s", "param.step": "0",
		"param.direction": "get", "param.repeat": "1", "pass": "true", "duration_s": "0.8", "at_s": "0", "label.cpu": "",
	} {
		if got := rows[i][col(name)]; got != want {
			t.Errorf("%s: %q, want %q", name, got, want)
		}
	}
	if _, err := csv.NewReader(strings.NewReader(render(t, CSV, hostile()))).ReadAll(); err != nil {
		t.Errorf("hostile strings break the lines: %v", err)
	}
}

func TestSeriesFromCounters(t *testing.T) {
	at := func(s float64, end string, v ...result.Value) result.Reading {
		return result.Reading{At: time.Duration(s * float64(time.Second)), End: end, Values: v}
	}
	readings := []result.Reading{
		at(0, "a", result.Bytes.Of(0, "direction", "get", "stream", "1"), result.Bytes.Of(0, "direction", "get", "stream", "2")),
		at(0.1, "b", result.Bytes.Of(1000)),
		at(0.5, "a", result.Bytes.Of(100, "direction", "get", "stream", "1"), result.Bytes.Of(25, "direction", "get", "stream", "2")),
		at(1.1, "b", result.Bytes.Of(1500)),
		at(1.5, "a", result.Bytes.Of(100, "direction", "get", "stream", "1"), result.Bytes.Of(75, "direction", "get", "stream", "2")),
	}
	cs := views()[0].curves(readings)
	if len(cs) != 2 || cs[0].name != "a get" || cs[1].name != "b" {
		t.Fatalf("curves %+v", cs)
	}
	// bit/s of both streams: 125 B in 0.5 s, then 50 B in 1 s.
	if !slices.Equal(cs[0].v, []float64{2000, 400}) || !slices.Equal(cs[1].v, []float64{4000}) {
		t.Errorf("rates %v and %v", cs[0].v, cs[1].v)
	}
}

func TestMatrix(t *testing.T) {
	m := newMatrix(sample(t, "sweep").Trials)
	if m.head != "message_bytes" || !m.numeric || len(m.rows) != 7 || !slices.Equal(m.variants, []string{"tx none", "rx bifurcated", "rx full"}) {
		t.Errorf("sweep: head %q, %d rows, variants %q", m.head, len(m.rows), m.variants)
	}
	m = newMatrix(sample(t, "ladder").Trials)
	if m.head != "step" || m.numeric || len(m.rows) != 6 || !slices.Equal(m.variants, []string{"get", "put"}) || m.repeats != 5 {
		t.Errorf("ladder: head %q, %d rows, variants %q, %d repeats", m.head, len(m.rows), m.variants, m.repeats)
	}
	// A search at each frame size tries loads of its own: no table has room for
	// that, a list has.
	var search, loss []result.Trial
	for i, size := range []string{"64", "512", "1518"} {
		for j := range 5 {
			search = append(search, result.Trial{Params: map[string]string{"frame_bytes": size, "load": fmt.Sprint(100*i + j)}})
			loss = append(loss, result.Trial{Params: map[string]string{"frame_bytes": size, "load": fmt.Sprint(10 * j)}})
		}
	}
	if m = newMatrix(search); len(m.rows) != 15 || m.numeric || m.rows[14].name != "frame_bytes=1518 load=204" {
		t.Errorf("search: %d rows, the last %q", len(m.rows), m.rows[len(m.rows)-1].name)
	}
	if m = newMatrix(loss); m.head != "load" || !m.numeric || len(m.rows) != 5 || !slices.Equal(m.variants, []string{"frame_bytes=64", "frame_bytes=512", "frame_bytes=1518"}) {
		t.Errorf("loss: head %q, %d rows, variants %q", m.head, len(m.rows), m.variants)
	}
	m = newMatrix([]result.Trial{{Name: "only"}})
	if len(m.rows) != 1 || len(m.variants) != 1 {
		t.Errorf("one trial: %+v", m)
	}
}

func TestFigure(t *testing.T) {
	for _, c := range []struct {
		v    result.Value
		want string
	}{
		{result.Goodput.Of(941.48e6), "941.5 Mbit/s (117.7 MB/s)"},
		{result.Goodput.Of(52.1344e9), "52,134 Mbit/s (6,517 MB/s)"},
		{result.Goodput.Of(9600), "9.60 kbit/s (1.20 kB/s)"},
		{result.Goodput.Of(0), "0 bit/s (0 B/s)"},
		{result.TCPRTT.Of(0.00064), "640.0 µs"},
		{result.TCPWindow.Of(65535), "65,535 B"},
		{result.Bytes.Of(292e6), "292.0 MB"},
		{result.TCPRetransmits.Of(3), "3 segment"},
		{result.Value{Metric: "x", Unit: "1", V: 0.00012}, "0.00012"},
		{result.Value{Metric: "x", Unit: "s/B", V: 1.5e-9}, "1.50 ns/B"},
	} {
		if got := figure(c.v); got != c.want {
			t.Errorf("%v: %q, want %q", c.v, got, c.want)
		}
	}
}

// TestLabelThatRepeatsAParameter must not split a figure in two.
func TestLabelThatRepeatsAParameter(t *testing.T) {
	var trials []result.Trial
	for _, d := range []string{"tx", "rx"} {
		trials = append(trials, result.Trial{Name: "64 B", Params: map[string]string{"direction": d}, Values: []result.Value{result.Goodput.Of(1e6, "direction", d, "stream", "1")}})
	}
	if got := newMatrix(trials).ranked(); len(got) != 1 || got[0].labels != "stream=1" {
		t.Errorf("figures %+v, want one", got)
	}
}

// TestOneExplanationIsSaidOnce: what three trials share is not printed thrice.
func TestOneExplanationIsSaidOnce(t *testing.T) {
	r := &result.Result{}
	for _, name := range []string{"64 B", "512 B", "1448 B"} {
		r.Findings = append(r.Findings, result.Finding{Rule: "cpu.one-core", Trial: name, Verdict: result.Limits, Text: "a core is full", Trade: "bursts"})
	}
	got := render(t, Text, r)
	if strings.Count(got, "cpu.one-core") != 1 || strings.Count(got, "bursts") != 1 || strings.Count(got, "a core is full") != 3 {
		t.Errorf("got:\n%s", got)
	}
}
