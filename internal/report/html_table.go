package report

import "github.com/linerate/linerate/result"

// htmlTable is a grid in the shape that the page iterates over.
type htmlTable struct {
	Head   string
	Groups []htmlGroup // none where no column has one
	Heads  []htmlCell
	Rows   []htmlRow
}

type htmlGroup struct {
	Name string
	Span int
}

type htmlRow struct {
	Name, Note string
	Cells      []htmlCell
}

type htmlCell struct {
	Text string
	Left bool
}

func newHTMLTable(m matrix, figures []figureKey, findings []result.Finding) htmlTable {
	g := m.grid(figures, findings)
	t := htmlTable{Head: g.names.head}
	grouped := false
	for i, c := range g.cols {
		grouped = grouped || c.group != ""
		t.Heads = append(t.Heads, htmlCell{c.head, c.left})
		if i > 0 && c.group == g.cols[i-1].group {
			t.Groups[len(t.Groups)-1].Span++
		} else {
			t.Groups = append(t.Groups, htmlGroup{c.group, 1})
		}
	}
	if !grouped {
		t.Groups = nil
	}
	for i, name := range g.names.cells {
		row := htmlRow{Name: name, Note: m.rows[i].note}
		for _, c := range g.cols {
			row.Cells = append(row.Cells, htmlCell{c.cells[i], c.left})
		}
		t.Rows = append(t.Rows, row)
	}
	return t
}
