package ftp

import (
	"fmt"
	"strconv"
	"strings"
	"time"
)

// Entry is one object of a machine listing (RFC 3659 7).
type Entry struct {
	Name   string
	Type   string    // "file", "dir", "cdir", "pdir", "OS.unix=slink"
	Size   int64     // octets as transferred in TYPE I; -1 where not known
	Modify time.Time // zero where not known
	Perm   string    // letters of RFC 3659 7.5.5
	Unique string    // equal for two names of one object
	Mode   int64     // permission bits of UNIX; -1 where not known
}

// The types of RFC 3659 7.5.1, and the one in use for symbolic links.
const (
	TypeFile    = "file"
	TypeDir     = "dir"
	TypeThisDir = "cdir"
	TypeParent  = "pdir"
	TypeLink    = "OS.unix=slink"
)

// IsDir reports whether the entry is a directory, also the listed one itself
// or its parent.
func (e Entry) IsDir() bool {
	t := strings.ToLower(e.Type)
	return t == TypeDir || t == TypeThisDir || t == TypeParent
}

// Facts is a set of facts, as OPTS MLST selects them.
type Facts uint8

// The facts a server of ours can tell.
const (
	FactType Facts = 1 << iota
	FactSize
	FactModify
	FactPerm
	FactUnique
	FactMode

	AllFacts = FactType | FactSize | FactModify | FactPerm | FactUnique | FactMode
)

var factNames = [...]string{"Type", "Size", "Modify", "Perm", "Unique", "UNIX.mode"}

// ParseFacts reads the argument of OPTS MLST, "Type;Size;"; facts that are not
// known are left out, as RFC 3659 7.9 says.
func ParseFacts(arg string) Facts {
	var set Facts
	for f := range strings.SplitSeq(arg, ";") {
		for i, name := range factNames {
			if strings.EqualFold(f, name) {
				set |= 1 << i
			}
		}
	}
	return set
}

// String writes the set as the reply to OPTS MLST has it: "Type;Size;".
func (s Facts) String() string {
	var b strings.Builder
	for i, name := range factNames {
		if s&(1<<i) != 0 {
			b.WriteString(name + ";")
		}
	}
	return b.String()
}

// Feature writes the line of FEAT: every fact, those in s with an asterisk
// (RFC 3659 7.8).
func (s Facts) Feature() string {
	var b strings.Builder
	b.WriteString("MLST ")
	for i, name := range factNames {
		b.WriteString(name)
		if s&(1<<i) != 0 {
			b.WriteByte('*')
		}
		b.WriteByte(';')
	}
	return b.String()
}

// Append adds the entry with the facts of want to dst, without an end of line:
// "Type=file;Size=292; name". A fact that is not known is left out, and what
// would end the line shows as '?'. Telnet's escaping is not done here: it
// belongs to the control connection and there to Reply.
func (e Entry) Append(dst []byte, want Facts) []byte {
	if want&FactType != 0 && e.Type != "" {
		dst = append(append(append(dst, "Type="...), e.Type...), ';')
	}
	if want&FactSize != 0 && e.Size >= 0 {
		dst = append(strconv.AppendInt(append(dst, "Size="...), e.Size, 10), ';')
	}
	if want&FactModify != 0 && !e.Modify.IsZero() {
		dst = append(append(append(dst, "Modify="...), FormatTime(e.Modify)...), ';')
	}
	if want&FactPerm != 0 {
		dst = append(append(append(dst, "Perm="...), e.Perm...), ';')
	}
	if want&FactUnique != 0 && e.Unique != "" {
		dst = append(append(append(dst, "Unique="...), e.Unique...), ';')
	}
	if want&FactMode != 0 && e.Mode >= 0 {
		dst = append(dst, "UNIX.mode=0"...)
		dst = append(strconv.AppendInt(dst, e.Mode, 8), ';')
	}
	return appendLine(append(dst, ' '), e.Name)
}

// ParseEntry reads one line of MLSD, or the inner line of an MLST reply,
// without its end. Facts that are not known or don't parse are passed over;
// the error wraps ErrSyntax.
func ParseEntry(line string) (Entry, error) {
	e := Entry{Size: -1, Mode: -1}
	facts, name, ok := strings.Cut(strings.TrimPrefix(line, " "), " ")
	if strings.HasPrefix(line, "  ") { // no facts at all: two spaces
		facts, name, ok = "", line[2:], true
	}
	if !ok || name == "" || facts != "" && !strings.HasSuffix(facts, ";") {
		return e, fmt.Errorf("MLSx entry %.80q: want facts, a space and a name: %w", line, ErrSyntax)
	}
	e.Name = name
	for f := range strings.SplitSeq(facts, ";") {
		fact, value, _ := strings.Cut(f, "=")
		switch strings.ToLower(fact) {
		case "type":
			e.Type = value
		case "size", "sizd": // "sizd" is what some servers call a directory's
			if n, err := strconv.ParseInt(value, 10, 64); err == nil && n >= 0 {
				e.Size = n
			}
		case "modify":
			if t, err := ParseTime(value); err == nil {
				e.Modify = t
			}
		case "perm":
			e.Perm = value
		case "unique":
			e.Unique = value
		case "unix.mode":
			if m, err := strconv.ParseInt(value, 8, 32); err == nil && m >= 0 {
				e.Mode = m
			}
		}
	}
	if t := strings.ToLower(e.Type); t == TypeFile || t == TypeDir || t == TypeThisDir || t == TypeParent {
		e.Type = t
	}
	return e, nil
}
