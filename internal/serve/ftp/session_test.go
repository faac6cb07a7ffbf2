package ftp

import (
	"bufio"
	"bytes"
	"context"
	"io"
	"net"
	"os"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/pires/go-proxyproto"

	"github.com/linerate/linerate/internal/serve/ftp/data"
	"github.com/linerate/linerate/internal/serve/ftp/users"
	"github.com/linerate/linerate/result"
)

func TestTimeouts(t *testing.T) {
	r := serve(t, Config{Timeouts: Timeouts{Login: 150 * time.Millisecond, Idle: 200 * time.Millisecond, Stall: 300 * time.Millisecond}})

	// A byte now and then keeps nobody's session.
	slow := dial(t, r.addr)
	go func() {
		for range 100 {
			if _, err := io.WriteString(slow.tcp, "U"); err != nil {
				return
			}
			time.Sleep(20 * time.Millisecond)
		}
	}()
	slow.want(421)

	again := login(t, r.addr)
	time.Sleep(170 * time.Millisecond) // longer than Login
	again.do(331, "USER user")
	again.do(230, "PASS password")

	login(t, r.addr).want(421)
	busy := login(t, r.addr)
	c := busy.passive()
	busy.do(150, "STOR a")
	for range 4 { // longer than Idle, never longer than Stall
		c.Write([]byte("x"))
		time.Sleep(150 * time.Millisecond)
	}
	c.Close()
	busy.want(226)
	same(t, "slow upload", busy.get("RETR a"), []byte("xxxx"))
	busy.passive()
	busy.do(150, "STOR b")
	busy.want(426) // stalled
	busy.do(200, "NOOP")
}

func TestLimits(t *testing.T) {
	account := users.Account{Name: "user", Sessions: 2}
	r := serve(t, Config{Limits: Limits{Sessions: 4}, Users: users.Fixed{Account: account, Password: "password"}})
	a, b, c := login(t, r.addr), login(t, r.addr), dial(t, r.addr)
	c.do(331, "USER user")
	c.do(530, "PASS password")
	a.do(220, "REIN")
	c.do(331, "USER user")
	c.do(230, "PASS password")
	dial(t, r.addr)
	full, err := net.Dial("tcp", r.addr)
	if err != nil {
		t.Fatal(err)
	}
	defer full.Close()
	if got, _ := io.ReadAll(full); !strings.HasPrefix(string(got), "421 ") {
		t.Errorf("the fifth session got %q", got)
	}
	b.do(221, "QUIT")
	eventually(t, "a place is free again", func() bool {
		c, err := net.Dial("tcp", r.addr)
		if err != nil {
			return false
		}
		defer c.Close()
		line := make([]byte, 4)
		io.ReadFull(c, line)
		return string(line) == "220 "
	})

	one := serve(t, Config{Limits: Limits{PerAddress: 1}})
	dial(t, one.addr)
	second, err := net.Dial("tcp", one.addr)
	if err != nil {
		t.Fatal(err)
	}
	defer second.Close()
	if got, _ := io.ReadAll(second); !strings.HasPrefix(string(got), "421 ") {
		t.Errorf("the second session of an address got %q", got)
	}
}

func TestErrorsBeforeLoginAreLimited(t *testing.T) {
	p := dial(t, serve(t, Config{}).addr)
	for range maxFailures - 1 {
		p.do(500, "XYZZY")
	}
	p.do(421, "XYZZY")
	if _, err := p.reply(); err != io.EOF {
		t.Errorf("the session goes on: %v", err)
	}
}

func TestShutdownDrains(t *testing.T) {
	r := serve(t, Config{})
	idle, busy, late := login(t, r.addr), login(t, r.addr), login(t, r.addr)
	want := noise(large)
	busy.put(want, "STOR a")
	c := busy.passive()
	busy.do(150, "RETR a")
	d := late.passive()
	late.do(150, "STOR b")
	d.Write([]byte("part"))
	eventually(t, "bytes arrive", func() bool { return strings.Contains(late.do(211, "STAT").Text(), ": 4 bytes") })

	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error)
	go func() { done <- r.Shutdown(ctx) }()
	idle.want(421)
	got, err := io.ReadAll(c)
	if err != nil {
		t.Error(err)
	}
	same(t, "transfer under way", got, want)
	busy.want(226)
	busy.want(421)
	cancel() // no more patience: the upload is cut off
	if err := <-done; err != context.Canceled {
		t.Errorf("Shutdown: %v", err)
	}
}

func TestReloadOfUsers(t *testing.T) {
	r := serve(t, Config{})
	old := login(t, r.addr)
	r.SetUsers(users.Fixed{Account: users.Account{Name: "new"}, Password: "secret"})
	old.do(200, "NOOP")
	p := dial(t, r.addr)
	p.do(331, "USER user")
	p.do(530, "PASS password")
	p.do(331, "USER new")
	p.do(230, "PASS secret")
}

func TestPROXYProtocol(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	r := serve(t, Config{})
	var served sync.WaitGroup
	served.Go(func() { r.Serve(t.Context(), &proxyproto.Listener{Listener: l}, false) })
	defer served.Wait()
	defer l.Close()
	tcp, err := net.Dial("tcp", l.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer tcp.Close()
	io.WriteString(tcp, "PROXY TCP4 192.0.2.9 192.0.2.1 40000 21\r\n")
	p := &peer{t: t, tcp: tcp, conn: tcp, r: bufio.NewReader(tcp)}
	p.want(220)
	p.auth()
	if text := p.do(211, "STAT").Text(); !strings.Contains(text, "192.0.2.9") {
		t.Errorf("STAT does not name the client behind the proxy: %s", text)
	}
	p.put([]byte("through the proxy"), "STOR a")
	same(t, "get", p.get("RETR a"), []byte("through the proxy"))
	p.do(504, "PORT 127,0,0,1,200,1") // the proxy is not the client
}

func TestCountersAndResult(t *testing.T) {
	var mu sync.Mutex
	var got []*result.Result
	var xfer bytes.Buffer
	r := serve(t, Config{Xferlog: NewXferlog(&xfer), Knobs: data.Knobs{SendSize: 1460, Copy: true}, Done: func(x *result.Result) {
		mu.Lock()
		defer mu.Unlock()
		got = append(got, x)
	}})
	p := login(t, r.addr)
	p.put(noise(1000), "STOR a b")
	p.get("RETR a b")
	p.get("NLST")
	c := p.passive()
	p.do(150, "STOR c")
	c.SetLinger(0)
	c.Close()
	p.want(226, 426) // nothing was sent: the reset may come as the end
	p.do(221, "QUIT")
	vs, err := r.Read(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []struct {
		m  result.Metric
		kv []string
		v  float64
	}{
		{result.FTPLogins, []string{"outcome", "accepted"}, 1},
		{result.FTPTransfers, []string{"direction", "get", "outcome", "completed"}, 1},
		{result.FTPBytes, []string{"direction", "put"}, 1000},
		{result.FTPBytes, []string{"direction", "get"}, 1000},
	} {
		if v, ok := result.Get(vs, want.m, want.kv...); !ok || v != want.v {
			t.Errorf("%s %v: %v, want %v", want.m.Name, want.kv, v, want.v)
		}
	}
	mu.Lock()
	defer mu.Unlock()
	if len(got) != 3 {
		t.Fatalf("%d results, want one for each file", len(got))
	}
	get := got[1]
	if get.Workload.Kind != "ftp.retr" || get.Ending != result.Completed || get.Ends[0].Settings["ftp.data-buffer"] != "1460" || get.Ends[0].Settings["ftp.no-copy"] != "false" {
		t.Errorf("result: %+v", get)
	}
	if v, ok := result.Get(get.Totals, result.Bytes); !ok || v != 1000 {
		t.Errorf("bytes: %v", v)
	}
	lines := strings.Split(xfer.String(), "\n")
	if f := strings.Fields(lines[0]); len(lines) != 4 || len(f) != 18 || f[7] != "1000" || f[8] != "/a_b" || f[11] != "i" || f[17] != "c" {
		t.Errorf("xferlog: %q", lines)
	}
}

// TestMemoryOfIdleSessions holds what a logged-in session costs.
func TestMemoryOfIdleSessions(t *testing.T) {
	server, client := certify(t)
	for _, c := range []struct {
		name  string
		limit int64 // bytes
		login func(addr string) *peer
	}{
		{"plain", 20 << 10, func(addr string) *peer { return login(t, addr) }},
		{"TLS", 40 << 10, func(addr string) *peer {
			p := dial(t, addr)
			p.secure(client)
			p.auth()
			return p
		}},
	} {
		t.Run(c.name, func(t *testing.T) {
			r := serve(t, Config{TLS: server})
			const n = 100
			// The test's own clients are in this process too: measure what goes
			// when only the server's sessions end.
			peers := make([]*peer, n)
			for i := range peers {
				peers[i] = c.login(r.addr)
			}
			with := inUse()
			r.stop()
			without := inUse()
			runtime.KeepAlive(peers)
			each := (with - without) / n
			t.Logf("%d bytes a session", each)
			if each > c.limit {
				t.Errorf("%d bytes a session, want at most %d", each, c.limit)
			}
		})
	}
}

// inUse returns the bytes of heap and stacks in use.
func inUse() int64 {
	runtime.GC()
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int64(m.HeapInuse + m.StackInuse)
}

// descriptors counts the open ones of this process; 0 where it can't be told.
func descriptors() int {
	all, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		return 0
	}
	return len(all)
}

// TestRateIsSharedByTheSessionsOfAUser: two at once get no more than one.
func TestRateIsSharedByTheSessionsOfAUser(t *testing.T) {
	const rate = 1 << 20
	r := serve(t, Config{Users: users.Fixed{Account: users.Account{Name: "user", Rate: rate}, Password: "password"}})
	begin := time.Now()
	var both sync.WaitGroup
	for i := range 2 {
		p := login(t, r.addr)
		both.Go(func() { p.put(noise(rate/4), "STOR f%d", i) })
	}
	both.Wait()
	if took := time.Since(begin); took < 300*time.Millisecond {
		t.Errorf("half a second's bytes took %s", took)
	}
}
