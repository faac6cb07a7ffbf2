package ftp

import (
	"fmt"
	"strconv"
	"strings"
)

// Reply is a server's answer (RFC 959 4.2): a code of three digits and one or
// more lines of text.
type Reply struct {
	Code  int
	Lines []string

	open bool // a multi-line reply whose last line has not been read
}

// NewReply makes a reply of one line.
func NewReply(code int, format string, args ...any) Reply {
	text := format
	if len(args) > 0 {
		text = fmt.Sprintf(format, args...)
	}
	return Reply{Code: code, Lines: []string{text}}
}

// Limits of a reply that Add accepts; a longer one is an attack or not FTP.
const (
	MaxReplyLines = 4096
	MaxReplyLine  = 8192
)

// The classes of a reply, its first digit.
func (r Reply) Preliminary() bool  { return r.Code/100 == 1 } // more to come
func (r Reply) Completion() bool   { return r.Code/100 == 2 } // done
func (r Reply) Intermediate() bool { return r.Code/100 == 3 } // send the next command of the sequence
func (r Reply) Transient() bool    { return r.Code/100 == 4 } // try again later
func (r Reply) Permanent() bool    { return r.Code/100 == 5 } // do not repeat

// Text returns the lines joined by line feeds.
func (r Reply) Text() string { return strings.Join(r.Lines, "\n") }

// String shows the reply as an error message needs it: "550 No such file".
func (r Reply) String() string { return fmt.Sprintf("%03d %s", r.Code, r.Text()) }

// Append adds the reply in wire form to dst. In a multi-line reply the first
// line has a hyphen after the code, the last line a space, and lines between
// are indented by one space, so that none can be taken for the last one; this
// is also what FEAT and MLST want of their lines (RFC 2389 3.2, RFC 3659 7.3).
// CR, LF and NUL within a line become '?'; 0xFF is doubled (RFC 854).
func (r Reply) Append(dst []byte) []byte {
	last := max(len(r.Lines)-1, 0)
	for i, l := range r.Lines {
		switch {
		case i == last:
			dst = append(appendCode(dst, r.Code), ' ')
		case i == 0:
			dst = append(appendCode(dst, r.Code), '-')
		default:
			dst = append(dst, ' ')
		}
		dst = append(appendText(dst, l), '\r', '\n')
	}
	if len(r.Lines) == 0 {
		dst = append(appendCode(dst, r.Code), ' ', '\r', '\n')
	}
	return dst
}

func appendCode(dst []byte, code int) []byte {
	return append(dst, byte('0'+code/100%10), byte('0'+code/10%10), byte('0'+code%10))
}

// appendText adds text of the control connection, on which IAC is doubled
// (RFC 854).
func appendText(dst []byte, s string) []byte {
	return appendLine(dst, strings.ReplaceAll(s, "\xff", "\xff\xff"))
}

// appendLine adds s with what would end the line shown as '?'.
func appendLine(dst []byte, s string) []byte {
	for i := range len(s) {
		switch b := s[i]; b {
		case '\r', '\n', 0:
			dst = append(dst, '?')
		default:
			dst = append(dst, b)
		}
	}
	return dst
}

// Add takes one line, without its end, as LineDecoder gives it, and reports
// whether the reply is complete. Lines of a multi-line reply keep their text
// but lose one leading space, or the code repeated before each as some servers
// do. Errors wrap ErrSyntax.
func (r *Reply) Add(line string) (complete bool, err error) {
	if len(line) > MaxReplyLine || len(r.Lines) >= MaxReplyLines {
		return false, fmt.Errorf("reply %03d: longer than %d lines of %d bytes: %w", r.Code, MaxReplyLines, MaxReplyLine, ErrSyntax)
	}
	code, sep, text, coded := cutCode(line)
	if !r.open {
		if !coded {
			return false, fmt.Errorf("reply %.60q: want three digits: %w", line, ErrSyntax)
		}
		r.Code, r.Lines, r.open = code, append(r.Lines[:0], text), sep == '-'
		return !r.open, nil
	}
	if coded && code == r.Code {
		// "211-" again before a line within, or "211 " before the last one.
		r.Lines, r.open = append(r.Lines, text), sep == '-'
		return !r.open, nil
	}
	r.Lines = append(r.Lines, strings.TrimPrefix(line, " "))
	return false, nil
}

// cutCode splits "220-text" into its parts; a line of three digits alone counts
// as a last line without text.
func cutCode(line string) (code int, sep byte, text string, ok bool) {
	if len(line) < 3 {
		return 0, 0, "", false
	}
	code, err := strconv.Atoi(line[:3])
	if err != nil || code < 100 || code > 699 { // 6yz: RFC 2228 3
		return 0, 0, "", false
	}
	if len(line) == 3 {
		return code, ' ', "", true
	}
	if sep = line[3]; sep != ' ' && sep != '-' {
		return 0, 0, "", false
	}
	return code, sep, line[4:], true
}
