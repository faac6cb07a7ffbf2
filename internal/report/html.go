package report

import (
	_ "embed" // the style sheet below
	"fmt"
	"io"
	"strconv"
	"strings"

	"github.com/linerate/linerate/internal/report/plot"
	"github.com/linerate/linerate/result"
)

//go:embed page.css
var pageStyle string

// HTML writes a page that needs nothing else: no file, no network and, for
// everything but zooming, no script. Strings of the Result are text and
// attributes, and escaped as such.
func HTML(w io.Writer, r *result.Result) error { return HTMLWith(w, r) }

// HTMLWith is HTML with plots of what a Result does not hold, such as each
// segment of a capture.
func HTMLWith(w io.Writer, r *result.Result, more ...plot.Plot) error {
	if err := newPage(r, more).node().Render(w); err != nil {
		return fmt.Errorf("report: html: %s: %w", r.ID, err)
	}
	return nil
}

// page is what the page shows.
type page struct {
	R               *result.Result
	Title, Headline string
	Tiles, Totals   []tile // the telling ones; the rest
	Compliance      string
	Deviations      []string
	Parts           []partPage
	Findings        []findingPart
	Series          []figurePlot
}

// partPage shows the trials of a part.
type partPage struct {
	Title          string
	First          *figurePlot // full width
	Others, Folded []figurePlot
	Caption        string
	Tables         []htmlTable // the telling figures; the rest
	Notes          []detail
	NotesTitle     string
}

type tile struct{ Name, Figure, Second string }

// figurePlot is a plot in the sizes that the page chooses from.
type figurePlot struct {
	Title               string
	Wide, Narrow, Small string // SVG
}

type findingPart struct {
	Title string
	List  []findingView
}

type findingView struct {
	Rule, Class string
	Seen        []seenView
	Details     []detail
}

type seenView struct {
	F          result.Finding
	Confidence string
	Grounds    []detail
}

func newPage(r *result.Result, more []plot.Plot) page {
	p := page{
		R: r, Title: r.Workload.Kind, Headline: headline(r),
		Findings: findingParts(r.Findings),
	}
	telling, rest := rankedTotals(r.Totals)
	p.Tiles, p.Totals = tiles(telling), tiles(rest)
	for i, q := range append(readingPlots(r), more...) {
		p.Series = append(p.Series, fullPlot(q, "r"+strconv.Itoa(i)))
	}
	for i, m := range parts(r.Trials) {
		p.Parts = append(p.Parts, newPart(m, r.Findings, strconv.Itoa(i)))
	}
	p.Compliance = r.Workload.Params["compliance"]
	if d := r.Workload.Params["deviations"]; d != "" {
		p.Deviations = strings.Split(d, "; ")
	}
	return p
}

// newPart shows the telling figures in full and folds the rest away; id keeps
// its plots apart from those of other parts.
func newPart(m part, findings []result.Finding, id string) partPage {
	p := partPage{Title: m.title, Notes: m.notes(), NotesTitle: "Notes", Caption: m.caption()}
	telling, rest := m.figures()
	if m.head == stepParam {
		p.NotesTitle = "What each step changed"
	}
	p.Tables = append(p.Tables, newHTMLTable(m.matrix, telling, findings))
	plots := m.plots(telling)
	if len(plots) > 0 {
		f := fullPlot(plots[0], "t"+id)
		p.First, p.Others = &f, smallPlots(plots[1:], "s"+id+"_")
	}
	if len(rest) > 0 {
		p.Tables = append(p.Tables, newHTMLTable(m.matrix, rest, nil))
		p.Folded = smallPlots(m.plots(rest), "f"+id+"_")
	}
	return p
}

// smallPlots draws plots to stand beside each other.
func smallPlots(plots []plot.Plot, id string) []figurePlot {
	var out []figurePlot
	for i, q := range plots {
		out = append(out, figurePlot{Title: q.Title, Small: q.SVG(id+strconv.Itoa(i), 460, 270)})
	}
	return out
}

// fullPlot draws q for a desktop and for a phone.
func fullPlot(q plot.Plot, id string) figurePlot {
	return figurePlot{
		Title: q.Title,
		Wide:  q.SVG(id+"w", 960, 360), Narrow: q.SVG(id+"n", 400, 300),
	}
}

// tiles show totals; a rate in bytes under the one in bits.
func tiles(totals []result.Value) []tile {
	var out []tile
	for _, v := range totals {
		t := tile{Name: qualified(v)}
		t.Figure, t.Second, _ = strings.Cut(figure(v), " (")
		t.Second = strings.TrimSuffix(t.Second, ")")
		out = append(out, t)
	}
	return out
}

func findingParts(fs []result.Finding) []findingPart {
	var out []findingPart
	for _, part := range verdicts() {
		p := findingPart{Title: part.title}
		for _, g := range groups(fs, part.verdict) {
			v := findingView{Rule: ruleName(g.Finding), Class: part.class, Details: details(g.Finding)}
			for _, f := range g.seen {
				v.Seen = append(v.Seen, seenView{f, percent(f.Confidence), grounds(f)})
			}
			p.List = append(p.List, v)
		}
		if len(p.List) > 0 {
			out = append(out, p)
		}
	}
	return out
}

// percent shows a share; none where there is none.
func percent(share float64) string {
	if share <= 0 {
		return ""
	}
	return fmt.Sprintf("%.0f %%", 100*share)
}

// notes says what each step changed.
func (m matrix) notes() []detail {
	var out []detail
	for i, r := range m.rows {
		if r.note != "" {
			out = append(out, detail{fmt.Sprintf("%d %s", i+1, r.name), r.note})
		}
	}
	return out
}

// caption says what the columns and whiskers of the plots are.
func (m matrix) caption() string {
	if m.repeats < 2 {
		return "One trial each."
	}
	s := fmt.Sprintf("Medians of %d trials; whiskers: ", m.repeats)
	if m.repeats < 6 {
		return s + "from least to greatest."
	}
	return s + "interval that holds the true median with 95 % confidence."
}
