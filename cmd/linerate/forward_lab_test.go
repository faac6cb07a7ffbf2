//go:build linux

package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/netip"
	"os"
	"regexp"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/linerate/linerate/internal/serve/fastpath"
	"github.com/linerate/linerate/internal/testnet"
)

// router is three namespaces in a row, the middle one of which forwards.
type router struct {
	inside, outside testnet.End // the hosts' ends
	box             *testnet.Namespace
}

// The router's interfaces, towards the inside and the outside.
const boxIn, boxOut = "eth0", "eth1"

func newRouter(t *testing.T) router {
	t.Helper()
	in, box, out := testnet.NewNamespace(t, "inside"), testnet.NewNamespace(t, "box"), testnet.NewNamespace(t, "outside")
	end := func(four, six string) testnet.EndOptions {
		return testnet.EndOptions{IPv4: netip.MustParsePrefix(four), IPv6: netip.MustParsePrefix(six)}
	}
	first, err := testnet.Connect(in, box, testnet.LinkOptions{A: end("10.1.0.2/24", "fd01::2/64"), B: end("10.1.0.1/24", "fd01::1/64")})
	if err != nil {
		t.Fatal(err)
	}
	second, err := testnet.Connect(box, out, testnet.LinkOptions{A: end("10.2.0.1/24", "fd02::1/64"), B: end("10.2.0.2/24", "fd02::2/64")})
	if err != nil {
		t.Fatal(err)
	}
	r := router{first.A, second.B, box}
	// Behind an XDP program nobody fills in checksums, and veth hands frames
	// from XDP only to a peer with GRO.
	for _, e := range []testnet.End{first.A, first.B, second.A, second.B} {
		r.do(t, e.Namespace, "ethtool", "-K", e.Interface, "gro", "on", "tx", "off")
	}
	for _, s := range []string{"net.ipv4.ip_forward", "net.ipv6.conf.all.forwarding"} {
		if err := box.SetSysctl(s, "1"); err != nil {
			t.Fatal(err)
		}
	}
	r.do(t, in, "ip", "route", "add", "default", "via", "10.1.0.1")
	r.do(t, in, "ip", "-6", "route", "add", "default", "via", "fd01::1")
	r.do(t, out, "ip", "route", "add", "default", "via", "10.2.0.1")
	r.do(t, out, "ip", "-6", "route", "add", "default", "via", "fd02::1")
	return r
}

func (r router) do(t *testing.T, n *testnet.Namespace, argv ...string) string {
	t.Helper()
	testnet.NeedTool(t, argv[0])
	out, err := n.Run(t.Context(), argv...)
	if err != nil {
		t.Fatalf("%v: %v\n%s", argv, err, out)
	}
	return out
}

// up starts the fast path and waits until it follows.
func (r router) up(t *testing.T, args ...string) *testnet.Process {
	t.Helper()
	before := r.generation()
	p, err := r.box.Start(t.Context(), append([]string{os.Args[0], "forward", "up", boxIn, boxOut, "--foreground"}, args...)...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		p.Stop()
		r.box.Run(context.Background(), os.Args[0], "forward", "down")
	})
	for range 100 {
		if s, err := r.state(); err == nil && s.Lease > 0 && (before == 0 || s.Generation != before || s.Routed) {
			return p
		}
		time.Sleep(50 * time.Millisecond)
	}
	t.Fatalf("the fast path does not come up: %s", p.Output())
	return nil
}

func (r router) generation() uint32 {
	s, _ := r.state()
	return s.Generation
}

type forwardReport struct {
	fastpath.State
	Connections []fastpath.Flow
}

func (r router) state() (s forwardReport, err error) {
	out, err := r.box.Run(context.Background(), os.Args[0], "forward", "show", "--flows", "--json")
	if err == nil {
		err = json.Unmarshal([]byte(out), &s)
	}
	return s, err
}

// fast waits for a connection that state names and returns it.
func (r router) fast(t *testing.T, state string, protocol uint8) fastpath.Flow {
	t.Helper()
	var s forwardReport
	for range 100 {
		var err error
		if s, err = r.state(); err != nil {
			t.Fatal(err)
		}
		for _, f := range s.Connections {
			if f.State == state && f.Original.Protocol == protocol {
				return f
			}
		}
		time.Sleep(50 * time.Millisecond)
	}
	t.Fatalf("no connection of protocol %d becomes %s: %+v", protocol, state, s)
	return fastpath.Flow{}
}

func (s forwardReport) reason(name string) uint64 {
	for _, r := range s.Reasons {
		if r.Name == name {
			return r.Packets
		}
	}
	return 0
}

const firewall = `
table inet fw {
	chain forward {
		type filter hook forward priority 0; policy drop;
		ct state invalid counter drop
		ct state established,related counter accept
		iifname "eth0" accept
	}
}
`

const masquerade = `
table ip nat {
	chain postrouting {
		type nat hook postrouting priority 100;
		oifname "eth1" masquerade
	}
}
`

// rules replaces the router's ruleset.
func (r router) rules(t *testing.T, text string) {
	t.Helper()
	file := t.TempDir() + "/rules"
	if err := os.WriteFile(file, []byte("flush ruleset\n"+text), 0o600); err != nil {
		t.Fatal(err)
	}
	r.do(t, r.box, "nft", "-f", file)
}

// tcpThrough moves n bytes each way between inside and outside and closes.
func (r router) tcpThrough(t *testing.T, listen string, n int64) {
	t.Helper()
	l, err := r.outside.Namespace.Listen(t.Context(), "tcp", listen)
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	served := make(chan error, 1)
	go func() {
		c, err := l.Accept()
		if err == nil {
			_, err = io.Copy(c, c)
			c.Close()
		}
		served <- err
	}()
	c, err := r.inside.Namespace.DialContext(t.Context(), "tcp", l.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	c.SetDeadline(time.Now().Add(30 * time.Second))
	go func() {
		io.CopyN(c, zeros{}, n)
		c.(interface{ CloseWrite() error }).CloseWrite()
	}()
	if got, err := io.Copy(io.Discard, c); got != n || err != nil {
		t.Fatalf("%d of %d bytes came back: %v", got, n, err)
	}
	if err := <-served; err != nil {
		t.Fatal(err)
	}
}

type zeros struct{}

func (zeros) Read(b []byte) (int, error) { clear(b); return len(b), nil }

// TestForwardThroughFirewallAndNAT moves data through a masquerading firewall:
// nearly all of it goes beside the stack, and connections end as they should,
// nothing of them invalid to the rules.
func TestForwardThroughFirewallAndNAT(t *testing.T) {
	r := newRouter(t)
	r.rules(t, firewall+masquerade)
	r.up(t)
	for _, at := range []string{"10.2.0.2:7000", "[fd02::2]:7000"} {
		before, err := r.state()
		if err != nil {
			t.Fatal(err)
		}
		r.tcpThrough(t, at, 64<<20)
		after, err := r.state()
		if err != nil {
			t.Fatal(err)
		}
		fast, unknown := after.reason("forwarded")-before.reason("forwarded"), after.reason("unknown")-before.reason("unknown")
		if fast < unknown || fast < 10_000 {
			t.Errorf("%s: %d packets were forwarded beside the stack, %d by it: want most", at, fast, unknown)
		}
	}
	if invalid := counter(t, r.do(t, r.box, "nft", "list", "ruleset"), "invalid"); invalid != 0 {
		t.Errorf("%d packets were invalid to the rules", invalid)
	}
	if out := r.do(t, r.inside.Namespace, "ss", "-tanH"); strings.Contains(out, "FIN-WAIT") || strings.Contains(out, "LAST-ACK") {
		t.Errorf("connections hang:\n%s", out)
	}
}

// counter reads the packets of the rule that mentions what.
func counter(t *testing.T, ruleset, what string) int {
	t.Helper()
	m := regexp.MustCompile(what + `.* counter packets (\d+)`).FindStringSubmatch(ruleset)
	if m == nil {
		t.Fatalf("no counter with %s in:\n%s", what, ruleset)
	}
	n, _ := strconv.Atoi(m[1])
	return n
}

// echo is a UDP server that answers; it counts what it got and when.
type echo struct {
	addr string
	got  atomic.Int64
	last atomic.Int64
}

func newEcho(t *testing.T, n *testnet.Namespace, addr string) *echo {
	t.Helper()
	c, err := n.ListenPacket(t.Context(), "udp", addr)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	e := &echo{addr: c.LocalAddr().String()}
	go func() {
		b := make([]byte, 2048)
		for {
			n, from, err := c.ReadFrom(b)
			if err != nil {
				return
			}
			e.got.Add(1)
			e.last.Store(time.Now().UnixNano())
			c.WriteTo(b[:n], from)
		}
	}()
	return e
}

// dialogue sends a datagram every gap until stopped; sent and answered count.
type dialogue struct {
	sent, answered atomic.Int64
	stop           context.CancelFunc
	done           chan struct{}
}

func (r router) talk(t *testing.T, to string, gap time.Duration) *dialogue {
	t.Helper()
	c, err := r.inside.Namespace.DialContext(t.Context(), "udp", to)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	k := &dialogue{stop: cancel, done: make(chan struct{})}
	go func() {
		b := make([]byte, 2048)
		for {
			if _, err := c.Read(b); err != nil && ctx.Err() != nil {
				return
			} else if err == nil {
				k.answered.Add(1)
			}
		}
	}()
	go func() {
		defer close(k.done)
		for ctx.Err() == nil {
			if _, err := c.Write(make([]byte, 100)); err == nil {
				k.sent.Add(1)
			}
			time.Sleep(gap)
		}
		time.Sleep(200 * time.Millisecond) // for answers under way
		c.Close()
	}()
	return k
}

func (k *dialogue) end() {
	k.stop()
	<-k.done
}

// TestForwardObeysAtOnce: a rule, a route and a neighbour that change act on a
// fast connection within 100 ms.
func TestForwardObeysAtOnce(t *testing.T) {
	for name, change := range map[string]struct{ argv, undo []string }{
		"rule":      {[]string{"nft", "insert", "rule", "inet", "fw", "forward", "udp", "dport", "7000", "drop"}, nil},
		"route":     {[]string{"ip", "route", "add", "blackhole", "10.2.0.2/32"}, []string{"ip", "route", "del", "blackhole", "10.2.0.2/32"}},
		"neighbour": {[]string{"ip", "neigh", "replace", "10.2.0.2", "lladdr", "02:00:00:00:09:09", "dev", boxOut, "nud", "permanent"}, []string{"ip", "neigh", "del", "10.2.0.2", "dev", boxOut}},
	} {
		t.Run(name, func(t *testing.T) {
			r := newRouter(t)
			r.rules(t, firewall+masquerade)
			r.up(t)
			e := newEcho(t, r.outside.Namespace, "10.2.0.2:7000")
			k := r.talk(t, e.addr, time.Millisecond)
			defer k.end()
			r.fast(t, "fast", 17)
			r.do(t, r.box, change.argv...)
			at := time.Now()
			time.Sleep(400 * time.Millisecond)
			if late := time.Unix(0, e.last.Load()).Sub(at); late > 100*time.Millisecond {
				t.Errorf("datagrams still came %s after the change", late)
			}
			if change.undo == nil {
				return
			}
			r.do(t, r.box, change.undo...)
			got := e.got.Load()
			time.Sleep(1500 * time.Millisecond)
			if e.got.Load() == got {
				t.Error("nothing came any more after the change was undone")
			}
		})
	}
}

// TestForwardCountsAddUp: what conntrack counted and what went beside it is
// what was sent, to the packet.
func TestForwardCountsAddUp(t *testing.T) {
	r := newRouter(t)
	r.rules(t, firewall+masquerade)
	if err := r.box.SetSysctl("net.netfilter.nf_conntrack_acct", "1"); err != nil {
		t.Fatal(err)
	}
	r.up(t, "--recheck", "300ms")
	e := newEcho(t, r.outside.Namespace, "10.2.0.2:7000")
	k := r.talk(t, e.addr, time.Millisecond)
	time.Sleep(3 * time.Second)
	k.end()
	f := r.fast(t, "fast", 17)
	var table string
	if err := r.box.Do(func() error {
		b, err := os.ReadFile("/proc/thread-self/net/nf_conntrack")
		table = string(b)
		return err
	}); err != nil {
		t.Fatal(err)
	}
	m := regexp.MustCompile(`dport=7000 packets=(\d+) bytes=\d+ .*packets=(\d+)`).FindStringSubmatch(table)
	if m == nil {
		t.Fatalf("no entry in:\n%s", table)
	}
	for way, want := range []int64{k.sent.Load(), e.got.Load()} {
		stack, _ := strconv.ParseInt(m[way+1], 10, 64)
		if sum := stack + int64(f.Ways[way].Packets); sum != want {
			t.Errorf("way %d: conntrack counted %d and the fast path %d, together %d of %d", way, stack, f.Ways[way].Packets, sum, want)
		}
		if f.Ways[way].Packets < uint64(want)/2 || stack < 4 {
			t.Errorf("way %d: %d of %d beside the stack, %d by it: want most, and some rechecked", way, f.Ways[way].Packets, want, stack)
		}
	}
	if k.sent.Load() != e.got.Load() || k.answered.Load() != e.got.Load() {
		t.Errorf("sent %d, got %d, answered %d: datagrams were lost", k.sent.Load(), e.got.Load(), k.answered.Load())
	}
}

// TestForwardOutlivesItsFollower: replacing programs loses nothing, neither
// does the follower's death, after whose lease the stack takes over.
func TestForwardOutlivesItsFollower(t *testing.T) {
	r := newRouter(t)
	r.rules(t, firewall+masquerade)
	p := r.up(t, "--lease", "2s")
	e := newEcho(t, r.outside.Namespace, "10.2.0.2:7000")
	k := r.talk(t, e.addr, 500*time.Microsecond)
	r.fast(t, "fast", 17)
	second := r.up(t, "--lease", "2s")
	if err := p.Wait(); err != nil {
		t.Errorf("the replaced follower: %v\n%s", err, p.Output())
	}
	r.fast(t, "fast", 17)
	second.Signal(os.Kill)
	time.Sleep(500 * time.Millisecond)
	s, err := r.state()
	if err != nil {
		t.Fatal(err)
	}
	fast := s.reason("forwarded")
	time.Sleep(500 * time.Millisecond)
	if s, err = r.state(); err != nil || s.reason("forwarded") == fast {
		t.Errorf("without its follower the fast path stands still: %v", err)
	}
	time.Sleep(2 * time.Second)
	if s, err = r.state(); err != nil || s.reason("off") == 0 {
		t.Errorf("after the lease the fast path goes on without a follower: %v", err)
	}
	k.end()
	if k.sent.Load() != e.got.Load() {
		t.Errorf("sent %d, got %d: replacing or the follower's death lost some", k.sent.Load(), e.got.Load())
	}
}

// TestForwardWithoutRules: the routing table alone decides, in both families,
// and rules that come later decide at once.
func TestForwardWithoutRules(t *testing.T) {
	r := newRouter(t)
	r.up(t)
	for _, at := range []string{"10.2.0.2:7000", "[fd02::2]:7000"} {
		r.tcpThrough(t, at, 16<<20)
	}
	s, err := r.state()
	if err != nil || !s.Routed || s.reason("routed") < 5_000 {
		t.Fatalf("%+v, %v: want packets routed", s, err)
	}
	r.rules(t, firewall)
	time.Sleep(100 * time.Millisecond)
	d := net.Dialer{Timeout: time.Second}
	err = r.outside.Namespace.Do(func() error {
		c, err := d.Dial("tcp", "10.1.0.2:9")
		if err == nil {
			c.Close()
		}
		return err
	})
	if err == nil || strings.Contains(fmt.Sprint(err), "refused") {
		t.Errorf("a connection from outside got through the firewall: %v", err)
	}
}
