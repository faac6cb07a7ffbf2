package ftp

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/linerate/linerate/internal/serve/ftp/store"
	"github.com/linerate/linerate/internal/serve/ftp/store/disk"
	"github.com/linerate/linerate/internal/serve/ftp/store/memory"
	"github.com/linerate/linerate/internal/serve/ftp/users"
	"github.com/linerate/linerate/result"
)

// watchResources fails unless goroutines and descriptors return to what they
// were; call the result when all clients are gone.
func watchResources(t *testing.T) (settled func()) {
	t.Helper()
	goroutines, files := runtime.NumGoroutine(), descriptors()
	return func() {
		t.Helper()
		defer func() {
			if t.Failed() {
				buf := make([]byte, 1<<16)
				t.Logf("%d goroutines, were %d; %d descriptors, were %d\n%s", runtime.NumGoroutine(), goroutines, descriptors(), files,
					buf[:runtime.Stack(buf, true)])
			}
		}()
		eventually(t, "goroutines and descriptors return to the base", func() bool {
			return runtime.NumGoroutine() <= goroutines && descriptors() <= files
		})
	}
}

// vanish breaks a connection off without a word.
func vanish(c net.Conn) {
	c.(*net.TCPConn).SetLinger(0)
	c.Close()
}

func TestClientVanishesInEveryState(t *testing.T) {
	server, client := certify(t)
	r := serve(t, Config{TLS: server})
	settled := watchResources(t)
	p := login(t, r.addr)
	p.put(noise(large), "STOR big")
	vanish(p.tcp)
	states := map[string]func(p *peer){
		"greeted":       func(*peer) {},
		"half a line":   func(p *peer) { p.send("USER us") },
		"user given":    func(p *peer) { p.do(331, "USER user") },
		"in AUTH":       func(p *peer) { p.do(234, "AUTH TLS") },
		"in handshake":  func(p *peer) { p.do(234, "AUTH TLS"); p.tcp.Write([]byte{22, 3, 1, 2, 0, 1}) },
		"protected":     func(p *peer) { p.secure(client) },
		"logged in":     (*peer).auth,
		"listening":     func(p *peer) { p.auth(); p.do(229, "EPSV") },
		"data up":       func(p *peer) { p.auth(); vanish(p.passive()) },
		"awaiting data": func(p *peer) { p.auth(); p.do(229, "EPSV"); p.send("RETR big\r\n") },
		"get":           func(p *peer) { p.auth(); p.passive(); p.do(150, "RETR big") },
		"get, half":     func(p *peer) { p.auth(); c := p.passive(); p.do(150, "RETR big"); io.CopyN(io.Discard, c, large/2) },
		"put":           func(p *peer) { p.auth(); c := p.passive(); p.do(150, "STOR x"); c.Write(noise(100_000)) },
		"TLS get": func(p *peer) {
			p.private(client)
			c := p.passive()
			p.do(150, "RETR big")
			io.CopyN(io.Discard, p.data(c), 100_000)
		},
		"TLS put": func(p *peer) {
			p.private(client)
			c := p.passive()
			p.do(150, "STOR x")
			p.data(c).Write(noise(100_000))
		},
		"TLS, mute":  func(p *peer) { p.private(client); p.passive(); p.do(150, "STOR x") },
		"renaming":   func(p *peer) { p.auth(); p.do(350, "RNFR big") },
		"pipelining": func(p *peer) { p.auth(); p.send("NOOP\r\nNOOP\r\nRETR big\r\nNO") },
	}
	var left []*peer
	for name, reach := range states {
		for _, leave := range []func(net.Conn){vanish, func(c net.Conn) { c.Close() }} {
			p := dial(t, r.addr)
			reach(p)
			leave(p.tcp)
			left = append(left, p) // its data connection stays up: the control connection decides
		}
		if t.Failed() {
			t.Fatalf("in state %q", name)
		}
	}
	eventually(t, "sessions end", func() bool {
		vs, err := r.Read(t.Context())
		n, ok := result.Get(vs, result.FTPSessions)
		return err == nil && ok && n == 0
	})
	for _, p := range left {
		p.hangUp()
	}
	settled()
	p = login(t, r.addr)
	if got := string(p.get("NLST")); got != "big\r\n" {
		t.Errorf("left in the store: %q", got)
	}
}

func TestThousandConnections(t *testing.T) {
	r := serve(t, Config{})
	settled := watchResources(t)
	steady := login(t, r.addr)
	want := noise(1 << 20)
	steady.put(want, "STOR a")
	for range 4 {
		conns := make([]net.Conn, 250)
		for i := range conns {
			c, err := net.Dial("tcp", r.addr)
			if err != nil {
				t.Fatal(err)
			}
			conns[i] = c
		}
		same(t, "a session beside them", steady.get("RETR a"), want)
		for _, c := range conns {
			vanish(c)
		}
	}
	steady.hangUp()
	settled()
}

func TestManyTransfersCutOffAndResumed(t *testing.T) {
	dir := t.TempDir()
	r := serve(t, Config{Store: diskStore(t, dir, disk.Options{})})
	settled := watchResources(t)
	const n, half = 100, 50_000
	whole := noise(2 * half)
	peers := make([]*peer, n)
	for i := range peers {
		p := login(t, r.addr)
		c := p.passive()
		p.do(150, "STOR f%d", i)
		c.Write(whole[:half])
		peers[i] = p
	}
	for _, p := range peers {
		eventually(t, "bytes arrive", func() bool { return strings.Contains(p.do(211, "STAT").Text(), fmt.Sprint(half)) })
	}
	over, cancel := context.WithCancel(t.Context())
	cancel()
	if err := r.Shutdown(over); !errors.Is(err, context.Canceled) {
		t.Errorf("Shutdown: %v", err)
	}
	r.stop()

	again := serve(t, Config{Store: diskStore(t, dir, disk.Options{})})
	p := login(t, again.addr)
	for i := range n {
		if got := p.do(213, "SIZE f%d", i).Text(); got != fmt.Sprint(half) {
			t.Fatalf("f%d: %s bytes are left, want %d", i, got, half)
		}
	}
	p.do(350, "REST %d", half)
	p.put(whole[half:], "STOR f7")
	same(t, "resumed after the restart", p.get("RETR f7"), whole)
	p.hangUp()
	again.stop()
	for _, p := range peers {
		p.hangUp()
	}
	settled()
}

// broken fails in the middle of things.
type broken struct{ store.Store }

var errDevice = errors.New("device error at sector 4711")

func (b broken) Open(ctx context.Context, name string, at int64) (store.Reader, error) {
	r, err := b.Store.Open(ctx, name, at)
	if err != nil {
		return nil, err
	}
	return brokenReader{r}, nil
}

type brokenReader struct{ store.Reader }

func (r brokenReader) Read(b []byte) (int, error) {
	n, err := r.Reader.Read(b[:min(len(b), 1000)])
	if err == nil {
		err = &fs.PathError{Op: "read", Path: "/dev/sda1", Err: errDevice}
	}
	return n, err
}

func TestStoreFailsMidway(t *testing.T) {
	st, err := memory.New(memory.Options{Budget: 1 << 20})
	if err != nil {
		t.Fatal(err)
	}
	defer st.Close()
	r := serve(t, Config{Store: func(users.Account) (store.Store, error) { return broken{st}, nil }})
	p := login(t, r.addr)
	p.put(noise(10_000), "STOR a")
	c := p.passive()
	p.do(150, "RETR a")
	io.Copy(io.Discard, c)
	if rep := p.want(451); strings.Contains(rep.Text(), "sda1") {
		t.Errorf("the reply tells a path of the host: %s", rep)
	}
	p.do(200, "NOOP")
}

// FuzzControl sends garbage to a live server: it must answer or hang up, go on
// serving others, and keep nothing.
func FuzzControl(f *testing.F) {
	for _, s := range []string{
		"NOOP\r\n", "RETR a\r\nABOR\r\n", "EPSV\r\nLIST\r\nABOR\r\n", "\xff\xf4\xff\xf2ABOR\r\n", "REST 9\r\nSTOR x\r\n", "PORT 1,2,3,4,5,6\r\n",
		"SITE UTIME a b c d UTC\r\n", "MLST \r\x00\r\n", "OPTS MLST ;;;\r\n", `XCRC "a 1 2` + "\r\n", "RANG 1 2\r\nHASH a\r\n", "AUTH TLS\r\n\x16\x03",
		"PASV\r\nPASV\r\nEPSV ALL\r\nQUIT\r\n", "STAT *\r\nMFMT 1 2\r\n", "MODE Z\r\nTYPE A\r\nREIN\r\n",
	} {
		f.Add([]byte(s))
	}
	server, _ := certify(f)
	r := serve(f, Config{TLS: server, Timeouts: Timeouts{Login: time.Second, Idle: time.Second, Connect: 50 * time.Millisecond, Stall: 50 * time.Millisecond}})
	f.Fuzz(func(t *testing.T, in []byte) {
		for _, loggedIn := range []bool{false, true} {
			p := dial(t, r.addr)
			if loggedIn {
				p.auth()
			}
			p.tcp.SetDeadline(time.Now().Add(patience))
			go func() {
				p.tcp.Write(in)
				p.tcp.(*net.TCPConn).CloseWrite()
			}()
			if _, err := io.Copy(io.Discard, p.r); errors.Is(err, context.DeadlineExceeded) {
				t.Fatalf("no end after %q", in)
			}
			p.hangUp()
		}
		login(t, r.addr).do(221, "QUIT")
	})
}

// TestSlowReaderOfReplies: who sends commands and reads nothing is hung up on.
func TestSlowReaderOfReplies(t *testing.T) {
	r := serve(t, Config{Timeouts: Timeouts{Reply: 200 * time.Millisecond}})
	settled := watchResources(t)
	p := login(t, r.addr)
	p.tcp.SetWriteDeadline(time.Now().Add(patience))
	line := []byte("HELP\r\n")
	for {
		if _, err := p.tcp.Write(line); err != nil {
			if ne, ok := errors.AsType[net.Error](err); ok && ne.Timeout() {
				t.Error("the server neither reads on nor hangs up")
			}
			break
		}
	}
	p.tcp.Close()
	settled()
}

func TestParallelSessions(t *testing.T) {
	server, client := certify(t)
	r := serve(t, Config{TLS: server})
	settled := watchResources(t)
	var all sync.WaitGroup
	for i := range 16 {
		p := dial(t, r.addr)
		if i%2 == 0 {
			conf := client.Clone()
			conf.ClientSessionCache = tls.NewLRUClientSessionCache(1)
			p.private(conf)
		} else {
			p.auth()
		}
		all.Go(func() {
			for range 5 {
				want := noise(200_000)
				p.put(want, "STOR f%d", i)
				same(t, "file", p.get("RETR f%d", i), want)
				p.get("MLSD")
			}
			p.do(221, "QUIT")
			p.hangUp()
		})
	}
	all.Wait()
	settled()
}
