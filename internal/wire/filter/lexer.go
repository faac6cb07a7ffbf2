package filter

import (
	"fmt"
	"net/netip"
	"strconv"
	"strings"
)

type tokenKind uint8

const (
	tokenEnd      tokenKind = iota
	tokenOperator           // text
	tokenWord               // a keyword or name
	tokenName               // a name, because a backslash stood before it
	tokenNumber
	tokenIPv4 // two to four numbers with dots: parts
	tokenIPv6
	tokenMAC
	tokenBad
)

type token struct {
	kind   tokenKind
	text   string
	column int // from 1
	number uint32
	parts  int // numbers of an IPv4 address
	ipv6   netip.Addr
	mac    [6]byte
}

// is reports whether the token is an operator or keyword.
func (t *token) is(text string) bool {
	return (t.kind == tokenOperator || t.kind == tokenWord) && t.text == text
}

func (t *token) String() string {
	if t.kind == tokenEnd {
		return "the end"
	}
	return strconv.Quote(t.text)
}

// lexer splits an expression; the longest match wins, and numbers and
// addresses win over names.
type lexer struct {
	src string
	at  int
}

func (l *lexer) next() (token, error) {
	for l.at < len(l.src) && strings.IndexByte(" \t\r\n", l.src[l.at]) >= 0 {
		l.at++
	}
	rest, column := l.src[l.at:], l.at+1
	t := token{column: column}
	if rest == "" {
		return t, nil
	}
	take := func(kind tokenKind, n int) {
		t.kind, t.text = kind, rest[:n]
		l.at += n
	}
	for _, op := range []string{"&&", "||", ">=", "<=", "!=", "==", "<<", ">>"} {
		if strings.HasPrefix(rest, op) {
			take(tokenOperator, 2)
			switch op { // one spelling for the parser
			case "&&":
				t.text = "and"
			case "||":
				t.text = "or"
			case "==":
				t.text = "="
			}
			return t, nil
		}
	}
	if rest[0] == '\\' {
		n := strings.IndexAny(rest, " !()\n\t")
		if n < 0 {
			n = len(rest)
		}
		take(tokenName, n)
		t.text = rest[1:n]
		return t, nil
	}
	if n := span(rest, ":."); n > 0 {
		if a, err := netip.ParseAddr(rest[:n]); err == nil && a.Is6() {
			take(tokenIPv6, n)
			t.ipv6 = a
			return t, nil
		}
	}
	if n := span(rest, ":.-"); n > 0 && parseMAC(rest[:n], &t.mac) {
		take(tokenMAC, n)
		return t, nil
	}
	if strings.IndexByte("+-*/%:[]!<>()&|^=", rest[0]) >= 0 {
		take(tokenOperator, 1)
		if t.text == "!" {
			t.text = "not"
		}
		return t, nil
	}
	n := wordLength(rest)
	if n == 0 {
		take(tokenBad, 1)
		return t, fmt.Errorf("%q belongs to no expression", rest[0])
	}
	take(tokenWord, n)
	switch dots := strings.Count(t.text, "."); {
	case !digits(strings.ReplaceAll(t.text, ".", "")):
	case dots == 0:
		v, err := parseNumber(t.text)
		t.kind, t.number = tokenNumber, v
		return t, err
	case dots <= 3:
		v, err := parseDotted(t.text)
		t.kind, t.number, t.parts = tokenIPv4, v, dots+1
		return t, err
	}
	if t.text == "not" {
		t.kind = tokenOperator
	}
	return t, nil
}

// span is how many characters from the start of s are hexadecimal digits or of set.
func span(s, set string) int {
	n := 0
	for n < len(s) && (hex(s[n]) || strings.IndexByte(set, s[n]) >= 0) {
		n++
	}
	return n
}

func hex(c byte) bool { return c >= '0' && c <= '9' || c|0x20 >= 'a' && c|0x20 <= 'f' }

// wordLength is how long a name is: letters, digits, dots, and hyphens and
// underscores inside.
func wordLength(s string) int {
	n, end := 0, 0
	for ; n < len(s); n++ {
		switch c := s[n]; {
		case c >= '0' && c <= '9' || c|0x20 >= 'a' && c|0x20 <= 'z':
			end = n + 1
		case c == '.' && n > 0:
			end = n + 1
		case (c == '-' || c == '_') && n > 0:
		default:
			return end
		}
	}
	return end
}

// digits reports whether s looks like a number in any base.
func digits(s string) bool {
	if len(s) > 2 && (s[:2] == "0x" || s[:2] == "0X") {
		return span(s[2:], "") == len(s)-2
	}
	for _, c := range []byte(s) {
		if c < '0' || c > '9' {
			return false
		}
	}
	return s != ""
}

// parseNumber takes decimal, hexadecimal behind 0x and octal behind 0.
func parseNumber(s string) (uint32, error) {
	v, err := strconv.ParseUint(s, 0, 32)
	if err != nil || strings.ContainsAny(s, "_bo") && !strings.HasPrefix(strings.ToLower(s), "0x") {
		return 0, fmt.Errorf("%s is no number of 32 bits", s)
	}
	return uint32(v), nil
}

func parseDotted(s string) (uint32, error) {
	var v uint32
	for part := range strings.SplitSeq(s, ".") {
		n, err := parseNumber(part)
		if err != nil || n > 255 {
			return 0, fmt.Errorf("%s is no IPv4 address", s)
		}
		v = v<<8 | n
	}
	return v, nil
}

// parseMAC takes six numbers of one or two hexadecimal digits with : . or -
// between, three of four digits with dots, or twelve digits.
func parseMAC(s string, mac *[6]byte) bool {
	for _, sep := range []string{":", "-", ".", ""} {
		parts, width, least := strings.Split(s, sep), 2, 1
		switch {
		case sep == "." && len(parts) == 3:
			width, least = 4, 4
		case sep == "" && len(s) == 12:
			parts, width, least = []string{s}, 12, 12
		case len(parts) != 6 || sep == "":
			continue
		}
		var v uint64
		for _, p := range parts {
			n, err := strconv.ParseUint(p, 16, 64)
			if err != nil || len(p) < least || len(p) > width {
				return false
			}
			v = v<<(4*width) | n
		}
		for i := range mac {
			mac[i] = byte(v >> (40 - 8*i))
		}
		return true
	}
	return false
}
