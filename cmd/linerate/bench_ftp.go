package main

import (
	"context"
	"errors"
	"fmt"
	"net"
	"path"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/linerate/linerate/internal/explain"
	"github.com/linerate/linerate/internal/meter/tcpinfo"
	measure "github.com/linerate/linerate/internal/run"
	"github.com/linerate/linerate/internal/serve/ftp/client"
	"github.com/linerate/linerate/internal/serve/ftp/data"
	"github.com/linerate/linerate/internal/workload/ftpload"
	"github.com/linerate/linerate/result"
)

// benchFile is what a bench uploads, downloads and removes where no names are
// given.
const benchFile = "linerate-bench.bin"

// maxBenchSize keeps a typing error from filling a server.
const maxBenchSize = 1 << 44

// newBenchFTP is bench itself: given the URL of an FTP server it measures that.
func newBenchFTP(c cli) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "bench [URL]",
		Short: "Measure what a link carries",
		Long: `bench measures a link by TCP or UDP streams (see the commands below), or, given
the URL of an FTP server, by its downloads and uploads.

Any FTP server will do, that of a board without a file system too. Without
--get and --put it uploads --size bytes as ` + benchFile + `, downloads
them again, and removes the file in the end; of 'linerate serve ftp' it takes
/zero and /sink instead, which need no room. Payload is made up and dropped on
this side, so that no disk of ours is measured. The host's meters run along, and
the result says what bounded each direction.`,
		Example: `  linerate bench ftp://user:password@192.168.1.4/
  linerate bench ftp://user:password@192.168.1.4/ --get data.bin --put data.bin --repeat 10
  linerate bench ftpes://host/ --streams 8 --time 10s --expect 900Mbit/s --out result.html
  linerate bench tcp 192.168.1.4`,
		Args: nArgs("URL"),
	}
	o := addFTPBench(cmd)
	out := addOutput(cmd)
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		if !client.IsURL(args[0]) {
			return usagef("bench: %q is no command and no ftp:// URL; see 'linerate bench --help'", args[0])
		}
		return o.runFTP(cmd, c, args[0], out)
	}
	return cmd
}

// ftpBench is the flags of an FTP bench.
type ftpBench struct {
	*ftpFlags
	plan                              ftpload.Plan
	direction, size, sendBuf, recvBuf string
}

func addFTPBench(cmd *cobra.Command) *ftpBench {
	o := &ftpBench{ftpFlags: addFTP(cmd)}
	f := cmd.Flags()
	f.StringVar(&o.plan.GetName, "get", "", "download the file `NAME`; a path from the URL's")
	f.StringVar(&o.plan.PutName, "put", "", "upload as `NAME`; it stays there")
	f.StringVar(&o.direction, "direction", "", "measure `WAY` get, put or both (default both, or what --get or --put names)")
	f.StringVar(&o.size, "size", "292MB", "`SIZE` of one upload")
	f.IntVar(&o.plan.Repeats, "repeat", 5, "measure each direction `N` times")
	f.IntVarP(&o.plan.Streams, "streams", "P", 1, "transfer over `N` connections at once")
	f.DurationVar(&o.plan.Time, "time", 0, "repeat transfers for so long in each trial (default one transfer)")
	f.StringVar(&o.sendBuf, "send-buffer", "", "socket send buffer `SIZE` (default tuned by the system)")
	f.StringVar(&o.recvBuf, "receive-buffer", "", "socket receive buffer `SIZE` (default tuned by the system)")
	return o
}

// runFTP measures the server at rawURL and delivers the Result.
func (o *ftpBench) runFTP(cmd *cobra.Command, c cli, rawURL string, out *output) error {
	cfg, err := o.config(c, rawURL)
	if err != nil {
		return err
	}
	knobs, err := o.fill(cfg.Path)
	if err != nil {
		return err
	}
	if err := o.probe(cmd.Context(), cfg); err != nil {
		return err
	}
	cfg.Network = &tunedNetwork{net.Dialer{Control: knobs.Control}, net.ListenConfig{Control: knobs.Control}}
	sockets := &tcpinfo.Sockets{}
	local, ifname := localInterface(cfg.Host)
	meters := append(ftpMeters(ifname), sockets)
	load := &ftpload.Load{
		Plan: o.plan,
		Dial: func(ctx context.Context) (ftpload.Session, error) { return openFTPSession(ctx, cfg, knobs, sockets) },
		Meters: func(ctx context.Context) []result.Value {
			return append(readAll(ctx, meters), lineLimit(ifname, local)...)
		},
	}
	stop := func() {}
	if !o.verbose {
		stop = showProgress(c, func() work { return o.progress(load) })
	}
	r, err := measure.Record(cmd.Context(), load, measure.Options{
		Meters: meters,
		Ends:   []result.End{thisEnd("client", ifname), {Role: "server", Host: cfg.Host}},
		Totals: func(r *result.Result) []result.Value {
			r.Trials = load.Trials()
			return load.Totals()
		},
	})
	stop()
	r.Findings = explain.Explain(r)
	if slices.Contains(o.plan.Directions, ftpload.Put) && o.plan.PutName == remoteName(cfg.Path, benchFile) {
		o.remove(cmd.Context(), cfg)
	}
	return out.deliver(c, r, err)
}

// fill completes the plan. base is the path of the URL, a directory.
func (o *ftpBench) fill(base string) (data.Knobs, error) {
	var k data.Knobs
	var err error
	if o.plan.Size, err = result.ParseSize(o.size); err != nil || o.plan.Size > maxBenchSize {
		return k, usagef("--size %s: want bytes, such as 292MB", o.size)
	}
	if o.plan.Repeats < 1 || o.plan.Streams < 1 || o.plan.Streams > 1000 || o.plan.Time < 0 {
		return k, usagef("--repeat wants 1 or more, --streams 1 to 1000, --time no negative time")
	}
	err = errors.Join(size("--send-buffer", o.sendBuf, func(n int64) { k.SendBuffer = int(n) }),
		size("--receive-buffer", o.recvBuf, func(n int64) { k.ReceiveBuffer = int(n) }))
	if err != nil {
		return k, err
	}
	p := &o.plan
	if o.direction == "" && (p.GetName == "") != (p.PutName == "") {
		o.direction = directionPut
		if p.GetName != "" {
			o.direction = directionGet
		}
	}
	switch o.direction {
	case "", "both":
		p.Directions = []ftpload.Direction{ftpload.Put, ftpload.Get} // the download may be of what was uploaded
	case directionGet:
		p.Directions = []ftpload.Direction{ftpload.Get}
		if p.GetName == "" {
			return k, usagef("--direction get wants the file to download: --get NAME")
		}
	case directionPut:
		p.Directions = []ftpload.Direction{ftpload.Put}
	default:
		return k, usagef("--direction %q: want get, put or both", o.direction)
	}
	if p.PutName != "" {
		p.PutName = remoteName(base, p.PutName)
	} else {
		p.PutName = remoteName(base, benchFile)
	}
	if p.GetName != "" {
		p.GetName = remoteName(base, p.GetName)
	} else {
		p.GetName = p.PutName
	}
	p.Params = map[string]string{}
	for name, n := range map[string]int{"send_buffer": k.SendBuffer, "receive_buffer": k.ReceiveBuffer} {
		if n > 0 {
			p.Params[name] = fmt.Sprint(n)
		}
	}
	return k, nil
}

// probe logs in once, so that a wrong password costs no trial, and takes the
// generated files and the sink of a server of ours in place of bench's own file.
func (o *ftpBench) probe(ctx context.Context, cfg client.Config) error {
	conn, err := client.Dial(ctx, cfg)
	if err != nil {
		return err
	}
	defer conn.Close()
	p, own := &o.plan, remoteName(cfg.Path, benchFile)
	if p.GetName != own || p.PutName != own {
		return nil
	}
	zeros := fmt.Sprintf("/zero/%d", p.Size)
	if n, err := conn.Size(ctx, zeros); err == nil && n == p.Size {
		if sink, err := conn.Stat(ctx, "/sink"); err == nil && sink.IsDir() {
			p.GetName, p.PutName = zeros, "/sink/"+benchFile
		}
	}
	return nil
}

// remoteName is a name below the directory of the URL.
func remoteName(base, name string) string {
	if base == "" || strings.HasPrefix(name, "/") {
		return name
	}
	return path.Join(base, name)
}

// remove takes away what the bench has made up, as far as the server lets it.
func (o *ftpBench) remove(ctx context.Context, cfg client.Config) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), 10*time.Second)
	defer cancel()
	conn, err := client.Dial(ctx, cfg)
	if err != nil {
		return
	}
	defer conn.Close()
	for i := range o.plan.Streams {
		name := ftpload.StreamName(o.plan.PutName, i)
		if err := conn.Remove(ctx, name); err != nil {
			cfg.Log.Info("bench file stays", "name", name, "error", err)
		}
	}
}

func (o *ftpBench) progress(l *ftpload.Load) work {
	return work{label: "bench", done: l.Moved(), unit: "B",
		note: fmt.Sprintf("%d of %d trials", len(l.Trials()), o.plan.Repeats*len(o.plan.Directions))}
}
