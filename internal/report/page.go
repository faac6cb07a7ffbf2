package report

import (
	"maps"
	"slices"
	"strconv"

	g "maragu.dev/gomponents"
	h "maragu.dev/gomponents/html"

	"github.com/linerate/linerate/internal/report/plot"
	"github.com/linerate/linerate/result"
)

// node is the page as a document. Nothing of the Result is Raw: gomponents
// escapes text and attributes, and the page has no other place for strings.
func (p page) node() g.Node {
	return h.Doctype(h.HTML(h.Lang("en"),
		h.Head(h.Meta(h.Charset("utf-8")), h.Meta(h.Name("viewport"), h.Content("width=device-width, initial-scale=1")),
			h.Meta(h.Name("color-scheme"), h.Content("light dark")), h.Meta(h.Name("generator"), h.Content("linerate")),
			h.TitleEl(g.Text(p.Title+" · linerate")), h.StyleEl(g.Raw(plot.Style()), g.Raw(pageStyle))),
		h.Body(
			h.Header(h.H1(g.Text(p.Title)), h.P(h.Class("dim"), g.Text(p.Headline)), some(p.R.Error, func(s string) g.Node { return h.P(h.Class("bad"), g.Text(s)) }),
				some(p.Compliance, func(s string) g.Node { return h.P(g.Text("RFC 2544: "), h.B(g.Text(s))) }),
				folded("Deviations from RFC 2544", false, len(p.Deviations), func() g.Node {
					return h.Ul(g.Map(p.Deviations, func(d string) g.Node { return h.Li(g.Text(d)) }))
				})),
			h.Main(p.totals(), g.Map(p.Parts, partPage.node), g.Map(p.Findings, findingPart.node), p.series(),
				changes(p.R.Changes), gaps(p.R.Gaps), setUp(p.R)),
			g.If(len(p.Series) > 0, h.Script(g.Raw("\n"+plot.Script()+"\n"))),
		)))
}

// some shows a string that is not empty.
func some(s string, show func(string) g.Node) g.Node {
	if s == "" {
		return nil
	}
	return show(s)
}

// folded shows n things below a line that folds them away.
func folded(summary string, open bool, n int, show func() g.Node) g.Node {
	if n == 0 {
		return nil
	}
	return h.Details(g.If(open, g.Attr("open")), h.Summary(g.Text(summary)), show())
}

func facts(rows ...g.Node) g.Node { return h.Table(h.Class("facts"), g.Group(rows)) }

func row(head, body g.Node) g.Node { return h.Tr(h.Th(g.Attr("scope", "row"), head), h.Td(body)) }

func (p page) totals() g.Node {
	return g.Group{
		g.If(len(p.Tiles) > 0, h.Div(h.Class("tiles"), g.Map(p.Tiles, func(t tile) g.Node {
			return h.Div(h.Class("tile"), h.Span(g.Text(t.Name)), h.B(g.Text(t.Figure)), some(t.Second, func(s string) g.Node { return h.Span(g.Text(s)) }))
		}))),
		folded("All other totals", false, len(p.Totals), func() g.Node {
			return facts(g.Map(p.Totals, func(t tile) g.Node {
				return row(g.Text(t.Name), g.Group{g.Text(t.Figure), some(t.Second, func(s string) g.Node { return g.Text(" (" + s + ")") })})
			}))
		}),
	}
}

func (q figurePlot) full() g.Node {
	return h.Figure(h.FigCaption(g.Text(q.Title)), h.Div(h.Class("wide"), g.Raw(q.Wide)), h.Div(h.Class("narrow"), g.Raw(q.Narrow)))
}

func (q figurePlot) small() g.Node { return h.Figure(h.FigCaption(g.Text(q.Title)), g.Raw(q.Small)) }

func (p partPage) node() g.Node {
	var first g.Node
	if p.First != nil {
		first = p.First.full()
	}
	return h.Section(h.H2(g.Text(p.Title)), first, h.P(h.Class("dim"), g.Text(p.Caption)), p.Tables[0].node(),
		folded(p.NotesTitle, true, len(p.Notes), func() g.Node {
			return facts(g.Map(p.Notes, func(d detail) g.Node { return row(g.Text(d.Label), g.Text(d.Body)) }))
		}),
		h.Div(h.Class("pair"), g.Map(p.Others, figurePlot.small)),
		folded("All other figures", false, len(p.Tables)-1, func() g.Node {
			return g.Group{p.Tables[1].node(), h.Div(h.Class("pair"), g.Map(p.Folded, figurePlot.small))}
		}))
}

func (t htmlTable) node() g.Node {
	left := func(c htmlCell) g.Node { return g.If(c.Left, h.Class("left")) }
	return h.Div(h.Class("scroll"), h.Table(
		h.THead(
			g.If(len(t.Groups) > 0, h.Tr(h.Th(), g.Map(t.Groups, func(x htmlGroup) g.Node { return h.Th(h.ColSpan(strconv.Itoa(x.Span)), g.Text(x.Name)) }))),
			h.Tr(h.Th(h.Class("left"), g.Text(t.Head)), g.Map(t.Heads, func(c htmlCell) g.Node { return h.Th(left(c), g.Text(c.Text)) }))),
		h.TBody(g.Map(t.Rows, func(r htmlRow) g.Node {
			return h.Tr(h.Th(g.Attr("scope", "row"), some(r.Note, h.Title), g.Text(r.Name)),
				g.Map(r.Cells, func(c htmlCell) g.Node { return h.Td(left(c), g.Text(c.Text)) }))
		}))))
}

func (p findingPart) node() g.Node {
	return h.Section(h.H2(g.Text(p.Title)), g.Map(p.List, func(v findingView) g.Node {
		return h.Article(h.Class(v.Class), h.H3(h.Code(g.Text(v.Rule))), g.Map(v.Seen, seenView.node), definitions(v.Details))
	}))
}

func (s seenView) node() g.Node {
	return g.Group{
		h.P(some(s.F.Trial, func(t string) g.Node { return g.Group{h.B(g.Text(t)), g.Text(" ")} }), g.Text(s.F.Text),
			some(s.Confidence, func(c string) g.Node {
				return g.Group{g.Text(" "), h.Span(h.Class("dim"), g.Text("confidence "+c))}
			})),
		definitions(s.Grounds),
	}
}

func definitions(ds []detail) g.Node {
	return g.If(len(ds) > 0, h.Dl(g.Map(ds, func(d detail) g.Node { return g.Group{h.Dt(g.Text(d.Label)), h.Dd(g.Text(d.Body))} })))
}

func (p page) series() g.Node {
	return g.If(len(p.Series) > 0, h.Section(h.H2(g.Text("Over time")),
		h.P(h.Class("dim"), g.Text("Drag over a plot to zoom in, double-click to see all of it.")), g.Map(p.Series, figurePlot.full)))
}

func changes(cs []result.Change) g.Node {
	return g.If(len(cs) > 0, h.Section(h.H2(g.Text("Changed")), h.Div(h.Class("scroll"), facts(
		h.THead(h.Tr(g.Map([]string{"lever", "before", "after", "at", "why"}, func(s string) g.Node { return h.Th(g.Text(s)) }))),
		g.Map(cs, func(c result.Change) g.Node {
			return h.Tr(h.Td(h.Code(g.Text(c.Lever))), h.Td(g.Text(c.Before)), h.Td(g.Text(c.After), g.If(c.Back, g.Text(" (put back)"))),
				h.Td(g.Text(c.End)), h.Td(g.Text(c.Why)))
		})))))
}

func gaps(gs []result.Gap) g.Node {
	return g.If(len(gs) > 0, h.Section(h.H2(g.Text("Not read")), facts(g.Map(gs, func(x result.Gap) g.Node { return row(g.Text(x.Source), g.Text(x.Reason)) }))))
}

func setUp(r *result.Result) g.Node {
	pairs := func(m map[string]string, head func(...g.Node) g.Node) g.Node {
		return g.Map(slices.Sorted(maps.Keys(m)), func(k string) g.Node { return row(head(g.Text(k)), g.Text(m[k])) })
	}
	plain := func(n ...g.Node) g.Node { return g.Group(n) }
	return h.Section(h.H2(g.Text("Set-up")),
		g.Map(r.Ends, func(e result.End) g.Node {
			return g.Group{h.H3(g.Text(e.Role+" "), h.Span(h.Class("dim"), g.Text(e.Host))), facts(pairs(e.Facts, plain), pairs(e.Settings, h.Code))}
		}),
		h.H3(g.Text("workload "), h.Span(h.Class("dim"), g.Text(r.Workload.Kind))), facts(pairs(r.Workload.Params, plain)))
}
