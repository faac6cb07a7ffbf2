// Package ftp turns the bytes of the File Transfer Protocol into structs and
// back: commands, replies, data addresses, machine listings and quoted paths.
// It does no I/O, so that the server, the client and the fuzzer share it.
package ftp

import (
	"errors"
	"fmt"
	"strings"
)

// ErrSyntax is wrapped by every error of this package that means "these bytes
// are not what the RFC says"; a server answers 501 (or 500 for a command line).
var ErrSyntax = errors.New("syntax error")

// Command is one command line (RFC 959 5.3): a verb in upper case and its
// argument as sent, byte for byte, without the space between.
type Command struct {
	Verb string
	Arg  string
}

// maxVerb is the longest verb accepted: four letters in RFC 959, longer in its
// extensions (XSHA256, XSHA512).
const maxVerb = 8

// ParseCommand reads one line without its end of line, as LineDecoder gives it.
// Bytes in front of the verb that only Telnet has are passed over: clients that
// take a Synch apart leave some there.
func ParseCommand(line []byte) (Command, error) {
	for len(line) > 0 && line[0] >= se {
		line = line[1:]
	}
	n := 0
	for n < len(line) && isLetterOrDigit(line[n]) {
		n++
	}
	if n == 0 || n > maxVerb || n < len(line) && line[n] != ' ' {
		return Command{}, fmt.Errorf("command %.40q: %w", line, ErrSyntax)
	}
	c := Command{Verb: strings.ToUpper(string(line[:n]))}
	if n < len(line) {
		c.Arg = string(line[n+1:])
	}
	if strings.ContainsAny(c.Arg, "\x00\n") {
		return Command{}, fmt.Errorf("command %s: NUL or LF in the argument: %w", c.Verb, ErrSyntax)
	}
	return c, nil
}

// Append adds the command line with its CRLF to dst. A CR within the argument
// becomes CR NUL (RFC 2640 3.1) and 0xFF is doubled (RFC 854), so that a name
// cannot end the line or start a Telnet command.
func (c Command) Append(dst []byte) []byte {
	dst = append(dst, c.Verb...)
	if c.Arg != "" {
		dst = append(dst, ' ')
		for i := range len(c.Arg) {
			switch b := c.Arg[i]; b {
			case '\r':
				dst = append(dst, '\r', 0)
			case iac:
				dst = append(dst, iac, iac)
			default:
				dst = append(dst, b)
			}
		}
	}
	return append(dst, '\r', '\n')
}

// Valid reports whether the command can be sent: no line feed, which FTP has
// no way to quote.
func (c Command) Valid() bool {
	return c.Verb != "" && !strings.ContainsAny(c.Verb+c.Arg, "\x00\n")
}

// String shows the command for a log, the password left out.
func (c Command) String() string {
	if c.Verb == "PASS" {
		return "PASS ***"
	}
	return strings.TrimRight(c.Verb+" "+c.Arg, " ")
}

func isLetterOrDigit(b byte) bool {
	return 'a' <= b && b <= 'z' || 'A' <= b && b <= 'Z' || '0' <= b && b <= '9'
}
