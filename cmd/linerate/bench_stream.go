package main

import (
	"errors"
	"net/netip"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/linerate/linerate/internal/workload/stream"
	"github.com/linerate/linerate/internal/workload/stream/iperf3"
	"github.com/linerate/linerate/result"
)

// streamFlags is what the stream benches share.
type streamFlags struct {
	test stream.Test

	direction, rate, pacing, message, bytes, window, sendBuffer, recvBuffer, zerocopy string
	bind, dialect, preset, transaction, sweep, cpus, line                             string
	capture                                                                           bool
	reverse, bidir, directionGiven, v4, v6                                            bool
	dscp, repeats                                                                     int
	every                                                                             time.Duration
	iperf3JSON                                                                        bool
	client                                                                            iperf3.Client
	key                                                                               string
	serverCPU                                                                         int
	far                                                                               *farFlags
	meters                                                                            []string
}

// addStream gives cmd the flags of every stream bench. Short letters are
// iperf3's.
func addStream(cmd *cobra.Command) *streamFlags {
	s := &streamFlags{}
	s.far = addFar(cmd, "also read, and where HOST has no port let serve,")
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
	f.StringSliceVar(&s.meters, "meter", nil, "read another `METER` beside it: napi (polls, packets and time of each), fastpath (what became of forwarded packets); they need root")
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
