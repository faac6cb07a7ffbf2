package host_test

import (
	"context"
	"errors"
	"io"
	"io/fs"
	"net"
	"os"
	"strconv"
	"strings"
	"testing"

	"github.com/linerate/linerate/internal/host"
	"github.com/linerate/linerate/internal/testnet"
)

func read(t *testing.T, h host.Host, name string) string {
	t.Helper()
	b, err := fs.ReadFile(h, name)
	if err != nil {
		t.Fatal(err)
	}
	return strings.TrimSpace(string(b))
}

// TestInsideSeesItsNamespace sends over a link between two namespaces and
// looks at one end from a goroutine outside.
func TestInsideSeesItsNamespace(t *testing.T) {
	link := testnet.NewPair(t, testnet.LinkOptions{})
	h, err := host.LiveIn(link.A.Namespace.Do)
	if err != nil {
		t.Fatal(err)
	}
	defer h.Close()
	before := counter(t, read(t, h, "link/eth0/stats64"), "tx_packets")
	transfer(t, link)
	if n := counter(t, read(t, h, "link/eth0/stats64"), "tx_packets") - before; n < 10 {
		t.Errorf("%d packets counted on eth0", n)
	}
	// The namespace has seen this one connection; the box has seen others.
	if n := activeOpens(t, h); n != 1 {
		t.Errorf("%d connections opened in the namespace, want 1", n)
	}
	if mtu := read(t, h, "sys/class/net/eth0/mtu"); mtu != "1500" {
		t.Errorf("sys shows MTU %s", mtu)
	}
	if err := h.Write("link/eth0/mtu", "1400\n"); err != nil {
		t.Fatal(err)
	}
	if mtu := read(t, h, "link/eth0/mtu"); mtu != "1400" {
		t.Errorf("MTU %s after 1400 was set", mtu)
	}
	if err := h.Write("ethtool/eth0/features", "tso: off"); err != nil {
		t.Error(err)
	}
	if err := h.Write("ethtool/eth0/rings", "rx: 64"); !errors.Is(err, errors.ErrUnsupported) {
		t.Errorf("rings of a veth: %v", err)
	}
	if err := h.Write("link/eth0/mtu", "1"); err == nil {
		t.Error("MTU 1 was taken")
	}
	if err := h.Write("link/eth0/address", "02:00:00:00:00:01"); !errors.Is(err, errors.ErrUnsupported) {
		t.Errorf("address: %v", err)
	}
	if err := h.Write("proc/sys/net/ipv4/no_such", "1"); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("no such sysctl: %v", err)
	}
	if err := h.Write("proc/sys/net/ipv4/tcp_rmem", "4096 8192 8192"); err != nil {
		t.Error(err)
	}
	if rmem := strings.Join(strings.Fields(read(t, h, "proc/sys/net/ipv4/tcp_rmem")), " "); rmem != "4096 8192 8192" {
		t.Errorf("tcp_rmem %s", rmem)
	}
	if rmem := read(t, live(t), "proc/sys/net/ipv4/tcp_rmem"); strings.HasSuffix(rmem, "\t8192") {
		t.Error("tcp_rmem changed outside")
	}
	h.Close()
	if _, err := h.Open("proc/stat"); err == nil {
		t.Error("a closed namespace opens files")
	}
}

// transfer moves a little over TCP from A to B.
func transfer(t *testing.T, link *testnet.Link) {
	t.Helper()
	ctx := context.Background()
	l, err := link.B.Namespace.Listen(ctx, "tcp", net.JoinHostPort(link.B.IPv4.Addr().String(), "0"))
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	c, err := link.A.Namespace.DialContext(ctx, "tcp", l.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	s, err := l.Accept()
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	go c.Write(make([]byte, 4<<20))
	if _, err := io.CopyN(io.Discard, s, 4<<20); err != nil {
		t.Fatal(err)
	}
}

func live(t *testing.T) host.Host {
	t.Helper()
	h, err := host.Live()
	if err != nil {
		t.Fatal(err)
	}
	return h
}

// counter finds a number among "name number" lines.
func counter(t *testing.T, text, name string) int {
	t.Helper()
	for line := range strings.Lines(text) {
		if k, v, _ := strings.Cut(strings.TrimSpace(line), " "); k == name {
			n, err := strconv.Atoi(v)
			if err != nil {
				t.Fatal(err)
			}
			return n
		}
	}
	t.Fatalf("no %s in %q", name, text)
	return 0
}

// activeOpens is tcpActiveOpens of RFC 4022.
func activeOpens(t *testing.T, h host.Host) int {
	t.Helper()
	var tcp []string // the last line of two: names, numbers
	for line := range strings.Lines(read(t, h, "proc/net/snmp")) {
		if strings.HasPrefix(line, "Tcp:") {
			tcp = strings.Fields(line)
		}
	}
	n, err := strconv.Atoi(tcp[5])
	if err != nil {
		t.Fatal(err)
	}
	return n
}

func TestInNamespaceNamesWhatIsMissing(t *testing.T) {
	if _, err := host.InNamespace("no-such"); !errors.Is(err, os.ErrNotExist) || !strings.Contains(err.Error(), "no-such") {
		t.Errorf("err = %v", err)
	}
}

func TestLiveTree(t *testing.T) {
	h := live(t)
	for name, want := range map[string]error{
		"proc/net/softnet_stat": nil, "link/lo/mtu": nil, "sockdiag/tcp": nil, "link/lo/operstate": nil, "ethtool/lo/features": nil,
		"link/lo/nothing": fs.ErrNotExist, "link/no-such0/mtu": fs.ErrNotExist, "ethtool/no-such0": fs.ErrNotExist,
		"etc/passwd": fs.ErrNotExist, "../etc": fs.ErrInvalid, "sockdiag/udp": fs.ErrNotExist, "ethtool/lo/rings": errors.ErrUnsupported,
	} {
		if _, err := fs.ReadFile(h, name); !errors.Is(err, want) {
			t.Errorf("%s: %v, want %v", name, err, want)
		}
	}
	es, err := fs.ReadDir(h, "link/lo")
	if err != nil || len(es) < 5 {
		t.Errorf("link/lo holds %v, %v", es, err)
	}
	if err := h.Write("etc/passwd", ""); err == nil {
		t.Error("etc can be written")
	}
}
