package main

import (
	"bufio"
	"context"
	"crypto/tls"
	"fmt"
	"net"
	"net/http"
	"net/textproto"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/linerate/linerate/result"
)

// startFTP runs "serve ftp" with args until the test ends and returns what it
// says.
func startFTP(t *testing.T, args ...string) (said *lines, stop func() int) {
	t.Helper()
	said = &lines{}
	ctx, cancel := context.WithCancel(context.Background())
	over := make(chan int, 1)
	go func() {
		over <- run(ctx, cli{strings.NewReader(""), said, said}, append([]string{"serve", "ftp", "--listen", "127.0.0.1:0"}, args...))
	}()
	status := -1
	stop = func() int {
		if cancel(); status < 0 {
			status = <-over
		}
		return status
	}
	t.Cleanup(func() { stop() })
	await(t, said, "serving ftp://")
	return said, stop
}

// await returns the rest of the line behind what, once the server says it.
func await(t *testing.T, said *lines, what string) string {
	t.Helper()
	for range 500 {
		if _, rest, ok := strings.Cut(said.String(), what); ok {
			if line, _, whole := strings.Cut(rest, "\n"); whole {
				return strings.TrimRight(line, "/")
			}
		}
		time.Sleep(20 * time.Millisecond)
	}
	t.Fatalf("the server did not say %q but %q", what, said)
	return ""
}

// dialControl connects and wants replies of the codes to the commands.
func dialControl(t *testing.T, addr string, dialogue ...string) *textproto.Conn {
	t.Helper()
	c, err := net.DialTimeout("tcp", addr, 5*time.Second)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	p := textproto.NewConn(c)
	talk(t, p, append([]string{"220"}, dialogue...)...)
	return p
}

// talk wants the code first, and then of each "code command".
func talk(t *testing.T, p *textproto.Conn, dialogue ...string) {
	t.Helper()
	for _, line := range dialogue {
		code, command, _ := strings.Cut(line, " ")
		if command != "" {
			p.PrintfLine("%s", command)
		}
		var want int
		fmt.Sscan(code, &want)
		if _, _, err := p.ReadResponse(want); err != nil {
			t.Fatalf("%q: %v", command, err)
		}
	}
}

func TestServeFTPOverTLSWithMetricsAndResults(t *testing.T) {
	dir := t.TempDir()
	said, stop := startFTP(t, "--tls", "auto", "--metrics", "127.0.0.1:0", "--results", dir, "--xferlog", filepath.Join(dir, "xferlog"), "--yield", "--data-buffer", "1460")
	print := await(t, said, "SHA-256 fingerprint ")
	c, err := net.Dial("tcp", await(t, said, "serving ftp://"))
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	r := textproto.NewReader(bufio.NewReader(c))
	r.ReadLine()
	fmt.Fprint(c, "AUTH TLS\r\n")
	r.ReadLine()
	secure := tls.Client(c, &tls.Config{InsecureSkipVerify: true})
	if err := secure.Handshake(); err != nil {
		t.Fatal(err)
	}
	shown := secure.ConnectionState().PeerCertificates[0]
	if got := fingerprint(&tls.Certificate{Certificate: [][]byte{shown.Raw}}); got != print {
		t.Errorf("fingerprint %s, said %s", got, print)
	}
	q := textproto.NewConn(secure)
	talk(t, q, "331 USER user", "230 PASS password", "200 TYPE I")
	q.PrintfLine("EPSV")
	_, text, err := q.ReadResponse(229)
	if err != nil {
		t.Fatal(err)
	}
	var port int
	if _, err := fmt.Sscanf(text[strings.Index(text, "("):], "(|||%d|)", &port); err != nil {
		t.Fatal(err)
	}
	d, err := net.Dial("tcp", fmt.Sprintf("127.0.0.1:%d", port))
	if err != nil {
		t.Fatal(err)
	}
	talk(t, q, "150 STOR a")
	fmt.Fprint(d, "content")
	d.Close()
	talk(t, q, "226")

	page, err := http.Get(strings.TrimSuffix("http://"+await(t, said, "serving http://"), "/"))
	if err != nil {
		t.Fatal(err)
	}
	defer page.Body.Close()
	body, err := bufio.NewReader(page.Body).ReadString(0)
	if want := `linerate_ftp_payload_bytes_total{direction="put"} 7`; !strings.Contains(body, want) {
		t.Errorf("metrics lack %s: %v\n%s", want, err, body)
	}
	q.Close()
	stop()
	found, err := filepath.Glob(filepath.Join(dir, "*.json"))
	if err != nil || len(found) != 1 {
		t.Fatalf("results: %v, %v", found, err)
	}
	f, err := os.Open(found[0])
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	x, err := result.Decode(f)
	if err != nil || x.Workload.Kind != "ftp.stor" || x.Ends[0].Settings["ftp.yield"] != "true" || x.Ends[0].Settings["ftp.data-buffer"] != "1460" {
		t.Errorf("result: %+v, %v", x, err)
	}
	if b, err := os.ReadFile(filepath.Join(dir, "xferlog")); err != nil || !strings.Contains(string(b), " 7 /a b _ i r user ") {
		t.Errorf("xferlog: %q, %v", b, err)
	}
}

func TestServeFTPRefusesWhatIsNotSafe(t *testing.T) {
	missing := filepath.Join(t.TempDir(), "missing")
	for _, c := range []struct {
		args   []string
		status int
		says   string
	}{
		{[]string{"--listen", "0.0.0.0:0"}, exitUsage, "linerate serve ftp passwd alice >> users"},
		{[]string{"--listen", "[::]:0"}, exitUsage, "linerate serve ftp --users users --listen [::]:"},
		{[]string{"--require-tls"}, exitUsage, "--tls auto"},
		{[]string{"--implicit", "127.0.0.1:0"}, exitUsage, "--tls auto"},
		{[]string{"--tls", "yes"}, exitUsage, "auto or off"},
		{[]string{"--cert", "x"}, exitUsage, "go together"},
		{[]string{"--cert", missing, "--key", missing}, exitFailed, missing},
		{[]string{"--users", missing}, exitFailed, missing},
		{[]string{"--passive-ports", "5-4"}, exitUsage, "FIRST-LAST"},
		{[]string{"--advertise", "::1"}, exitUsage, "IPv4"},
		{[]string{"--proxy-protocol", "x"}, exitUsage, "--proxy-protocol"},
		{[]string{"--data-buffer", "much"}, exitUsage, "data-buffer"},
		{[]string{"--memory", "much"}, exitUsage, "--memory"},
		{[]string{missing}, exitFailed, missing},
		{[]string{"a", "b"}, exitUsage, "one DIR"},
		{[]string{"passwd"}, exitUsage, "wants USER"},
		{[]string{"passwd", "a", "sesions=1"}, exitUsage, "sessions="},
		{[]string{"passwd", "a:b"}, exitUsage, "name"},
	} {
		status, _, errs := shell(t, append([]string{"serve", "ftp"}, c.args...)...)
		if status != c.status || !strings.Contains(errs, c.says) {
			t.Errorf("%v: status %d, %q; want %d and %q", c.args, status, errs, c.status, c.says)
		}
	}
}

func TestSystemdSockets(t *testing.T) {
	t.Setenv("LISTEN_PID", "1")
	t.Setenv("LISTEN_FDS", "2")
	if all, err := activated(); err != nil || all != nil {
		t.Errorf("sockets of another process: %v, %v", all, err)
	}
	t.Setenv("LISTEN_PID", fmt.Sprint(os.Getpid()))
	t.Setenv("LISTEN_FDS", "-1")
	if _, err := activated(); err == nil {
		t.Error("LISTEN_FDS=-1 is taken")
	}
}
