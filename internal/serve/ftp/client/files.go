package client

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net"
	"path"
	"strconv"
	"strings"
	"time"

	"github.com/linerate/linerate/internal/serve/ftp/data"
	"github.com/linerate/linerate/internal/wire/ftp"
)

// maxListing bounds a directory listing, in bytes.
const maxListing = 64 << 20

// ErrNoSize is wrapped where the server doesn't tell the size of a file.
var ErrNoSize = errors.New("server doesn't tell the size")

// List returns what a directory holds; "" is the one we were logged in to.
// MLSD where the server has it (RFC 3659 7), otherwise LIST read as ls and DOS
// print it. Lines that can't be read are left out and logged.
func (c *Conn) List(ctx context.Context, dir string) ([]ftp.Entry, error) {
	if (c.Has("MLSD") || c.Has("MLST")) && !c.odd.noMLSD {
		entries, err := c.list(ctx, ftp.Command{Verb: "MLSD", Arg: dir}, func(l string) (ftp.Entry, bool) {
			e, err := ftp.ParseEntry(l)
			return e, err == nil
		})
		if e, ok := errors.AsType[*ReplyError](err); !unknown(err) || ok && e.Reply.Code == 501 { // not a directory
			return entries, err
		}
		c.odd.noMLSD = true
	}
	now := time.Now()
	parse := func(l string) (ftp.Entry, bool) { return ftp.ParseListLine(l, now) }
	// Servers that take the options of ls hide dot files without -a, and list
	// at least "." with it; others take "-a dir" for a name.
	all := ftp.Command{Verb: "LIST", Arg: strings.TrimSpace("-a " + dir)}
	entries, err := c.list(ctx, all, parse)
	if c.broken != nil || len(entries) > 0 {
		return entries, err
	}
	return c.list(ctx, ftp.Command{Verb: "LIST", Arg: dir}, parse)
}

// list runs one listing command and reads its lines.
func (c *Conn) list(ctx context.Context, cmd ftp.Command, parse func(string) (ftp.Entry, bool)) ([]ftp.Entry, error) {
	var text bounded
	_, err := c.transfer(ctx, cmd, 0, func(ctx context.Context, conn net.Conn) (data.Stats, error) {
		return data.Recv(ctx, &text, conn, c.options(data.Options{}))
	})
	if err != nil {
		return nil, err
	}
	var entries []ftp.Entry
	for line := range strings.Lines(text.String()) {
		line = strings.TrimRight(line, "\r\n")
		e, ok := parse(line)
		if !ok {
			c.cfg.Log.Debug("listing: line left out", "line", line)
			continue
		}
		if e.Type != ftp.TypeThisDir && e.Type != ftp.TypeParent && e.Name != "." && e.Name != ".." {
			entries = append(entries, e)
		}
	}
	return entries, nil
}

// bounded is a buffer that refuses to grow without end.
type bounded struct{ bytes.Buffer }

func (b *bounded) Write(p []byte) (int, error) {
	if b.Len()+len(p) > maxListing {
		return 0, fmt.Errorf("listing is longer than %d bytes", maxListing)
	}
	return b.Buffer.Write(p)
}

// Stat describes one file or directory: by MLST, otherwise by SIZE and MDTM,
// which tell of files only. An empty Type means that the server didn't say.
func (c *Conn) Stat(ctx context.Context, name string) (ftp.Entry, error) {
	if c.Has("MLST") {
		r, err := c.do(ctx, "MLST", name)
		if err == nil && len(r.Lines) == 3 {
			if e, err := ftp.ParseEntry(r.Lines[1]); err == nil {
				e.Name = path.Base(name)
				return e, nil
			}
		}
		if err != nil && !unknown(err) {
			return ftp.Entry{}, err
		}
	}
	e := ftp.Entry{Name: path.Base(name), Size: -1, Mode: -1}
	size, err := c.Size(ctx, name)
	if err != nil && !errors.Is(err, ErrNoSize) {
		return e, err
	}
	if err == nil {
		e.Size, e.Type = size, ftp.TypeFile
		e.Modify, err = c.ModTime(ctx, name)
		if c.broken != nil {
			return e, err
		}
	}
	return e, nil
}

// Size asks for the size of a file (RFC 3659 4). The error wraps ErrNoSize
// where the server can't tell, which doesn't mean that there is no such file.
func (c *Conn) Size(ctx context.Context, name string) (int64, error) {
	r, err := c.do(ctx, "SIZE", name)
	if Refused(err) {
		return 0, fmt.Errorf("%s: %w: %w", name, ErrNoSize, err)
	}
	if err != nil {
		return 0, err
	}
	n, err := strconv.ParseInt(strings.TrimSpace(r.Text()), 10, 64)
	if err != nil || n < 0 {
		return 0, fmt.Errorf("SIZE %s: reply %.40q: %w", name, r.Text(), ErrNoSize)
	}
	return n, nil
}

// ModTime asks when a file was last modified (MDTM, RFC 3659 3).
func (c *Conn) ModTime(ctx context.Context, name string) (time.Time, error) {
	r, err := c.do(ctx, "MDTM", name)
	if err != nil {
		return time.Time{}, err
	}
	return ftp.ParseTime(strings.TrimSpace(r.Text()))
}

// SetModTime sets when a file was last modified (MFMT,
// draft-somers-ftp-mfxx). It wraps errors.ErrUnsupported where the server
// doesn't have the command.
func (c *Conn) SetModTime(ctx context.Context, name string, t time.Time) error {
	if !c.Has("MFMT") {
		return fmt.Errorf("MFMT: %w by the server", errors.ErrUnsupported)
	}
	_, err := c.do(ctx, "MFMT", ftp.FormatTime(t)+" "+name)
	return err
}

// MakeDir makes a directory. Servers answer alike whether it is there already
// or may not be made, so a refusal counts only where the server can tell.
func (c *Conn) MakeDir(ctx context.Context, dir string) error {
	_, err := c.do(ctx, "MKD", dir)
	if !Refused(err) {
		return err
	}
	if e, statErr := c.Stat(ctx, dir); c.Has("MLST") && (statErr != nil || !e.IsDir()) {
		return fmt.Errorf("make directory %s: %w", dir, err)
	}
	return c.broken
}

// Remove deletes a file.
func (c *Conn) Remove(ctx context.Context, name string) error {
	_, err := c.do(ctx, "DELE", name)
	return err
}
