package main

import (
	"cmp"
	"context"
	"crypto/rsa"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"os"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/spf13/cobra"

	"github.com/linerate/linerate/internal/host"
	"github.com/linerate/linerate/internal/meter/cpu"
	"github.com/linerate/linerate/internal/meter/nic"
	"github.com/linerate/linerate/internal/meter/tcpinfo"
	measure "github.com/linerate/linerate/internal/run"
	wire "github.com/linerate/linerate/internal/wire/iperf3"
	"github.com/linerate/linerate/internal/workload/stream"
	"github.com/linerate/linerate/internal/workload/stream/iperf3"
	"github.com/linerate/linerate/internal/workload/stream/netperf"
	"github.com/linerate/linerate/result"
)

// streamFlags is what the stream benches share.
type streamFlags struct {
	test stream.Test

	direction, rate, pacing, message, bytes, window, sendBuffer, recvBuffer, zerocopy string
	bind, dialect, preset, transaction, sweep, cpus, line                             string
	reverse, bidir, directionGiven, v4, v6                                            bool
	dscp, repeats                                                                     int
	every                                                                             time.Duration
	iperf3JSON                                                                        bool
	client                                                                            iperf3.Client
	key                                                                               string
	serverCPU                                                                         int
}

// addStream gives cmd the flags of every stream bench. Short letters are
// iperf3's.
func addStream(cmd *cobra.Command) *streamFlags {
	s := &streamFlags{}
	f := cmd.Flags()
	f.SortFlags = false
	f.StringVar(&s.direction, "direction", "tx", "way of the payload from here: `tx`, rx or both")
	f.BoolVarP(&s.reverse, "reverse", "R", false, "the same as --direction rx")
	f.BoolVar(&s.bidir, "bidir", false, "the same as --direction both")
	f.IntVarP(&s.test.Parallel, "parallel", "P", 1, "streams in each direction")
	f.DurationVarP(&s.test.Duration, "time", "t", 0, "how long to measure (default 10s, unless --bytes or --messages)")
	f.DurationVarP(&s.test.Omit, "omit", "O", 0, "how long to run before what is measured")
	f.StringVarP(&s.bytes, "bytes", "n", "", "stop after `SIZE`, such as 1GiB")
	f.Int64VarP(&s.test.Messages, "messages", "k", 0, "stop after so many messages")
	f.StringVarP(&s.message, "message", "l", "", "`SIZE` of one application write (default 128KiB; udp 1472)")
	f.StringVarP(&s.rate, "rate", "b", "", "intended load of each stream, such as 100Mbit/s (default as fast as it goes)")
	f.IntVar(&s.test.Burst, "burst", 0, "messages sent at once with --rate")
	f.StringVar(&s.pacing, "pacing", "", "have the kernel pace each stream to `RATE` (SO_MAX_PACING_RATE)")
	f.StringVarP(&s.window, "window", "w", "", "socket buffers, `SIZE` both ways")
	f.StringVar(&s.sendBuffer, "send-buffer", "", "send buffer `SIZE`")
	f.StringVar(&s.recvBuffer, "receive-buffer", "", "receive buffer `SIZE`")
	f.IntVar(&s.dscp, "dscp", 0, "differentiated services code point, 0 to 63")
	f.StringVarP(&s.bind, "bind", "B", "", "own `ADDRESS`")
	f.StringVar(&s.test.Socket.Device, "device", "", "bind to an `INTERFACE`")
	f.BoolVarP(&s.v4, "ipv4", "4", false, "use IPv4 only")
	f.BoolVarP(&s.v6, "ipv6", "6", false, "use IPv6 only")
	f.StringVarP(&s.cpus, "affinity", "A", "", "pin the stream threads to cores `N[,N...]`")
	f.IntVar(&s.serverCPU, "server-affinity", -1, "have an iperf3 server pin itself to core `N`")
	f.BoolVar(&s.test.Repeating, "repeating-payload", false, "send repeating digits instead of random bytes")
	f.StringVar(&s.dialect, "dialect", "", "what the peer speaks: `iperf3` or netperf (default iperf3; netperf for --rr)")
	f.StringVar(&s.transaction, "rr", "", "measure transactions of `REQUEST[,RESPONSE]` bytes")
	f.BoolVar(&s.test.Connect, "crr", false, "a connection for each transaction of --rr")
	f.StringVar(&s.sweep, "sweep", "", "measure each message size: `SIZES` such as 64,128,1448; \"default\" is 64 to 65536, \"zynq\" 64 to 1500")
	f.IntVar(&s.repeats, "repeats", 1, "measure so many times; the sizes of a sweep take turns")
	f.StringVar(&s.preset, "preset", "", "a published test: `nios`")
	f.StringVar(&s.line, "line", "", "line `RATE` for the bound of each size (default that of --device)")
	f.DurationVar(&s.every, "every", time.Second, "time between readings")
	f.StringVar(&s.client.User, "username", "", "user of an iperf3 server that wants authentication; password in LINERATE_PASSWORD or IPERF3_PASSWORD")
	f.StringVar(&s.key, "rsa-public-key", "", "public key `FILE` of such a server")
	f.BoolVar(&s.client.OldPadding, "pkcs1-padding", false, "authenticate to servers older than 3.17")
	f.BoolVar(&s.client.ServerOutput, "get-server-output", false, "show the server's own output")
	f.StringVarP(&s.client.Title, "title", "T", "", "title for the server's log")
	f.StringVar(&s.client.Extra, "extra-data", "", "text for the server's JSON")
	f.BoolVar(&s.iperf3JSON, "iperf3-json", false, "print iperf3's own JSON")
	return s
}

// fill makes the test of the flags.
func (s *streamFlags) fill(p stream.Protocol) (stream.Test, error) {
	t := s.test
	t.Protocol = p
	if err := s.applyPreset(&t); err != nil {
		return t, err
	}
	t.Direction = stream.Direction(s.direction)
	switch {
	case s.reverse && s.bidir:
		return t, usagef("--reverse and --bidir exclude each other")
	case s.reverse:
		t.Direction = stream.Receive
	case s.bidir:
		t.Direction = stream.Both
	}
	if s.dscp < 0 || s.dscp > 63 {
		return t, usagef("--dscp %d: want 0 to 63", s.dscp)
	}
	t.Socket.TOS = s.dscp << 2
	if s.v4 != s.v6 {
		t.Socket.Network = map[bool]string{true: "4", false: "6"}[s.v4]
	}
	if s.bind != "" {
		a, err := netip.ParseAddr(s.bind)
		if err != nil {
			return t, usagef("--bind: %v", err)
		}
		t.Socket.Local = a
	}
	t.ZeroCopy = stream.ZeroCopy(s.zerocopy)
	for _, c := range strings.FieldsFunc(s.cpus, func(r rune) bool { return r == ',' }) {
		n, err := strconv.Atoi(c)
		if err != nil || n < 0 || n > 1023 {
			return t, usagef("--affinity %q: want core numbers", s.cpus)
		}
		t.CPUs = append(t.CPUs, n)
	}
	err := errors.Join(
		size("--message", s.message, func(n int64) { t.Message = int(n) }),
		size("--bytes", s.bytes, func(n int64) { t.Bytes = n }),
		size("--window", s.window, func(n int64) { t.Socket.Window = int(n) }),
		size("--send-buffer", s.sendBuffer, func(n int64) { t.Socket.SendBuffer = int(n) }),
		size("--receive-buffer", s.recvBuffer, func(n int64) { t.Socket.RecvBuffer = int(n) }),
		rate("--rate", s.rate, func(v float64) { t.Rate = v }),
		rate("--pacing", s.pacing, func(v float64) { t.Socket.Pacing = uint64(v) }),
		transaction(s.transaction, &t),
	)
	if err != nil {
		return t, err
	}
	if t.Connect && !t.Transactions() {
		t.Request, t.Response = 1, 1
	}
	t = t.Defaulted()
	if err := t.Check(); err != nil {
		return t, usagef("%v", err)
	}
	return t, nil
}

func size(flag, v string, set func(int64)) error {
	if v == "" {
		return nil
	}
	n, err := result.ParseSize(v)
	if err != nil || n > 1<<40 {
		return usagef("%s: size %q: want bytes, such as 65536 or 64KiB", flag, v)
	}
	set(n)
	return nil
}

func rate(flag, v string, set func(float64)) error {
	if v == "" {
		return nil
	}
	r, err := result.ParseRate(v)
	if err != nil {
		return usagef("%s: %v", flag, err)
	}
	set(r)
	return nil
}

func transaction(v string, t *stream.Test) error {
	if v == "" {
		return nil
	}
	req, resp, two := strings.Cut(v, ",")
	if !two {
		resp = req
	}
	return errors.Join(size("--rr", req, func(n int64) { t.Request = int(n) }), size("--rr", resp, func(n int64) { t.Response = int(n) }))
}

// applyPreset sets what a published test prescribes.
func (s *streamFlags) applyPreset(t *stream.Test) error {
	switch {
	case s.preset == "":
	case s.preset == "nios" && t.Protocol == stream.UDP:
		t.Message, t.Messages = 1<<10, 50
	case s.preset == "nios":
		t.Message, t.Messages, t.Socket.Window = 128<<10, 30, 32<<10
	default:
		return usagef("--preset %q: want nios", s.preset)
	}
	return nil
}

// peer returns the dialect and the address of the peer.
func (s *streamFlags) peer(target string, t stream.Test) (stream.Dialect, error) {
	name := s.dialect
	if name == "" {
		name = "iperf3"
		if t.Transactions() {
			name = "netperf"
		}
	}
	switch name {
	case "netperf":
		return &netperf.Client{Addr: withPort(target, netperf.Port)}, nil
	case "iperf3":
	default:
		return nil, usagef("--dialect %q: want iperf3 or netperf", name)
	}
	d := s.client
	d.Addr = withPort(target, wire.Port)
	if s.serverCPU >= 0 {
		d.ServerCPU = &s.serverCPU
	}
	if s.key == "" {
		return &d, nil
	}
	d.Password = cmp.Or(os.Getenv("LINERATE_PASSWORD"), os.Getenv("IPERF3_PASSWORD"))
	var err error
	d.Key, err = publicKey(s.key)
	return &d, err
}

// publicKey reads an RSA key in PEM.
func publicKey(file string) (*rsa.PublicKey, error) {
	b, err := os.ReadFile(file)
	if err != nil {
		return nil, err
	}
	block, _ := pem.Decode(b)
	if block == nil {
		return nil, usagef("%s: no PEM block", file)
	}
	k, err := x509.ParsePKIXPublicKey(block.Bytes)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", file, err)
	}
	key, ok := k.(*rsa.PublicKey)
	if !ok {
		return nil, usagef("%s: a %T, want an RSA key", file, k)
	}
	return key, nil
}

// withPort adds the protocol's port where target has none.
func withPort(target string, port int) string {
	if _, _, err := net.SplitHostPort(target); err == nil {
		return target
	}
	return net.JoinHostPort(strings.Trim(target, "[]"), strconv.Itoa(port))
}

// record runs one test with the host's meters beside it.
func record(ctx context.Context, d stream.Dialect, target string, t stream.Test, every time.Duration) (*result.Result, stream.Outcome, error) {
	sockets := &tcpinfo.Sockets{}
	_, ifname := localInterface(withPort(target, 1))
	w := &stream.Client{Test: t, Dialect: d, Peer: target}
	if t.Protocol == stream.TCP {
		w.Track = func(i int, s *stream.Stream) func() {
			if c, ok := s.Conn.(syscall.Conn); ok {
				if stop, err := sockets.Track("stream "+strconv.Itoa(i+1), c); err == nil {
					return stop
				}
			}
			return func() {}
		}
	}
	r, err := measure.Record(ctx, w, measure.Options{
		Every: every, Meters: append(ftpMeters(ifname), sockets), Ends: []result.End{thisEnd("tester", ifname), {Role: "dut", Host: target}},
		Totals: func(r *result.Result) []result.Value { return append(w.Outcome().Values(), grown(r)...) },
	})
	o := w.Outcome()
	if r != nil && o.Group != nil {
		if o.Remote == nil {
			r.Gaps = append(r.Gaps, result.Gap{Source: "stream", Reason: "the peer gave no results: what it received is not known"})
		}
		// Figures cover the time that payload moved, not the set-up before it.
		r.Duration = o.Own.Elapsed
	}
	return r, o, err
}

// hostMeters reads this host beside a workload, where it can be read.
func hostMeters() []measure.Meter {
	h, err := host.Live()
	if err != nil {
		return nil
	}
	return []measure.Meter{cpu.Meter{Host: h}, cpu.Process{Host: h, PID: os.Getpid()}, nic.Meter{Host: h}}
}

// grown returns what the meters counted from the first reading to the last.
// Counters that stood still are left out, so are those of our own overhead; the
// readings have them all.
func grown(r *result.Result) []result.Value {
	if len(r.Readings) < 2 {
		return nil
	}
	vs := result.Delta(r.Readings[0].Values, r.Readings[len(r.Readings)-1].Values)
	return slices.DeleteFunc(vs, func(v result.Value) bool {
		m, known := result.Lookup(v.Metric)
		return v.Metric == result.MeterCost.Name || known && m.Kind == result.Counter && v.V == 0
	})
}
