package client

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"slices"
	"strings"
	"syscall"
	"time"
	"unicode"

	"github.com/linerate/linerate/internal/serve/ftp/data"
	"github.com/linerate/linerate/internal/wire/ftp"
)

// ReplyError is a server's refusal.
type ReplyError struct{ Reply ftp.Reply }

// Error shows the refusal on one line, without what a terminal would act on.
func (e *ReplyError) Error() string {
	text := e.Reply.String()
	if len(text) > 300 {
		text = text[:300] + "..."
	}
	return "server answers " + printable(text)
}

// printable takes out of a server's text, or a name it chose, what a terminal
// would act on.
func printable(s string) string {
	return strings.Map(func(r rune) rune {
		if unicode.IsControl(r) {
			return ' '
		}
		return r
	}, strings.ToValidUTF8(s, "?"))
}

// Refused reports whether err is a refusal for good (5yz, RFC 959 4.2.1).
func Refused(err error) bool {
	e, ok := errors.AsType[*ReplyError](err)
	return ok && e.Reply.Permanent()
}

// unknown reports whether err says that the server doesn't have the command,
// or not in this form.
func unknown(err error) bool {
	e, ok := errors.AsType[*ReplyError](err)
	return ok && 500 <= e.Reply.Code && e.Reply.Code <= 504
}

// Temporary reports whether trying again, on a new Conn, may help: the server
// said so (4yz) or the connection failed. What the server refuses for good,
// what this side got wrong and what the caller cancelled stay as they are.
func Temporary(err error) bool {
	if e, ok := errors.AsType[*ReplyError](err); ok {
		return e.Reply.Transient()
	}
	if e, ok := errors.AsType[*net.DNSError](err); ok && e.IsNotFound || errors.Is(err, context.Canceled) {
		return false
	}
	_, network := errors.AsType[*net.OpError](err)
	return network || slices.ContainsFunc([]error{
		data.ErrStalled, io.EOF, io.ErrUnexpectedEOF, net.ErrClosed, os.ErrDeadlineExceeded, syscall.ECONNRESET, syscall.EPIPE,
	}, func(broken error) bool { return errors.Is(err, broken) })
}

// do runs a command that ends in a 2yz reply; any other is a *ReplyError.
func (c *Conn) do(ctx context.Context, verb, arg string) (ftp.Reply, error) {
	r, err := c.exchange(ctx, verb, arg)
	if err == nil && !r.Completion() {
		err = fmt.Errorf("%s: %w", verb, &ReplyError{r})
	}
	return r, err
}

// exchange sends a command and returns its reply, whatever it says.
func (c *Conn) exchange(ctx context.Context, verb, arg string) (ftp.Reply, error) {
	cmd := ftp.Command{Verb: verb, Arg: arg}
	if err := c.send(ctx, cmd); err != nil {
		return ftp.Reply{}, err
	}
	return c.finish(ctx, cmd, c.cfg.Timeout)
}

// send writes one command line.
func (c *Conn) send(ctx context.Context, cmd ftp.Command) error {
	if c.broken != nil {
		return c.broken
	}
	if !cmd.Valid() {
		return fmt.Errorf("%s %q: a line feed or NUL cannot be sent in an FTP command", cmd.Verb, cmd.Arg)
	}
	c.cfg.Log.Debug("command", "line", cmd.String())
	stop := c.guard(ctx, c.cfg.Timeout)
	_, err := c.ctl.Write(cmd.Append(nil))
	stop()
	return c.fail(ctx, cmd, err)
}

// finish reads replies until one that isn't preliminary.
func (c *Conn) finish(ctx context.Context, cmd ftp.Command, wait time.Duration) (ftp.Reply, error) {
	for {
		r, err := c.reply(ctx, cmd, wait)
		if err != nil || !r.Preliminary() {
			return r, err
		}
	}
}

// reply reads one reply. wait bounds the whole of it, so that a server that
// sends a byte at a time gains nothing; 0 waits for as long as ctx does.
func (c *Conn) reply(ctx context.Context, cmd ftp.Command, wait time.Duration) (ftp.Reply, error) {
	if c.broken != nil {
		return ftp.Reply{}, c.broken
	}
	stop := c.guard(ctx, wait)
	defer stop()
	var r ftp.Reply
	for {
		line, err := c.readLine()
		if err != nil {
			return ftp.Reply{}, c.fail(ctx, cmd, err)
		}
		complete, err := r.Add(line)
		if err != nil {
			return ftp.Reply{}, c.fail(ctx, cmd, err)
		}
		if !complete {
			continue
		}
		if cmd.Verb == "PASS" && c.cfg.Password != "" { // some servers repeat it in their text
			for i := range r.Lines {
				r.Lines[i] = strings.ReplaceAll(r.Lines[i], c.cfg.Password, "***")
			}
		}
		c.cfg.Log.Debug("reply", "code", r.Code, "text", r.Text())
		if r.Code == 421 { // service not available, closing control connection
			c.broken = fmt.Errorf("%s: %w", cmd.Verb, &ReplyError{r})
			return r, c.broken
		}
		return r, nil
	}
}

func (c *Conn) readLine() (string, error) {
	buf := make([]byte, 1024)
	for {
		line, rest, done, err := c.lines.Next(c.unread)
		c.unread = rest
		if done || err != nil {
			return string(line), err
		}
		n, err := c.ctl.Read(buf)
		if n == 0 && err != nil {
			return "", err
		}
		c.unread = buf[:n]
		if len(c.lines.Answers()) > 0 {
			c.cfg.Log.Debug("server negotiates Telnet options; not answered")
		}
	}
}

// guard makes I/O on the control connection end after wait or with ctx.
func (c *Conn) guard(ctx context.Context, wait time.Duration) (stop func()) {
	deadline := time.Time{}
	if wait > 0 {
		deadline = time.Now().Add(wait)
	}
	_ = c.tcp.SetDeadline(deadline)
	off := context.AfterFunc(ctx, func() { _ = c.tcp.SetDeadline(time.Unix(1, 0)) })
	return func() { off() }
}

// fail makes an I/O error readable and puts the Conn out of use, for nobody
// knows any more which reply belongs to which command.
func (c *Conn) fail(ctx context.Context, cmd ftp.Command, err error) error {
	if err == nil {
		return nil
	}
	switch {
	case ctx.Err() != nil:
		err = context.Cause(ctx)
	case errors.Is(err, os.ErrDeadlineExceeded):
		err = fmt.Errorf("no reply within %v: %w", c.cfg.Timeout, data.ErrStalled)
	case err == io.EOF:
		err = fmt.Errorf("server closed the connection: %w", err)
	}
	c.broken = fmt.Errorf("%s: %w", printable(cmd.String()), err)
	return c.broken
}
