package report

import (
	"bytes"
	"strings"
	"testing"
	"time"

	"golang.org/x/net/html"

	"github.com/linerate/linerate/internal/report/plot"
	"github.com/linerate/linerate/result"
)

// elements parses a page as a browser does and visits its elements.
func elements(t *testing.T, page string, visit func(n *html.Node, text string)) {
	t.Helper()
	doc, err := html.Parse(strings.NewReader(page))
	if err != nil {
		t.Fatal(err)
	}
	for n := range doc.Descendants() {
		if n.Type != html.ElementNode {
			continue
		}
		var text strings.Builder
		for d := range n.Descendants() {
			if d.Type == html.TextNode {
				text.WriteString(d.Data)
			}
		}
		visit(n, text.String())
	}
}

// TestHTMLEscapes: no string of a Result becomes markup, an attribute or
// script.
func TestHTMLEscapes(t *testing.T) {
	scripts := 0
	elements(t, render(t, HTML, hostile()), func(n *html.Node, text string) {
		switch n.Data {
		case "img", "iframe", "object", "embed", "link":
			t.Errorf("<%s> in the page", n.Data)
		case "script":
			scripts++
			if strings.Contains(text, "alert") {
				t.Error("a string of the result stands in the script")
			}
		}
		for _, a := range n.Attr {
			if strings.HasPrefix(a.Key, "on") || a.Key == "src" || a.Key == "style" {
				t.Errorf("<%s %s=%q>", n.Data, a.Key, a.Val)
			}
		}
	})
	if scripts > 1 {
		t.Errorf("%d scripts, want only our own", scripts)
	}
}

// TestHTMLStandsAlone: the page fetches nothing, and its figures are there
// without the script.
func TestHTMLStandsAlone(t *testing.T) {
	for _, name := range []string{"ladder", "stream", "sweep"} {
		page := render(t, HTML, sample(t, name))
		svgs, ids := 0, map[string]bool{}
		elements(t, page, func(n *html.Node, _ string) {
			if n.Data == "svg" {
				svgs++
			}
			for _, a := range n.Attr {
				if a.Key == "href" || a.Key == "src" {
					t.Errorf("%s: <%s %s=%q> points elsewhere", name, n.Data, a.Key, a.Val)
				}
				if a.Key == "id" {
					if ids[a.Val] {
						t.Errorf("%s: id %q twice", name, a.Val)
					}
					ids[a.Val] = true
				}
			}
		})
		if svgs < 2 {
			t.Errorf("%s: %d plots", name, svgs)
		}
		if strings.Contains(page, "@import") || strings.Contains(page, "url(http") {
			t.Errorf("%s: the style sheet fetches something", name)
		}
	}
}

func TestHTMLShowsWhatTextShows(t *testing.T) {
	page := render(t, HTML, sample(t, "ladder"))
	text := ""
	elements(t, page, func(n *html.Node, s string) {
		if n.Data == "main" {
			text = s
		}
	})
	for _, want := range []string{
		"941.3 Mbit/s", "117.7 MB/s", "65,536-byte buffers", "app.small-sends", "The window holds less",
		"confidence 95 %", "64 KiB of memory per connection", "operation not supported by veth", "put back", "line limit",
		"segmentation offload put: 941.0 Mbit/s (117.6 MB/s), median of 5",
	} {
		if !strings.Contains(text, want) {
			t.Errorf("the page lacks %q", want)
		}
	}
}

// TestHTMLWith shows the plots of a capture: a time-sequence graph, and window
// against bytes in flight from readings.
func TestHTMLWith(t *testing.T) {
	r := &result.Result{Workload: result.Workload{Kind: "capture"}}
	seq := plot.Plot{Title: "sequence numbers", X: plot.Axis{Label: "time", Unit: "s"}, Y: plot.Axis{Unit: "B"}, Zoom: true,
		Series: []plot.Series{{Name: "segments", Mark: plot.Dots}, {Name: "acknowledged", Mark: plot.Step}, {Name: "window", Mark: plot.Step}}}
	for i := range 1000 {
		at, sent := float64(i)*0.0006, float64(i)*2920
		r.Readings = append(r.Readings, result.Reading{At: time.Duration(at * 1e9), Values: []result.Value{
			result.TCPWindow.Of(65535, "flow", "1"), result.TCPInFlight.Of(float64(i%40)*1460, "flow", "1"), result.TCPRTT.Of(0.0006, "flow", "1"),
		}})
		for j, y := range []float64{sent, sent - 2920, sent + 62615} {
			seq.Series[j].Points = append(seq.Series[j].Points, plot.Point{X: at, Y: y})
		}
	}
	var b bytes.Buffer
	if err := HTMLWith(&b, r, seq); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"sequence numbers", "acknowledged", "window and flight", "in flight 1", "window 1", "data-zoom"} {
		if !strings.Contains(b.String(), want) {
			t.Errorf("the page lacks %q", want)
		}
	}
	if b.Len() > 400_000 {
		t.Errorf("%d bytes for a thousand segments", b.Len())
	}
}

// TestManyFigures: what is not telling is folded away, not lost.
func TestManyFigures(t *testing.T) {
	trial := result.Trial{Name: "one", Params: map[string]string{}}
	for _, m := range result.Metrics() {
		if m.Kind == result.Gauge {
			trial.Values = append(trial.Values, m.Of(1))
		}
	}
	r := &result.Result{Trials: []result.Trial{trial}}
	page, text := render(t, HTML, r), render(t, Text, r)
	for _, v := range trial.Values {
		if v.Metric != result.LineLimit.Name && !strings.Contains(page, ">"+html.EscapeString(heading(v.Metric))) {
			t.Errorf("the page lacks %s", v.Metric)
		}
	}
	if !strings.Contains(text, "more in HTML, CSV and JSON") {
		t.Errorf("the text does not say that it leaves figures out:\n%s", text)
	}
}
