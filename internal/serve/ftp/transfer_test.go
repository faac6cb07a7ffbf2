package ftp

import (
	"bytes"
	"io"
	"net"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/linerate/linerate/internal/serve/ftp/store"
	"github.com/linerate/linerate/internal/serve/ftp/store/disk"
	"github.com/linerate/linerate/internal/serve/ftp/users"
	"github.com/linerate/linerate/internal/testnet"
	wire "github.com/linerate/linerate/internal/wire/ftp"
)

// diskStore serves a new directory.
func diskStore(t testing.TB, dir string, o disk.Options) func(users.Account) (store.Store, error) {
	t.Helper()
	st, err := disk.Open(dir, o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { st.Close() })
	return func(users.Account) (store.Store, error) { return st, nil }
}

// large is more than socket buffers hold, so that a transfer of it waits for
// the peer.
const large = 16 << 20

// abort sends ABOR as a client does that follows RFC 959 to the letter: IP and
// the mark of a Synch as urgent data.
func abortUrgently(p *peer) {
	p.t.Helper()
	sendUrgent(p.t, p.tcp.(*net.TCPConn), []byte("\xff\xf4\xff"))
	p.send("\xf2ABOR\r\n")
}

func TestAbort(t *testing.T) { // RFC 959 4.1.3
	for name, abort := range map[string]func(*peer){
		"plain":  func(p *peer) { p.send("ABOR\r\n") },
		"urgent": abortUrgently,
		"last byte urgent": func(p *peer) {
			sendUrgent(p.t, p.tcp.(*net.TCPConn), []byte("ABOR\r\n"))
		},
	} {
		t.Run(name, func(t *testing.T) {
			p := login(t, serve(t, Config{}).addr)
			p.put(noise(large), "STOR a")
			c := p.passive()
			p.do(150, "RETR a")
			abort(p)
			p.want(426)
			p.want(226)
			c.Close()
			p.do(200, "NOOP")

			c = p.passive()
			p.do(150, "STOR b")
			c.Write([]byte("part"))
			eventually(t, "STAT sees the bytes", func() bool {
				return strings.Contains(p.do(211, "STAT").Text(), "STOR /b: 4 bytes")
			})
			abort(p)
			p.want(426)
			p.want(226)
			c.Close()
			p.do(350, "REST 4") // what arrived can be resumed
			p.put([]byte("ial"), "STOR b")
			same(t, "resumed", p.get("RETR b"), []byte("partial"))

			p.passive() // ABOR while the connection is awaited
			p.do(226, "ABOR")
			p.do(229, "EPSV")
			p.send("RETR a\r\nABOR\r\n")
			p.want(426)
			p.want(226)
			p.do(200, "NOOP")
		})
	}
}

func TestCommandsDuringATransferKeepTheirOrder(t *testing.T) {
	p := login(t, serve(t, Config{}).addr)
	p.put(noise(large), "STOR a")
	c := p.passive()
	p.send("RETR a\r\n")
	p.want(150)
	p.send("STAT\r\n")
	if r := p.want(211); !strings.Contains(r.Text(), "RETR /a") {
		t.Errorf("STAT does not show the transfer: %s", r)
	}
	p.send("NOOP\r\nPWD\r\nSYST\r\n")
	io.Copy(io.Discard, c)
	p.want(226)
	p.want(200)
	p.want(257)
	p.want(215)

	// More than the server keeps: the rest waits in the socket.
	c = p.passive()
	p.send("RETR a\r\n" + strings.Repeat("NOOP\r\n", 5*maxQueue))
	p.want(150)
	io.Copy(io.Discard, c)
	p.want(226)
	for range 5 * maxQueue {
		p.want(200)
	}
	c = p.passive()
	p.send("RETR a\r\nQUIT\r\n")
	p.want(150)
	if n, err := io.Copy(io.Discard, c); n != large || err != nil {
		t.Errorf("QUIT behind RETR: %d bytes, %v", n, err)
	}
	p.want(226)
	p.want(221)
}

func TestDataConnectionClosedEarly(t *testing.T) {
	p := login(t, serve(t, Config{}).addr)
	p.put(noise(large), "STOR a")
	c := p.passive()
	p.do(150, "RETR a")
	c.SetLinger(0)
	c.Close()
	p.want(426)

	c = p.passive()
	p.do(150, "STOR b")
	c.Write([]byte("part"))
	eventually(t, "bytes arrive", func() bool { return strings.Contains(p.do(211, "STAT").Text(), ": 4 bytes") })
	c.SetLinger(0)
	c.Close() // a reset: the upload is not complete
	p.want(426)
	if got := string(p.get("NLST")); got != "a\r\n" {
		t.Errorf("a broken-off upload is shown: %q", got)
	}
	p.do(229, "EPSV")
	p.do(550, "RETR b")
}

func TestReaderKeepsWhatItOpened(t *testing.T) {
	for name, cfg := range map[string]Config{"memory": {}, "disk": {Store: diskStore(t, t.TempDir(), disk.Options{})}} {
		t.Run(name, func(t *testing.T) {
			r := serve(t, cfg)
			p, q := login(t, r.addr), login(t, r.addr)
			old := noise(large)
			p.put(old, "STOR a")
			c := p.passive()
			p.do(150, "RETR a")
			q.put([]byte("new"), "STOR a")
			same(t, "second reader", q.get("RETR a"), []byte("new"))
			got, err := io.ReadAll(c)
			if err != nil {
				t.Error(err)
			}
			same(t, "first reader", got, old)
			p.want(226)
		})
	}
}

func TestTwoWritersOfOneName(t *testing.T) {
	for name, cfg := range map[string]Config{"memory": {}, "disk": {Store: diskStore(t, t.TempDir(), disk.Options{})}} {
		t.Run(name, func(t *testing.T) {
			r := serve(t, cfg)
			var all [4][]byte
			var uploads sync.WaitGroup
			for i := range all {
				all[i] = bytes.Repeat([]byte{byte('a' + i)}, 1<<20)
				p := login(t, r.addr)
				c := p.passive()
				uploads.Go(func() {
					p.send("STOR a\r\n")
					rep, err := p.reply()
					if err != nil || rep.Code/100 == 4 || rep.Code/100 == 5 {
						return // a store may refuse the second writer
					}
					c.Write(all[i])
					c.Close()
					p.reply()
				})
			}
			uploads.Wait()
			got := login(t, r.addr).get("RETR a")
			if len(got) != 1<<20 || len(bytes.Trim(got, string(got[:1]))) != 0 {
				t.Errorf("%d bytes, mixed", len(got))
			}
		})
	}
}

func TestNothingLeadsOutOfTheRoot(t *testing.T) {
	outside, root := t.TempDir(), t.TempDir()
	secret := filepath.Join(outside, "secret")
	if err := os.WriteFile(secret, []byte("secret"), 0o644); err != nil {
		t.Fatal(err)
	}
	for name, target := range map[string]string{"file": secret, "dir": outside, "proc": "/proc/self/root" + outside, "up": "../" + filepath.Base(outside)} {
		if err := os.Symlink(target, filepath.Join(root, name)); err != nil {
			t.Fatal(err)
		}
	}
	p := login(t, serve(t, Config{Store: diskStore(t, root, disk.Options{})}).addr)
	p.put([]byte("x"), "STOR a")
	for _, name := range []string{"file", "dir/secret", "proc/secret", "up/secret", "../" + outside + "/secret", "/" + secret, "dir/../../" + secret} {
		for _, cmd := range []string{"RETR ", "STOR ", "APPE "} {
			p.do(229, "EPSV")
			p.send(cmd + name + "\r\n")
			if cmd != "RETR " && name == "file" {
				p.reply() // a store may replace the link, which is inside
				continue
			}
			p.want(550, 553)
		}
		p.do(550, "SIZE %s", name)
		if name != "file" {
			p.do(550, "DELE %s", name)
			p.do(550, "MKD %s.d", name)
		}
		p.do(350, "RNFR a")
		if name != "file" {
			p.do(550, "RNTO %s", name)
		}
		p.do(550, "MFMT 20010203040506 %s", name)
		p.do(550, "SITE CHMOD 777 %s", name)
	}
	p.do(550, "CWD dir")
	p.do(250, "CWD ../../..")
	if got, _, _ := wire.ParseQuoted(p.do(257, "PWD").Text()); got != "/" {
		t.Errorf("PWD: %q", got)
	}
	if b, err := os.ReadFile(secret); err != nil || string(b) != "secret" {
		t.Errorf("the file outside: %q, %v", b, err)
	}
	if all, _ := os.ReadDir(outside); len(all) != 1 {
		t.Errorf("the directory outside has %d entries", len(all))
	}
}

func TestStrayDataConnectionIsTurnedAway(t *testing.T) {
	r := serveOn(t, "[::]:0", Config{})
	_, port, _ := net.SplitHostPort(r.addr)
	p := login(t, net.JoinHostPort("127.0.0.1", port))
	a, err := wire.ParsePASV(p.do(227, "PASV").Text())
	if err != nil {
		t.Fatal(err)
	}
	d := net.Dialer{LocalAddr: &net.TCPAddr{IP: net.IPv4(127, 0, 0, 2)}} // all of 127/8 is ours on Linux
	for range 3 {
		stray, err := d.Dial("tcp", a.String())
		if err != nil {
			testnet.Missing(t, "cannot connect from another address: %v", err)
		}
		defer stray.Close()
	}
	c := p.dialData(a.Port())
	p.do(150, "STOR a")
	c.Write([]byte("mine"))
	c.Close()
	p.want(226)
	same(t, "upload", p.get("RETR a"), []byte("mine"))
}

func TestPassivePortsComeBack(t *testing.T) {
	first := freePorts(t)
	r := serve(t, Config{Ports: PortRange{first, first + 1}, Timeouts: Timeouts{Connect: 300 * time.Millisecond}})
	a, b, c := login(t, r.addr), login(t, r.addr), login(t, r.addr)
	for range 20 { // a session holds one port at most
		a.do(229, "EPSV")
	}
	b.do(227, "PASV")
	c.do(425, "EPSV")
	eventually(t, "an unused port comes back", func() bool {
		c.send("EPSV\r\n")
		return c.want(229, 425).Code == 229
	})
	a.do(425, "LIST") // its port is gone by now
	c.do(425, "LIST") // nobody connects
	for range 3 {
		c.put([]byte("x"), "STOR a")
	}
}

// freePorts finds two neighbouring ports.
func freePorts(t testing.TB) uint16 {
	for range 100 {
		l, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		p := addrOf(l.Addr()).Port()
		m, err := net.ListenTCP("tcp", &net.TCPAddr{IP: net.IPv4(127, 0, 0, 1), Port: int(p) + 1})
		l.Close()
		if err == nil {
			m.Close()
			return p
		}
	}
	t.Fatal("no two ports in a row are free")
	return 0
}

func TestQuotaAndSpace(t *testing.T) {
	r := serve(t, Config{Store: diskStore(t, t.TempDir(), disk.Options{Quota: 1 << 20})})
	p, q := login(t, r.addr), login(t, r.addr)
	c := p.passive()
	p.do(150, "STOR big")
	go c.Write(make([]byte, 8<<20))
	p.want(552)
	c.Close()
	q.do(200, "NOOP")

	m := serve(t, Config{}) // 64 MiB of memory
	p, q = login(t, m.addr), login(t, m.addr)
	c = p.passive()
	p.do(150, "STOR big")
	go c.Write(make([]byte, 96<<20))
	p.want(452)
	c.Close()
	p.do(229, "EPSV")
	p.do(200, "ALLO %d", 1<<30)
	p.do(452, "STOR big") // known before a byte is sent
	q.do(200, "NOOP")
}

func TestFiles4GiBAndMore(t *testing.T) {
	dir := t.TempDir()
	f, err := os.Create(filepath.Join(dir, "sparse"))
	if err != nil {
		t.Fatal(err)
	}
	const size = 5 << 30
	if err := f.Truncate(size); err != nil {
		testnet.Missing(t, "the file system keeps no file of 5 GiB: %v", err)
	}
	if _, err := f.WriteAt([]byte("end"), size-3); err != nil {
		t.Fatal(err)
	}
	f.Close()
	p := login(t, serve(t, Config{Store: diskStore(t, dir, disk.Options{})}).addr)
	if r := p.do(213, "SIZE sparse"); r.Text() != "5368709120" {
		t.Errorf("SIZE: %s", r)
	}
	p.do(350, "REST %d", int64(size-3))
	same(t, "RETR at the end", p.get("RETR sparse"), []byte("end"))
	p.do(350, "REST %d", int64(size))
	same(t, "RETR behind the end", p.get("RETR sparse"), nil)
	p.do(350, "REST %d", int64(size+1))
	p.do(229, "EPSV")
	p.do(554, "RETR sparse")
}
