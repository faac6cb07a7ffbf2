package client

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"strconv"
	"time"

	"github.com/linerate/linerate/internal/serve/ftp/data"
	"github.com/linerate/linerate/internal/wire/ftp"
)

const (
	// startGrace is how long an upload waits for the preliminary reply; there
	// are boards that send none.
	startGrace = 3 * time.Second
	// abortGrace is how long a broken transfer waits for the server's word on
	// it, which keeps the connection usable.
	abortGrace = 2 * time.Second
)

// Get retrieves a file from offset on into w. io.Discard as w has the kernel
// drop the payload. Stats tell how far a failed transfer came.
func (c *Conn) Get(ctx context.Context, name string, offset int64, w io.Writer, o data.Options) (data.Stats, error) {
	return c.transfer(ctx, ftp.Command{Verb: "RETR", Arg: name}, offset, func(ctx context.Context, conn net.Conn) (data.Stats, error) {
		return data.Recv(ctx, sink(w), conn, c.options(o))
	})
}

// Put stores what r yields as a file, from offset on where the server can
// resume.
func (c *Conn) Put(ctx context.Context, name string, offset int64, r io.Reader, o data.Options) (data.Stats, error) {
	var began time.Time
	s, err := c.transfer(ctx, ftp.Command{Verb: "STOR", Arg: name}, offset, func(ctx context.Context, conn net.Conn) (data.Stats, error) {
		began = time.Now()
		s, err := data.Send(ctx, conn, r, c.options(o))
		if err == nil && c.private {
			// Tickets left unread would turn our close into a reset, which can
			// cost the server the end of the file. It ends when conn is closed.
			go func() { _, _ = io.Copy(io.Discard, conn) }()
		}
		return s, err
	})
	if err == nil { // an upload is done when the server says so, not when it is in our send buffer
		s.Duration = time.Since(began)
	}
	return s, err
}

// options completes those of a transfer.
func (c *Conn) options(o data.Options) data.Options {
	if o.Stall <= 0 {
		o.Stall = c.cfg.Timeout
	}
	return o
}

// Announce tells the server the size of the upload that follows (ALLO, RFC 959
// 4.1.3), so that it can lay out the file or refuse at once. Only a refusal for
// want of space is an error.
func (c *Conn) Announce(ctx context.Context, size int64) error {
	if c.odd.noALLO {
		return c.broken
	}
	r, err := c.exchange(ctx, "ALLO", strconv.FormatInt(size, 10))
	if err == nil && (r.Code == 452 || r.Code == 552) {
		return fmt.Errorf("announce %d bytes: %w", size, &ReplyError{r})
	}
	c.odd.noALLO = r.Permanent()
	return err
}

// final is the last reply to a transfer's command, or why there is none.
type final struct {
	reply ftp.Reply
	err   error
}

// transfer runs a command that uses a data connection; move moves the payload.
// Replies are read meanwhile, for the server may refuse, break off or, on some
// boards, leave the preliminary reply out.
func (c *Conn) transfer(ctx context.Context, cmd ftp.Command, offset int64, move func(context.Context, net.Conn) (data.Stats, error)) (data.Stats, error) {
	o, err := c.prepare(ctx)
	if err != nil {
		return data.Stats{}, fmt.Errorf("%s: %w", printable(cmd.String()), err)
	}
	defer o.close()
	if offset > 0 {
		r, err := c.exchange(ctx, "REST", strconv.FormatInt(offset, 10))
		if err == nil && !r.Intermediate() && !r.Completion() { // 350, but some say 200
			err = fmt.Errorf("REST: %w", &ReplyError{r})
		}
		if err != nil {
			return data.Stats{}, err
		}
	}
	if err := c.send(ctx, cmd); err != nil {
		return data.Stats{}, err
	}

	moving, refuse := context.WithCancelCause(ctx)
	defer refuse(nil)
	// Replies outlive ctx a little, so that an aborted transfer leaves the
	// dialogue in step.
	listening, hangUp := context.WithCancelCause(context.WithoutCancel(ctx))
	defer hangUp(nil)
	begun, ended := make(chan struct{}), make(chan final, 1)
	go func() { ended <- c.follow(listening, cmd, begun, refuse) }()

	stats, err := c.run(moving, cmd, o, begun, move)
	wait := c.cfg.Timeout
	if err != nil {
		wait = min(wait, abortGrace)
		o.close()
	}
	timer := time.AfterFunc(wait, func() {
		hangUp(fmt.Errorf("no reply within %v of the transfer's end: %w", wait, data.ErrStalled))
	})
	defer timer.Stop()
	f := <-ended
	return stats, c.judge(ctx, cmd, f, err)
}

func isUpload(cmd ftp.Command) bool { return cmd.Verb == "STOR" }

// follow reads the replies to a transfer's command up to the last one. A
// refusal ends the moving of payload; a download that had begun may first take
// what is on its way, for a resumption to build on.
func (c *Conn) follow(ctx context.Context, cmd ftp.Command, begun chan<- struct{}, refuse context.CancelCauseFunc) final {
	for first := true; ; first = false {
		r, err := c.reply(ctx, cmd, 0)
		if err == nil && !r.Preliminary() && !r.Completion() {
			err = &ReplyError{r}
		}
		switch {
		case err != nil && (first || isUpload(cmd)):
			refuse(err)
		case err != nil:
			time.AfterFunc(abortGrace, func() { refuse(err) })
		}
		if first {
			close(begun)
		}
		if err != nil || !r.Preliminary() {
			return final{r, err}
		}
	}
}

// run opens the data connection, waits for the server's word if we are to
// send, and moves the payload.
func (c *Conn) run(ctx context.Context, cmd ftp.Command, o *opening, begun <-chan struct{}, move func(context.Context, net.Conn) (data.Stats, error)) (data.Stats, error) {
	if isUpload(cmd) {
		select {
		case <-begun:
		case <-time.After(min(startGrace, c.cfg.Timeout)):
			c.cfg.Log.Warn("no preliminary reply; sending all the same", "command", cmd.Verb)
		case <-ctx.Done():
		}
	}
	if ctx.Err() != nil {
		return data.Stats{}, context.Cause(ctx)
	}
	err := c.open(ctx, o)
	if err != nil && ctx.Err() != nil {
		err = context.Cause(ctx)
	}
	if err != nil {
		return data.Stats{}, err
	}
	s, err := move(ctx, o.conn)
	switch {
	case !isUpload(cmd):
		o.close() // some servers wait for our close_notify before they confirm
	case err != nil:
		o.abort()
	}
	return s, err
}

// judge makes one error of what the data connection and the server say.
func (c *Conn) judge(ctx context.Context, cmd ftp.Command, f final, moved error) error {
	if ctx.Err() != nil {
		return fmt.Errorf("%s: %w", printable(cmd.String()), context.Cause(ctx))
	}
	_, refused := errors.AsType[*ReplyError](f.err)
	switch {
	case moved == nil && f.err == nil:
		return nil
	case !refused && f.err != nil && (moved == nil || errors.Is(moved, f.err)):
		return f.err // the dialogue broke, and says at which command
	case moved == nil, refused && Temporary(moved): // the connection broke because the server gave up
		moved = f.err
	}
	return fmt.Errorf("%s: %w", printable(cmd.String()), moved)
}
