//go:build linux

package testnet

import (
	"context"
	"fmt"
	"io"
	"net"
	"os"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// serve accepts one connection at the far end and sends what f writes to it.
func serve(t *testing.T, n *Namespace, address string, f func(net.Conn)) net.Addr {
	t.Helper()
	l, err := n.Listen(t.Context(), "tcp", net.JoinHostPort(address, "0"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	go func() {
		c, err := l.Accept()
		if err != nil {
			return
		}
		defer c.Close()
		f(c)
	}()
	return l.Addr()
}

func TestPairTalks(t *testing.T) {
	l := NewPair(t, LinkOptions{})
	for _, address := range []string{l.B.IPv4.Addr().String(), l.B.IPv6.Addr().String()} {
		at := serve(t, l.B.Namespace, address, func(c net.Conn) { fmt.Fprint(c, "hello from ", c.RemoteAddr()) })
		c, err := l.A.Namespace.DialContext(t.Context(), "tcp", at.String())
		if err != nil {
			t.Fatal(err)
		}
		defer c.Close()
		got, err := io.ReadAll(c)
		if want := "hello from " + c.LocalAddr().String(); err != nil || string(got) != want {
			t.Errorf("%s: %q, %v, want %q", address, got, err, want)
		}
	}
	if n, err := l.A.Counters(); err != nil || n.TxFrames == 0 || n.RxBytes < n.RxFrames {
		t.Errorf("counters %+v, %v", n, err)
	}
}

// Nothing of a namespace may leak into the threads of the rest of the program.
func TestDoLeavesOthersAlone(t *testing.T) {
	n := NewNamespace(t, "alone")
	inside := ""
	for range 20 {
		err := n.Do(func() (err error) {
			inside, err = os.Readlink("/proc/thread-self/ns/net")
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
		for _, who := range []string{"self", "thread-self"} {
			if outside, _ := os.Readlink("/proc/" + who + "/ns/net"); outside == inside || outside == "" {
				t.Fatalf("%s is in %s", who, outside)
			}
		}
	}
}

func TestSysShowsTheNamespace(t *testing.T) {
	l := NewPair(t, LinkOptions{MTU: JumboMTU})
	err := l.B.Namespace.Do(func() error {
		b, err := os.ReadFile("/sys/class/net/" + l.B.Interface + "/mtu")
		if err == nil && strings.TrimSpace(string(b)) != "9000" {
			err = fmt.Errorf("MTU %s", b)
		}
		return err
	})
	if err != nil {
		t.Error(err)
	}
	if cc, err := l.B.Namespace.Sysctl("net.ipv4.tcp_congestion_control"); cc != "reno" || err != nil {
		t.Errorf("congestion control %q, %v", cc, err)
	}
}

func TestCloseFreesTheNamespace(t *testing.T) {
	NeedRoot(t)
	n, err := New("short")
	if err != nil {
		t.Fatal(err)
	}
	p, err := n.Start(t.Context(), NeedTool(t, "sleep"), "60")
	if err != nil {
		t.Fatal(err)
	}
	n.Close()
	n.Close()
	if _, err := n.Start(t.Context(), NeedTool(t, "true")); err == nil {
		t.Error("a child was started in a closed namespace")
	}
	select {
	case <-p.done:
	case <-time.After(10 * time.Second):
		t.Fatal("the child outlived its namespace")
	}
}

func TestProcess(t *testing.T) {
	l := NewPair(t, LinkOptions{})
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	sh := NeedTool(t, "sh")
	p, err := l.A.Namespace.Start(ctx, sh, "-c", "echo listening on 7; cat /proc/self/net/dev; sleep 60")
	if err != nil {
		t.Fatal(err)
	}
	if line, err := p.Await(ctx, l.A.Interface); err != nil || !strings.Contains(line, ":") {
		t.Errorf("%q, %v", line, err)
	}
	p.Stop()
	if err := unix.Kill(p.PID(), 0); err == nil {
		t.Error("the child still runs after Stop")
	}
	if _, err := p.Await(ctx, "never written"); err == nil {
		t.Error("Await found what was not written")
	}
	if _, err := l.A.Namespace.Run(ctx, sh, "-c", "echo why >&2; exit 3"); err == nil || !strings.Contains(err.Error(), "why") {
		t.Errorf("error %v, want exit status with the last line", err)
	}
}
