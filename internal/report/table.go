package report

import (
	"fmt"
	"io"
	"strings"
	"unicode/utf8"
)

// width of the text report, in columns, and what tables are indented by.
const (
	width  = 100
	margin = 2
)

// column of a table: two lines of head and a cell for each row.
type column struct {
	group string // upper head; equal neighbours share it
	head  string // lower head
	cells []string
	left  bool
}

func (c column) width() int {
	w := utf8.RuneCountInString(c.head)
	for _, s := range c.cells {
		w = max(w, utf8.RuneCountInString(s))
	}
	return w
}

// grid is a table whose first column names the rows.
type grid struct {
	names column
	cols  []column
}

// write prints the grid; columns beyond the width follow in a second block
// under the same row names.
func (g grid) write(w io.Writer) error {
	for rest := g.cols; len(rest) > 0; {
		if len(rest) < len(g.cols) {
			if _, err := fmt.Fprintln(w); err != nil {
				return err
			}
		}
		used, n := g.names.width(), 0
		for n < len(rest) {
			torn := n > 0 && rest[n].group != "" && rest[n].group == rest[n-1].group
			if n > 0 && !torn && used+g.groupWidth(rest[n:]) > width-margin {
				break
			}
			used, n = used+2+rest[n].width(), n+1
		}
		if err := g.block(w, rest[:n]); err != nil {
			return err
		}
		rest = rest[n:]
	}
	return nil
}

// groupWidth is the room that the columns of the first one's group take, so
// that a group is not torn apart.
func (g grid) groupWidth(cols []column) int {
	need := 0
	for i, c := range cols {
		if i > 0 && (c.group != cols[0].group || c.group == "") {
			break
		}
		need += 2 + c.width()
	}
	return need
}

func (g grid) block(w io.Writer, cols []column) error {
	name := g.names.width()
	var upper, lower strings.Builder
	pad(&upper, "", name, true)
	pad(&lower, g.names.head, name, true)
	for i := 0; i < len(cols); {
		j, span := i, 0
		for ; j < len(cols) && cols[j].group == cols[i].group; j++ {
			span += 2 + cols[j].width()
		}
		if short := utf8.RuneCountInString(cols[i].group) + 2 - span; short > 0 {
			cols[j-1].head = strings.Repeat(" ", cols[j-1].width()+short-utf8.RuneCountInString(cols[j-1].head)) + cols[j-1].head
			span += short
		}
		upper.WriteString("  ")
		pad(&upper, rule(cols[i].group, span-2), span-2, cols[i].left)
		i = j
	}
	for _, c := range cols {
		lower.WriteString("  ")
		pad(&lower, c.head, c.width(), c.left)
	}
	lines := []string{upper.String(), lower.String()}
	if strings.TrimSpace(lines[0]) == "" {
		lines = lines[1:]
	}
	for r := range g.names.cells {
		var b strings.Builder
		pad(&b, g.names.cells[r], name, true)
		for _, c := range cols {
			b.WriteString("  ")
			pad(&b, c.cells[r], c.width(), c.left)
		}
		lines = append(lines, b.String())
	}
	for _, l := range lines {
		if _, err := fmt.Fprintln(w, strings.TrimRight(strings.Repeat(" ", margin)+l, " ")); err != nil {
			return err
		}
	}
	return nil
}

// rule draws the line that ties the columns of a group together.
func rule(group string, n int) string {
	free := n - utf8.RuneCountInString(group) - 2
	if group == "" || free < 4 {
		return group
	}
	return strings.Repeat("─", free/2) + " " + group + " " + strings.Repeat("─", free-free/2)
}

func pad(b *strings.Builder, s string, n int, left bool) {
	space := strings.Repeat(" ", max(0, n-utf8.RuneCountInString(s)))
	if left {
		b.WriteString(s + space)
	} else {
		b.WriteString(space + s)
	}
}

// wrap breaks text into lines of at most n columns.
func wrap(text string, n int) []string {
	var lines []string
	line := ""
	for _, word := range strings.Fields(text) {
		switch {
		case line == "":
			line = word
		case utf8.RuneCountInString(line)+1+utf8.RuneCountInString(word) <= n:
			line += " " + word
		default:
			lines, line = append(lines, line), word
		}
	}
	return append(lines, line)
}
