package ftp

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net"
	"path"
	"strings"
	"time"

	"github.com/linerate/linerate/internal/serve/ftp/data"
	"github.com/linerate/linerate/internal/serve/ftp/store"
	wire "github.com/linerate/linerate/internal/wire/ftp"
)

// line writes one entry of a listing, without its end.
type line func(dst []byte, i store.Info) []byte

// listing is a directory as bytes for a data connection, made as they are
// read, so that a large one takes no memory of its own.
type listing struct {
	entries []store.Info
	line    line
	pending []byte
}

func (l *listing) Read(b []byte) (int, error) {
	for len(l.pending) < len(b) && len(l.entries) > 0 {
		l.pending = append(l.line(l.pending, l.entries[0]), '\r', '\n')
		l.entries = l.entries[1:]
	}
	n := copy(b, l.pending)
	l.pending = append(l.pending[:0], l.pending[n:]...)
	if n == 0 && len(b) > 0 {
		return 0, io.EOF
	}
	return n, nil
}

func (x *session) cmdList(arg string) wire.Reply {
	now := time.Now()
	return x.list("LIST", arg, func(dst []byte, i store.Info) []byte { return appendLong(dst, i, now) })
}

// cmdNlst lists names alone, each fit for a transfer command: with the
// directory as the client gave it in front (RFC 1123 4.1.2.7).
func (x *session) cmdNlst(arg string) wire.Reply {
	return x.list("NLST", arg, nil)
}

// list sends the entries that arg stands for, by line, or else their names. A
// missing file is a 550; an empty directory, or a pattern that matches nothing,
// is an empty list (RFC 959 allows 450 too, which clients take for a fault).
func (x *session) list(verb, arg string, l line) wire.Reply {
	f, err := x.find(arg)
	if err != nil {
		x.closeEndpoint()
		return x.failure(err)
	}
	if l == nil {
		l = func(dst []byte, i store.Info) []byte { return append(append(dst, f.prefix...), name(i)...) }
	}
	return x.sendListing(verb, f.at, f.entries, l)
}

func (x *session) sendListing(verb, at string, entries []store.Info, l line) wire.Reply {
	t := &transfer{verb: verb, path: at, size: -1, text: "Listing " + at}
	return x.transfer(t, func(ctx context.Context, c net.Conn, o data.Options) (data.Stats, error) {
		return data.Send(ctx, c, &listing{entries: entries, line: l}, o)
	})
}

// found is what the argument of a listing command stands for.
type found struct {
	at      string // full name
	prefix  string // of the entries' names, in the client's terms
	entries []store.Info
	dir     bool // entries are those of directory at
}

// find looks up a directory's entries, one file, or the matches of a pattern.
// Options as of ls(1), which clients send though no RFC has them, are passed
// over, unless a file is named so.
func (x *session) find(arg string) (found, error) {
	f, err := x.lookUp(arg)
	if !errors.Is(err, fs.ErrNotExist) {
		return f, err
	}
	if rest := strings.TrimLeft(arg, " "); strings.HasPrefix(rest, "-") {
		for strings.HasPrefix(rest, "-") {
			_, rest, _ = strings.Cut(rest, " ")
			rest = strings.TrimLeft(rest, " ")
		}
		return x.find(rest)
	}
	if base := path.Base(f.at); strings.ContainsAny(base, "*?[") {
		return x.match(f, base)
	}
	return f, err
}

func (x *session) lookUp(arg string) (f found, err error) {
	f.prefix = arg[:strings.LastIndexByte(arg, '/')+1]
	if f.at, err = x.resolve(arg); err != nil {
		return f, err
	}
	i, err := x.store.Stat(x.ctx, f.at)
	if err != nil || !i.IsDir() {
		f.entries = []store.Info{i}
		return f, err
	}
	if f.dir = true; arg != "" && !strings.HasSuffix(arg, "/") {
		f.prefix = arg + "/"
	}
	f.entries, err = x.store.List(x.ctx, f.at)
	return f, err
}

func (x *session) match(f found, pattern string) (found, error) {
	all, err := x.store.List(x.ctx, path.Dir(f.at))
	if err != nil {
		return f, err
	}
	f.entries = nil
	for _, i := range all {
		ok, err := path.Match(pattern, i.Name)
		if err != nil {
			return f, fmt.Errorf("pattern %q: %w", pattern, fs.ErrNotExist)
		}
		if ok {
			f.entries = append(f.entries, i)
		}
	}
	return f, nil
}

// cmdMlsd lists a directory for machines (RFC 3659 7).
func (x *session) cmdMlsd(arg string) wire.Reply {
	f, err := x.lookUp(arg)
	if err != nil || !f.dir {
		x.closeEndpoint()
		if err != nil {
			return x.failure(err)
		}
		return wire.NewReply(501, "MLSD lists directories only") // RFC 3659 7.2.1
	}
	facts := x.facts
	return x.sendListing("MLSD", f.at, f.entries, func(dst []byte, i store.Info) []byte {
		return x.entry(i, i.Name).Append(dst, facts)
	})
}

// cmdMlst describes one file over the control connection, by its full name as
// TVFS asks for (RFC 3659 7.2).
func (x *session) cmdMlst(arg string) wire.Reply {
	var info store.Info
	return x.onPath(arg, func(name string) (err error) {
		info, err = x.store.Stat(x.ctx, name)
		return err
	}, func(name string) wire.Reply {
		return wire.Reply{Code: 250, Lines: []string{"Listing " + name, string(x.entry(info, name).Append(nil, x.facts)), "End"}}
	})
}

// maxStatLines bounds a listing on the control connection, which no transfer
// command can abort.
const maxStatLines = 1000

// cmdStat describes the session, or lists a path over the control connection
// (RFC 959 4.1.3: 212 for a directory, 213 for a file).
func (x *session) cmdStat(arg string) wire.Reply {
	if arg == "" {
		return wire.Reply{Code: 211, Lines: x.status()}
	}
	f, err := x.find(arg)
	if err != nil {
		return x.failure(err)
	}
	lines := []string{"Status of " + f.at}
	now := time.Now()
	for n, i := range f.entries {
		if n == maxStatLines {
			lines = append(lines, fmt.Sprintf("(%d more, use LIST)", len(f.entries)-n))
			break
		}
		lines = append(lines, string(appendLong(nil, i, now)))
	}
	code := 213
	if f.dir {
		code = 212
	}
	return wire.Reply{Code: code, Lines: append(lines, "End of status")}
}

// entry describes i with the permissions the user has (RFC 3659 7.5.5).
func (x *session) entry(i store.Info, shown string) wire.Entry {
	e := wire.Entry{Name: shown, Type: wire.TypeFile, Size: i.Size, Modify: i.ModTime, Unique: i.Unique, Mode: int64(i.Mode.Perm())}
	switch {
	case i.IsDir():
		e.Type, e.Size, e.Perm = wire.TypeDir, -1, "cdeflmp"
	case i.Mode&fs.ModeSymlink != 0:
		e.Type, e.Perm = wire.TypeLink, "adfrw"
	default:
		e.Perm = "adfrw"
	}
	if x.account.ReadOnly {
		e.Perm = map[bool]string{true: "el", false: "r"}[i.IsDir()]
	}
	return e
}

// name returns the name of i fit for a line of a listing: one with a line end
// in it, which no command could carry back, shows '?' there.
func name(i store.Info) string {
	if !strings.ContainsAny(i.Name, "\r\n\x00") {
		return i.Name
	}
	return strings.NewReplacer("\r", "?", "\n", "?", "\x00", "?").Replace(i.Name)
}

// halfYear separates the two forms of time in a long listing.
const halfYear = 183 * 24 * time.Hour

// appendLong writes i as ls -l does, the de facto form of LIST.
func appendLong(dst []byte, i store.Info, now time.Time) []byte {
	layout := "Jan _2 15:04"
	if age := now.Sub(i.ModTime); age > halfYear || age < -24*time.Hour {
		layout = "Jan _2  2006"
	}
	kind := map[bool]string{true: "d", false: "-"}[i.IsDir()]
	if i.Mode&fs.ModeSymlink != 0 {
		kind = "l"
	}
	dst = fmt.Appendf(dst, "%s%s   1 ftp      ftp      %12d ", kind, i.Mode.Perm().String()[1:], i.Size)
	dst = i.ModTime.UTC().AppendFormat(dst, layout)
	return append(append(dst, ' '), name(i)...)
}
