package mirror_test

import (
	"bufio"
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"net"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/linerate/linerate/internal/serve/ftp/client"
	"github.com/linerate/linerate/internal/serve/ftp/mirror"
)

// unsigned is an FTPS server that ends data connections without close_notify,
// and has size bytes of which it sends body.
func unsigned(t *testing.T, body string, size int) client.Config {
	ts := httptest.NewTLSServer(nil) // for its certificate
	ts.Close()
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { ln.Close() })
	go func() {
		for {
			c, err := ln.Accept()
			if err != nil {
				return
			}
			go speakTLS(c, ts.TLS, body, size)
		}
	}()
	roots := x509.NewCertPool()
	roots.AddCert(ts.Certificate())
	return client.Config{Location: client.Location{Security: client.Explicit, Host: ln.Addr().String()},
		TLS: &tls.Config{RootCAs: roots}, Timeout: 5 * time.Second}
}

func speakTLS(c net.Conn, conf *tls.Config, body string, size int) {
	defer func() { c.Close() }()
	say := func(s string) { fmt.Fprint(c, s+"\r\n") }
	say("220 hi")
	in := bufio.NewScanner(c)
	for in.Scan() {
		switch verb, _, _ := strings.Cut(in.Text(), " "); verb {
		case "AUTH":
			say("234 go")
			c = tls.Server(c, conf)
			in = bufio.NewScanner(c)
		case "USER":
			say("230 in")
		case "SIZE":
			say(fmt.Sprintf("213 %d", size))
		case "MDTM", "FEAT":
			say("502 no")
		case "EPSV":
			ln, err := net.Listen("tcp", "127.0.0.1:0")
			if err != nil {
				return
			}
			say(fmt.Sprintf("229 (|||%d|)", ln.Addr().(*net.TCPAddr).Port))
			in.Scan() // RETR
			say("150 x")
			raw, err := ln.Accept()
			ln.Close()
			if err != nil {
				return
			}
			_, _ = tls.Server(raw, conf).Write([]byte(body))
			raw.Close()
			say("226 x")
		default:
			say("200 ok")
		}
	}
}

func TestTruncatedTLS(t *testing.T) {
	dir := t.TempDir()
	root := openRoot(t, dir)
	if err := mirror.Get(t.Context(), unsigned(t, "whole", 5), "f", root, "whole", mirror.Options{}); err != nil {
		t.Errorf("all of the file, but no close_notify: %v", err)
	}
	if got, err := os.ReadFile(filepath.Join(dir, "whole")); err != nil || string(got) != "whole" {
		t.Errorf("%q, %v", got, err)
	}
	if err := mirror.Get(t.Context(), unsigned(t, "cut", 5), "f", root, "cut", mirror.Options{}); err == nil {
		t.Error("a truncated file was taken for whole")
	}
	if _, err := os.Stat(filepath.Join(dir, "cut")); err == nil {
		t.Error("a truncated file got its name")
	}
}
