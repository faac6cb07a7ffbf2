// Command linerate gets an Ethernet link to line rate: it measures the link,
// explains what bounds it, changes the right setting and puts it back, and
// serves the two jobs a link is for, moving files and forwarding packets.
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"syscall"
)

// Exit statuses of every verb.
const (
	exitDone        = 0
	exitFailed      = 1
	exitUsage       = 2
	exitUnsupported = 3 // not supported on this box; the message says why
	exitMissed      = 4 // target of --expect missed
	exitNotBack     = 5 // changed but not fully put back
)

// The errors that carry an exit status of their own.
var (
	errUsage   = errors.New("usage")
	errMissed  = errors.New("target missed")
	errNotBack = errors.New("not fully put back")
)

// cli is what a verb talks to.
type cli struct {
	in       io.Reader
	out, err io.Writer
}

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	code := run(ctx, cli{os.Stdin, os.Stdout, os.Stderr}, os.Args[1:])
	stop()
	os.Exit(code)
}

// run executes one command line and returns its exit status.
func run(ctx context.Context, c cli, args []string) int {
	cmd := newRoot(c)
	cmd.SetArgs(args)
	err := cmd.ExecuteContext(ctx)
	if err != nil {
		fmt.Fprintln(c.err, "linerate:", err)
	}
	return status(err)
}

// status maps an error to the exit status that scripts rely on.
func status(err error) int {
	switch {
	case err == nil:
		return exitDone
	case errors.Is(err, errNotBack):
		return exitNotBack
	case errors.Is(err, errMissed):
		return exitMissed
	case errors.Is(err, errUsage):
		return exitUsage
	case errors.Is(err, errors.ErrUnsupported):
		return exitUnsupported
	}
	return exitFailed
}
