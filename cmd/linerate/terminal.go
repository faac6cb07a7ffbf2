package main

import (
	"io"
	"os"

	"golang.org/x/term"
)

// isTerminal reports whether someone looks at w, so that progress is shown.
func isTerminal(w io.Writer) bool {
	f, ok := w.(*os.File)
	return ok && term.IsTerminal(int(f.Fd()))
}
