package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime/debug"

	"github.com/spf13/cobra"

	"github.com/linerate/linerate/internal/capture"
	"github.com/linerate/linerate/internal/wire/pcap"
	"github.com/linerate/linerate/result"
)

// analyzeOptions are the flags of analyze.
type analyzeOptions struct {
	iface  string
	filter string
	top    int
	match  *capture.Filter
}

func newAnalyze(c cli) *cobra.Command {
	var o analyzeOptions
	cmd := &cobra.Command{
		Use:   "analyze {FILE [FILE] | -i INTERFACE}",
		Short: "Say what bounds the TCP connections of a capture",
		Long: "Reads a capture (pcap, pcapng, snoop; plain or gzip, zstd, xz; - is the standard input) once and says of each\n" +
			"large connection what bounded it and how sure that is. Two captures of one transfer, sender's first, are put on\n" +
			"one clock. With -i it watches an interface and says so every second.",
		Example: "  linerate analyze board.pcapng\n" +
			"  linerate analyze upload.pcap.gz --filter 'host 192.168.1.4 and tcp port 20' --out upload.html\n" +
			"  linerate analyze sender.pcap receiver.pcap\n" +
			"  linerate analyze -i eth0 --top 3",
		Args: cobra.ArbitraryArgs,
	}
	f := cmd.Flags()
	f.StringVarP(&o.iface, "interface", "i", "", "watch `INTERFACE` instead of reading a file")
	f.StringVar(&o.filter, "filter", "", "count only frames that match `EXPRESSION`, as tcpdump's (pcap-filter(7))")
	f.IntVar(&o.top, "top", 10, "report the `N` largest directions")
	out := addOutput(cmd)
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		if err := o.check(args); err != nil {
			return err
		}
		var r *result.Result
		var err error
		switch {
		case o.iface != "":
			r, err = o.live(cmd.Context(), c)
		case len(args) == 2:
			r, err = o.merge(cmd.Context(), c, args[0], args[1])
		default:
			r, err = o.file(cmd.Context(), c, args[0])
		}
		return out.deliver(c, r, err)
	}
	return cmd
}

func (o *analyzeOptions) check(args []string) (err error) {
	switch {
	case o.iface != "" && len(args) > 0:
		return usagef("analyze: give a file or -i INTERFACE, not both")
	case o.iface == "" && (len(args) == 0 || len(args) > 2):
		return usagef("analyze wants a FILE, two FILES or -i INTERFACE; see 'linerate analyze --help'")
	case o.top < 1:
		return usagef("analyze: --top %d: want 1 or more", o.top)
	}
	if o.match, err = capture.CompileFilter(o.filter); err != nil {
		return usagef("--filter: %v", err)
	}
	return nil
}

// collectEvery is the growth of the heap, in percent, after which the analysis
// collects garbage: what it keeps lives long, and a capture of thousands of
// connections should fit a small machine.
const collectEvery = 10

func (o *analyzeOptions) engine() *capture.Engine {
	debug.SetGCPercent(collectEvery)
	return capture.NewEngine(capture.Options{Top: o.top, Filter: o.match, Series: true})
}

// file analyses one capture. Of a file that is cut or damaged, what came
// before counts.
func (o *analyzeOptions) file(ctx context.Context, c cli, name string) (*result.Result, error) {
	e := o.engine()
	src, err := readCapture(ctx, c, name, e.Add)
	if err != nil {
		return nil, err
	}
	src.Filter = o.filter
	return e.Result(src), nil
}

// readCapture hands every frame of a file to add.
func readCapture(ctx context.Context, c cli, name string, add func(*capture.Frame)) (capture.Source, error) {
	in := c.in
	if name != "-" {
		f, err := os.Open(name)
		if err != nil {
			return capture.Source{}, fmt.Errorf("analyze: %w", err)
		}
		defer f.Close()
		in = f
	}
	rd, err := pcap.NewReader(in)
	if err != nil {
		return capture.Source{}, fmt.Errorf("analyze %s: %w", name, err)
	}
	defer rd.Close()
	src := capture.Source{Name: filepath.Base(name), Format: rd.Format()}
	var rec pcap.Record
	var f capture.Frame
	for n := 0; ; n++ {
		if err = rd.Next(&rec); err != nil {
			break
		}
		f.Data, f.At, f.Len, f.Link = rec.Data, rec.Time, rec.Len, uint16(rec.Link)
		add(&f)
		if n&0xffff == 0 && ctx.Err() != nil {
			err = fmt.Errorf("stopped: %w", context.Cause(ctx))
			break
		}
	}
	if !errors.Is(err, io.EOF) {
		src.Cut = err.Error()
	}
	src.Drops = rd.Drops()
	return src, nil
}
