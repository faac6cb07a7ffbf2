package main

import (
	"bytes"
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"

	"github.com/linerate/linerate/internal/host"
	"github.com/linerate/linerate/internal/host/collect"
)

type collectOptions struct {
	out    string
	netns  string
	script bool
	far    *farFlags
}

func newCollect(c cli) *cobra.Command {
	var o collectOptions
	cmd := &cobra.Command{
		Use:   "collect",
		Short: "Record this box's counters and settings in a tar",
		Long: "collect copies the counters and settings that bear on the network into a tar, which other\n" +
			"verbs read with --host. --script prints a shell program that does the same on a board\n" +
			"where linerate does not run; it needs only what busybox has.\n\n" +
			"The tar names the interfaces with their MAC addresses and the open TCP connections,\n" +
			"no users and no processes.",
		Example: "  linerate collect -o board.tar.gz\n" +
			"  linerate collect --script | ssh root@192.168.1.4 'cat > /tmp/c; sh /tmp/c' > board.tar\n" +
			"  linerate doctor --host board.tar\n  linerate collect --agent 192.0.2.1 -o far.tar.gz",
		Args: noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return runCollect(cmd.Context(), c, o) },
	}
	o.far = addFar(cmd, "record")
	f := cmd.Flags()
	f.StringVarP(&o.out, "out", "o", "", "write the tar to `FILE` (.tar or .tar.gz) instead of standard output")
	f.StringVar(&o.netns, "netns", "", "read the network namespace `NAME`")
	f.BoolVar(&o.script, "script", false, "print the shell program for boxes where only a shell runs")
	return cmd
}

func runCollect(ctx context.Context, c cli, o collectOptions) error {
	if o.script {
		_, err := io.WriteString(c.out, collect.Script())
		return err
	}
	if o.out == "" && isTerminal(c.out) {
		return usagef("collect writes a tar: name a file with -o board.tar.gz, or redirect it")
	}
	var b bytes.Buffer
	gaps, err := o.record(ctx, &b)
	if err != nil {
		return err
	}
	if o.out == "" {
		_, err = c.out.Write(b.Bytes())
		return err
	}
	err = writeFile(o.out, func(w io.Writer) error {
		if !strings.HasSuffix(o.out, "gz") {
			_, err := w.Write(b.Bytes())
			return err
		}
		z := gzip.NewWriter(w)
		_, err := z.Write(b.Bytes())
		return errors.Join(err, z.Close())
	})
	if err != nil {
		return err
	}
	fmt.Fprintf(c.err, "%s: %d KiB; %d files could not be read, listed in it under \"gaps\"\n", o.out, b.Len()>>10, gaps)
	return nil
}

// record writes the tar of this box, of a namespace or of the other end, and
// returns how many files could not be read.
func (o collectOptions) record(ctx context.Context, b *bytes.Buffer) (int, error) {
	if !o.far.given() {
		h, done, err := openHost("", o.netns)
		if err != nil {
			return 0, err
		}
		defer done()
		gaps, err := collect.Write(ctx, b, h)
		return len(gaps), err
	}
	if o.netns != "" {
		return 0, usagef("--agent asks another box: leave --netns out")
	}
	f, err := o.far.open(ctx)
	if err != nil {
		return 0, err
	}
	defer f.Close()
	return f.snapshot(ctx, b)
}

// openHost returns the host that --host (a recording) and --netns (a network
// namespace) name, by default the live one.
func openHost(recording, netns string) (h host.Host, done func(), err error) {
	switch {
	case recording != "" && netns != "":
		return nil, nil, usagef("--host reads a recording and --netns a live namespace: give one of them")
	case recording != "":
		h, err = host.Open(recording)
	case netns != "":
		in, err := host.InNamespace(netns)
		if err != nil {
			return nil, nil, err
		}
		return in, func() { in.Close() }, nil
	default:
		h, err = host.Live()
	}
	return h, func() {}, err
}
