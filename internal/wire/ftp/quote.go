package ftp

import (
	"fmt"
	"strings"
)

// QuotePath puts a path in double quotes, inner ones doubled, as replies 257
// show it (RFC 959 appendix II).
func QuotePath(path string) string {
	return `"` + strings.ReplaceAll(path, `"`, `""`) + `"`
}

// ParseQuoted reads the path at the start of the text of a 257 reply and
// returns what follows it. The error wraps ErrSyntax.
func ParseQuoted(text string) (path, rest string, err error) {
	if !strings.HasPrefix(text, `"`) {
		return "", "", fmt.Errorf("path %.60q: want it in double quotes: %w", text, ErrSyntax)
	}
	var b strings.Builder
	for s := text[1:]; ; {
		head, tail, closed := strings.Cut(s, `"`)
		if !closed {
			return "", "", fmt.Errorf("path %.60q: the closing quote is missing: %w", text, ErrSyntax)
		}
		b.WriteString(head)
		if !strings.HasPrefix(tail, `"`) {
			return b.String(), tail, nil
		}
		b.WriteByte('"')
		s = tail[1:]
	}
}
