//go:build linux

package iperf3

import (
	"crypto/rand"
	"crypto/rsa"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/linerate/linerate/internal/testnet"
	wire "github.com/linerate/linerate/internal/wire/iperf3"
	"github.com/linerate/linerate/internal/workload/stream"
	"github.com/linerate/linerate/result"
)

// size is a transfer short enough for a matrix of tests, and brief a time.
const (
	size  = 8 << 20 // more than a socket holds: the server has seen some of it by the end
	brief = 300 * time.Millisecond
)

// clientCases is what our client asks of servers, in every direction that it
// has.
var clientCases = map[string]stream.Test{
	"bytes":          {Bytes: size},
	"time":           {Duration: brief},
	"parallel":       {Parallel: 4, Bytes: size},
	"blocks":         {Messages: 64, Message: 64 << 10},
	"big blocks":     {Messages: 8, Message: 1 << 20},
	"small blocks":   {Duration: brief, Message: 16, Rate: 1e6, Burst: 5},
	"omit":           {Duration: brief, Omit: time.Second},
	"window":         {Bytes: size, Socket: stream.Socket{Window: 100 << 10}},
	"mss":            {Bytes: size, Socket: stream.Socket{MSS: 1000}},
	"no delay":       {Bytes: size, Socket: stream.Socket{NoDelay: true}},
	"tos":            {Bytes: size, Socket: stream.Socket{TOS: 32}},
	"congestion":     {Bytes: size, Socket: stream.Socket{Congestion: "reno"}},
	"all of these":   {Bytes: size, Socket: stream.Socket{Window: 100 << 10, MSS: 1000, NoDelay: true, TOS: 32, Congestion: "reno"}},
	"mptcp":          {Bytes: size, Socket: stream.Socket{Multipath: true}},
	"device":         {Bytes: size, Socket: stream.Socket{Device: "lo"}},
	"pinned":         {Bytes: size, CPUs: []int{0}},
	"paced":          {Duration: brief, Rate: 80e6, Message: 32 << 10},
	"fq paced":       {Duration: brief, Socket: stream.Socket{Pacing: 80e6}},
	"sendfile":       {Bytes: size, ZeroCopy: stream.Sendfile},
	"msg_zerocopy":   {Bytes: size, ZeroCopy: stream.Zerocopy},
	"discard":        {Bytes: size, Discard: true},
	"repeating":      {Bytes: size, Repeating: true},
	"udp":            {Protocol: stream.UDP, Rate: 50e6, Duration: brief},
	"udp parallel":   {Protocol: stream.UDP, Parallel: 3, Rate: 20e6, Bytes: size / 2},
	"udp 32 bit":     {Protocol: stream.UDP, Rate: 50e6, Bytes: size / 4, Counters32: true},
	"udp no offload": {Protocol: stream.UDP, Rate: 50e6, Bytes: size / 4, NoOffload: true},
	"udp small":      {Protocol: stream.UDP, Rate: 10e6, Bytes: size / 32, Message: 64},
	"udp fragments":  {Protocol: stream.UDP, Rate: 50e6, Bytes: size / 4, Message: 60000},
	"udp omit":       {Protocol: stream.UDP, Rate: 50e6, Duration: brief, Omit: time.Second},
	"udp options":    {Protocol: stream.UDP, Rate: 50e6, Bytes: size / 4, Socket: stream.Socket{Window: 1 << 20, TOS: 32, DontFrag: true}},
	"udp bytes":      {Protocol: stream.UDP, Rate: 400e6, Bytes: size},
}

// hosts are the IP versions of the matrix.
var hosts = map[string]string{"IPv4": testnet.Loopback4, "IPv6": testnet.Loopback6}

// Our client against stock iperf3 and against our own server, each option both
// ways and both ways at once, over both IP versions.
func TestClient(t *testing.T) {
	t.Parallel()
	servers := map[string]func(t *testing.T, host string) string{
		"linerate": func(t *testing.T, host string) string { return first(serveOn(t, host, &Server{})) },
	}
	for _, s := range stocks {
		servers[s.name] = func(t *testing.T, host string) string { return s.serve(t, host) }
	}
	for server, start := range servers {
		for version, host := range hosts {
			t.Run(server+" "+version, func(t *testing.T) {
				t.Parallel()
				addr := start(t, host)
				for name, test := range clientCases {
					if test.Omit > 0 && version == "IPv6" {
						continue // the slowest cases; time passes alike in both
					}
					for _, d := range []stream.Direction{stream.Transmit, stream.Receive, stream.Both} {
						if d == stream.Both && (test.Bytes > 0 || test.Messages > 0 || test.Omit > 0) {
							continue // a count is one direction's
						}
						test.Direction = d
						t.Run(name+" "+string(d), func(t *testing.T) {
							at := addr
							if test.Socket.Multipath {
								at = start(t, host) // a current iperf3 -s stays with MPTCP, which lacks options
							}
							o, err := run(t, &Client{Addr: at}, test)
							if err != nil {
								t.Fatal(err)
							}
							checkOutcome(t, o, server == "linerate")
						})
					}
				}
			})
		}
	}
}

func first(addr string, _ <-chan Finished) string { return addr }

// checkOutcome holds the two ends' figures against each other.
func checkOutcome(t *testing.T, o stream.Outcome, ours bool) {
	t.Helper()
	if o.Remote == nil {
		t.Fatal("no results of the server")
	}
	dirs := []stream.Direction{o.Test.Direction}
	if o.Test.Direction == stream.Both {
		dirs = []stream.Direction{stream.Transmit, stream.Receive}
	}
	for _, d := range dirs {
		sent, got := moved(o, d)
		if sent <= 0 || got <= 0 {
			t.Errorf("%s: sent %d received %d", d, sent, got)
		}
		// The omit period ends at each end by its own clock, and a current iperf3
		// does not count the part of a block that went out at the end.
		if part := int64(o.Test.Message * o.Test.Parallel); got > sent+part && o.Test.Omit == 0 {
			t.Errorf("%s: received %d of %d sent", d, got, sent)
		}
		if n := o.Test.Bytes; n > 0 && d == stream.Transmit && (sent < n || sent > n+int64(o.Test.Message)) {
			t.Errorf("%s: sent %d, asked for %d", d, sent, n)
		}
		vs := o.Values()
		goodput, ok := result.Get(vs, result.Goodput, "direction", string(d))
		if !ok || goodput <= 0 {
			t.Errorf("%s: goodput %v", d, goodput)
		}
		// A sender that was held up catches up; a current iperf3 makes up for all it
		// did not send since its start when the omit period ends.
		stall := 0.15 / max(o.Test.Duration.Seconds(), 0.1)
		caughtUp := d == stream.Receive && !ours && o.Test.Omit > 0
		if rate := o.Test.Rate * float64(o.Test.Parallel); rate > 0 && o.Test.Duration > 0 && !caughtUp && goodput > (1.1+stall)*rate {
			t.Errorf("%s: goodput %s above the rate asked for, %s", d, result.FormatBits(goodput), result.FormatBits(rate))
		}
		if loss, ok := result.Get(vs, result.LossRatio, "direction", string(d)); ok != (o.Test.Protocol == stream.UDP) || loss < 0 || loss > 1 {
			t.Errorf("%s: loss %v %v", d, loss, ok)
		}
	}
	if algo := o.Test.Socket.Congestion; algo != "" && ours && o.Remote.Congestion != algo {
		t.Errorf("the server's sockets have congestion control %q, want %q", o.Remote.Congestion, algo)
	}
	for _, s := range o.Group.Streams {
		if algo := o.Test.Socket.Congestion; algo != "" && s.Congestion != algo {
			t.Errorf("our socket has congestion control %q, want %q", s.Congestion, algo)
		}
	}
}

// serverCases is what stock iperf3's client asks of our server; each goes both
// ways, where its options allow -R, and options may not.
var serverCases = []string{
	"-n 8M", "-t 1", "-n 8M -P 4", "-k 64", "-n 8M -b 200M", "-n 8M --fq-rate 200M", "-n 8M -Z", "-n 8M -w 100K", "-n 8M -M 1000", "-n 8M -N", "-n 8M -S 32",
	"-n 8M --dscp ef", "-n 8M -C reno", "-n 8M -w 100K -M 1000 -N -S 32 -C reno", "-n 8M --get-server-output", "-n 8M -A 0,0", "-n 8M -T title --extra-data x",
	"-n 8M --repeating-payload", "-n 8M -l 1M", "-n 16K -l 16 -b 1M/5", "-n 8M --pacing-timer 500", "-n 8M --cport PORT", "-n 8M --bind-dev lo", "-n 8M -i 0.5", "-n 8M --connect-timeout 1000",
	"-u -n 1M -b 50M", "-u -t 1 -b 20M", "-u -n 1M -b 20M -P 3", "-u -n 1M -b 50M --udp-counters-64bit", "-u -n 20K -b 1M -l 16", "-u -n 1M -b 50M -l 60000",
	"-u -n 1M -b 50M --dont-fragment", "-u -n 1M -b 50M -w 1M", "-u -n 1M -b 50M -S 32", "-u -k 500 -b 50M", "-u -n 1M -b 0",
}

// onceCases take a second or more, or have a direction of their own.
var onceCases = []string{"-t 1 --bidir", "-t 1 --bidir -P 2", "-u -t 1 -b 50M --bidir", "-t 1 -O 1", "-t 1 -O 1 -R", "-u -t 1 -O 1 -b 50M"}

// currentCases are options that iperf3 has since 3.17.
var currentCases = []string{"-n 8M -m", "-n 8M --skip-rx-copy", "-u -n 1M -b 50M --gsro"}

// Stock iperf3's client against our server.
func TestServer(t *testing.T) {
	t.Parallel()
	for _, s := range stocks {
		for version, host := range hosts {
			t.Run(s.name+" "+version, func(t *testing.T) {
				t.Parallel()
				s.tool(t)
				addr, finished := serveOn(t, host, &Server{})
				ways := serverCases
				if s.current {
					ways = append(slices.Clone(ways), currentCases...)
				}
				if version == "IPv6" {
					ways = append(slices.Clone(ways), "-n 8M -L 77")
				}
				all := slices.Clone(onceCases)
				for _, args := range ways {
					all = append(all, args, args+" -R")
				}
				for _, args := range all {
					t.Run(args, func(t *testing.T) { stockClient(t, s, addr, args, finished) })
				}
			})
		}
	}
}

func stockClient(t *testing.T, s stock, addr, args string, finished <-chan Finished) {
	host, _, _ := net.SplitHostPort(addr)
	out, err := s.client(t, addr, strings.Fields(strings.ReplaceAll(args, "PORT", testnet.FreePort(t, host)))...)
	if err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	doc, err := wire.ParseOutput(out)
	if err != nil || doc.Error != "" {
		t.Fatalf("%v %s", err, doc.Error)
	}
	if v, ok := result.Get(doc.Result().Totals, result.Goodput); !ok || v <= 0 {
		t.Errorf("iperf3 shows goodput %v", v)
	}
	if strings.Contains(args, "server-output") != (doc.Server != "") {
		t.Errorf("server output %q", doc.Server)
	}
	f := next(t, finished)
	if f.Err != nil {
		t.Errorf("our server: %v", f.Err)
	}
	checkOutcome(t, f.Outcome.Reversed(), false)
}

// Authentication with both paddings: iperf3 3.12 takes the old one only.
func TestAuthentication(t *testing.T) {
	t.Parallel()
	key, err := rsa.GenerateKey(rand.Reader, 2048)
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	pub, priv, users := filepath.Join(dir, "public.pem"), filepath.Join(dir, "private.pem"), filepath.Join(dir, "users.csv")
	der, err := x509.MarshalPKIXPublicKey(&key.PublicKey)
	if err != nil {
		t.Fatal(err)
	}
	const list = "mario,bf7a49a846d44b454a5d11e7acfaf13d138bbe0b7483aa3e050879700572709b\n"
	for name, b := range map[string][]byte{
		pub:   pem.EncodeToMemory(&pem.Block{Type: "PUBLIC KEY", Bytes: der}),
		priv:  pem.EncodeToMemory(&pem.Block{Type: "RSA PRIVATE KEY", Bytes: x509.MarshalPKCS1PrivateKey(key)}),
		users: []byte(list),
	} {
		if err := os.WriteFile(name, b, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	u, err := wire.ParseUsers(list)
	if err != nil {
		t.Fatal(err)
	}
	ours, _ := serve(t, &Server{Key: key, Users: u, Skew: 10 * time.Second})
	stock := stocks[0].serve(t, testnet.Loopback4, "--rsa-private-key-path", priv, "--authorized-users-path", users)
	for _, c := range []struct {
		name, addr, password string
		old, ok              bool
	}{
		{"ours", ours, "rossi", false, true}, {"ours, old padding", ours, "rossi", true, true}, {"ours, wrong password", ours, "verdi", false, false},
		{"iperf3", stock, "rossi", true, true}, {"iperf3, wrong password", stock, "verdi", true, false},
	} {
		_, err := run(t, &Client{Addr: c.addr, User: "mario", Password: c.password, Key: &key.PublicKey, OldPadding: c.old}, stream.Test{Bytes: 1 << 20})
		if c.ok != (err == nil) {
			t.Errorf("%s: %v", c.name, err)
		}
		if !c.ok && !errors.Is(err, wire.RemoteError{Code: wire.CodeAuth}) && !errors.Is(err, ErrRefused) {
			t.Errorf("%s: %v, want it refused", c.name, err)
		}
	}
	if _, err := run(t, &Client{Addr: ours}, stream.Test{Bytes: 1 << 20}); err == nil {
		t.Error("a client without a token is let in")
	}
	host, port, _ := net.SplitHostPort(ours)
	cmd := exec.Command(testnet.NeedTool(t, "iperf3"), "-c", host, "-p", port, "-n", "1M", "--username", "mario", "--rsa-public-key-path", pub)
	cmd.Env = append(os.Environ(), "IPERF3_PASSWORD=rossi")
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Errorf("stock client: %v: %s", err, out)
	}
}

// What we print as iperf3's JSON reads again as iperf3's, with the receiver's
// figures in their places.
func TestOutput(t *testing.T) {
	t.Parallel()
	addr, _ := serve(t, &Server{})
	for name, test := range map[string]stream.Test{
		"tcp":  {Bytes: size},
		"both": {Direction: stream.Both, Duration: 300 * time.Millisecond},
		"udp":  {Protocol: stream.UDP, Direction: stream.Receive, Rate: 20e6, Duration: 300 * time.Millisecond},
	} {
		o, err := run(t, &Client{Addr: addr}, test)
		if err != nil {
			t.Fatal(err)
		}
		doc := Output(&result.Result{Start: time.Unix(1e9, 0)}, o, addr)
		r := doc.Result()
		for _, d := range []stream.Direction{stream.Transmit, stream.Receive} {
			want, ok1 := result.Get(o.Values(), result.Goodput, "direction", string(d))
			got, ok2 := result.Get(r.Totals, result.Goodput, "direction", string(d))
			if ok1 != ok2 || want != got {
				t.Errorf("%s %s: goodput %v reads again as %v", name, d, want, got)
			}
		}
		if len(doc.End.Streams) != len(o.Group.Streams) || doc.Start.Test.Protocol != strings.ToUpper(string(o.Test.Protocol)) {
			t.Errorf("%s: %+v", name, doc)
		}
	}
}
