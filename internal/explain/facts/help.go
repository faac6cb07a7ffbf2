package facts

import (
	"fmt"
	"io"
	"strings"
)

// Markdown writes the table of facts, for the guide and for --facts-help.
func Markdown(w io.Writer) error {
	var b strings.Builder
	b.WriteString("| fact | value | what it tells |\n| --- | --- | --- |\n")
	for _, f := range Table() {
		kind := string(f.Kind)
		if len(f.Values) > 0 {
			kind += " " + strings.Join(f.Values, ", ")
		}
		fmt.Fprintf(&b, "| `%s` | %s | %s |\n", f.Key, kind, f.Help)
	}
	_, err := io.WriteString(w, b.String())
	return err
}

// Help writes the facts for a terminal.
func Help(w io.Writer) error {
	var b strings.Builder
	part := ""
	for _, f := range Table() {
		if p, _, dotted := strings.Cut(f.Key, "."); dotted && p != part {
			part = p
			b.WriteString("\n")
		}
		fmt.Fprintf(&b, "%-28s %-9s  %s\n", f.Key, f.Kind, f.Help)
		if len(f.Values) > 0 {
			fmt.Fprintf(&b, "%-39s %s\n", "", strings.Join(f.Values, ", "))
		}
	}
	_, err := io.WriteString(w, b.String())
	return err
}
