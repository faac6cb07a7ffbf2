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
	"strings"
	"testing"
	"time"

	"github.com/linerate/linerate/internal/testnet"
	wire "github.com/linerate/linerate/internal/wire/iperf3"
	"github.com/linerate/linerate/internal/workload/stream"
	"github.com/linerate/linerate/result"
)

// size is a transfer short enough for a matrix of tests.
const size = 8 << 20

// clientCases is what our client asks of servers.
var clientCases = map[string]stream.Test{
	"tx":             {Bytes: size},
	"rx":             {Direction: stream.Receive, Bytes: size},
	"both":           {Direction: stream.Both, Duration: time.Second},
	"parallel":       {Parallel: 4, Bytes: size},
	"parallel rx":    {Parallel: 4, Direction: stream.Receive, Bytes: size},
	"blocks":         {Messages: 64, Message: 64 << 10},
	"omit":           {Duration: time.Second, Omit: time.Second},
	"options":        {Bytes: size, Socket: stream.Socket{Window: 100 << 10, MSS: 1000, NoDelay: true, TOS: 32, Congestion: "reno"}},
	"options rx":     {Direction: stream.Receive, Bytes: size, Socket: stream.Socket{Window: 100 << 10, MSS: 1000, NoDelay: true, Congestion: "reno"}},
	"paced":          {Duration: time.Second, Rate: 80e6, Message: 32 << 10},
	"fq paced":       {Duration: time.Second, Socket: stream.Socket{Pacing: 80e6}},
	"sendfile":       {Bytes: size, ZeroCopy: stream.Sendfile},
	"msg_zerocopy":   {Bytes: size, ZeroCopy: stream.Zerocopy},
	"discard":        {Direction: stream.Receive, Bytes: size, Discard: true},
	"repeating":      {Bytes: size, Repeating: true},
	"udp tx":         {Protocol: stream.UDP, Rate: 50e6, Duration: time.Second},
	"udp rx":         {Protocol: stream.UDP, Direction: stream.Receive, Rate: 50e6, Duration: time.Second},
	"udp both":       {Protocol: stream.UDP, Direction: stream.Both, Rate: 50e6, Duration: time.Second},
	"udp parallel":   {Protocol: stream.UDP, Parallel: 3, Rate: 20e6, Duration: time.Second},
	"udp 32 bit":     {Protocol: stream.UDP, Rate: 50e6, Duration: time.Second, Counters32: true},
	"udp no offload": {Protocol: stream.UDP, Rate: 50e6, Duration: time.Second, NoOffload: true},
	"udp small":      {Protocol: stream.UDP, Rate: 10e6, Duration: time.Second, Message: 64},
	"udp fragments":  {Protocol: stream.UDP, Rate: 50e6, Duration: time.Second, Message: 60000},
	"udp omit":       {Protocol: stream.UDP, Rate: 50e6, Duration: time.Second, Omit: time.Second},
	"udp bytes":      {Protocol: stream.UDP, Rate: 400e6, Bytes: size},
}

// Our client against stock iperf3 and against our own server.
func TestClient(t *testing.T) {
	for server, addr := range map[string]string{"iperf3": stockServer(t), "linerate": first(serve(t, &Server{}))} {
		for name, test := range clientCases {
			t.Run(server+"/"+name, func(t *testing.T) {
				o, err := run(t, &Client{Addr: addr}, test)
				if err != nil {
					t.Fatal(err)
				}
				checkOutcome(t, o, server == "linerate")
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
		// The omit period ends at each end by its own clock.
		if got > sent && o.Test.Omit == 0 {
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
		if rate := o.Test.Rate * float64(o.Test.Parallel); rate > 0 && o.Test.Duration > 0 && goodput > 1.1*rate {
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

// Stock iperf3's client against our server.
func TestServer(t *testing.T) {
	tool := testnet.NeedTool(t, "iperf3")
	addr, finished := serve(t, &Server{})
	host, port, _ := net.SplitHostPort(addr)
	for _, args := range []string{
		"-n 8M", "-n 8M -R", "-t 1 --bidir", "-n 8M -P 4", "-n 8M -P 4 -R", "-k 64", "-t 1 -O 1", "-t 1 -b 80M", "-t 1 --fq-rate 80M", "-n 8M -Z",
		"-n 8M -w 100K -M 1000 -N -S 32", "-n 8M -C reno", "-n 8M -C reno -R", "-n 8M --get-server-output", "-n 8M -A 0,0", "-n 8M -T title --extra-data x",
		"-n 8M --repeating-payload", "-n 8M -l 1M", "-t 1 -l 16 -b 1M/5",
		"-u -t 1 -b 50M", "-u -t 1 -b 50M -R", "-u -t 1 -b 50M --bidir", "-u -t 1 -b 20M -P 3", "-u -t 1 -b 50M --udp-counters-64bit",
		"-u -t 1 -b 50M --udp-counters-64bit -R", "-u -t 1 -b 50M -l 16", "-u -t 1 -b 50M -l 60000", "-u -t 1 -O 1 -b 50M", "-u -n 1M -b 50M --dont-fragment",
	} {
		t.Run(args, func(t *testing.T) {
			cmd := exec.Command(tool, append([]string{"-c", host, "-p", port, "-J"}, strings.Fields(args)...)...)
			out, err := cmd.Output()
			if err != nil {
				t.Fatalf("%v: %s", err, out)
			}
			doc, err := wire.ParseOutput(out)
			if err != nil || doc.Error != "" {
				t.Fatalf("%v %s", err, doc.Error)
			}
			r := doc.Result()
			if v, ok := result.Get(r.Totals, result.Goodput); !ok || v <= 0 {
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
		})
	}
}

// Authentication with both paddings: iperf3 3.12 takes the old one only.
func TestAuthentication(t *testing.T) {
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
	stock := stockServer(t, "--rsa-private-key-path", priv, "--authorized-users-path", users)
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
