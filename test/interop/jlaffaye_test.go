package interop

import (
	"bytes"
	"crypto/tls"
	"errors"
	"io"
	"net"
	"net/textproto"
	"testing"
	"time"

	client "github.com/jlaffaye/ftp"
)

// TestJlaffaye walks through what the client library's own tests ask of their
// mock, which can't be another server.
func TestJlaffaye(t *testing.T) {
	host, port := serve(t, "--tls", "auto", t.TempDir())
	insecure := &tls.Config{InsecureSkipVerify: true, ServerName: host, ClientSessionCache: tls.NewLRUClientSessionCache(0)}
	for name, options := range map[string][]client.DialOption{
		"EPSV": nil,
		"PASV": {client.DialWithDisabledEPSV(true)},
		"LIST": {client.DialWithDisabledMLSD(true)},
		"MDTM": {client.DialWithWritingMDTM(true)},
		"TLS":  {client.DialWithExplicitTLS(insecure)},
	} {
		t.Run(name, func(t *testing.T) {
			c, err := client.Dial(net.JoinHostPort(host, port), append(options, client.DialWithTimeout(10*time.Second))...)
			if err != nil {
				t.Fatal(err)
			}
			defer c.Quit()
			ok := func(err error) {
				t.Helper()
				if err != nil {
					t.Fatal(err)
				}
			}
			ok(c.Login("user", "password"))
			ok(c.NoOp())
			ok(c.MakeDir(name))
			ok(c.ChangeDir(name))
			if dir, err := c.CurrentDir(); err != nil || dir != "/"+name {
				t.Errorf("PWD: %q, %v", dir, err)
			}
			want := bytes.Repeat([]byte("0123456789"), 100_000)
			ok(c.Stor("a", bytes.NewReader(want)))
			ok(c.Rename("a", "b c"))
			ok(c.StorFrom("b c", bytes.NewReader([]byte("tail")), 10))
			ok(c.Append("b c", bytes.NewReader([]byte("more"))))
			want = []byte("0123456789tailmore")
			for from := range uint64(len(want) + 1) {
				r, err := c.RetrFrom("b c", from)
				ok(err)
				got, err := io.ReadAll(r)
				ok(err)
				ok(r.Close())
				if !bytes.Equal(got, want[from:]) {
					t.Errorf("from %d: %q", from, got)
				}
			}
			if n, err := c.FileSize("b c"); err != nil || n != int64(len(want)) {
				t.Errorf("SIZE: %d, %v", n, err)
			}
			if !c.IsGetTimeSupported() || !c.IsSetTimeSupported() {
				t.Error("times are not supported")
			}
			at := time.Date(2001, 2, 3, 4, 5, 6, 0, time.UTC)
			ok(c.SetTime("b c", at))
			if got, err := c.GetTime("b c"); err != nil || !got.Equal(at) {
				t.Errorf("MDTM: %s, %v", got, err)
			}
			entries, err := c.List(".")
			if err != nil || len(entries) != 1 || entries[0].Name != "b c" || entries[0].Size != uint64(len(want)) {
				t.Errorf("list: %+v, %v", entries, err)
			}
			if names, err := c.NameList("."); err != nil || len(names) != 1 {
				t.Errorf("NLST: %q, %v", names, err)
			}
			var refusal *textproto.Error
			if _, err := c.Retr("missing"); !errors.As(err, &refusal) || refusal.Code != client.StatusFileUnavailable {
				t.Errorf("RETR of a missing file: %v", err)
			}
			ok(c.Delete("b c"))
			ok(c.ChangeDirToParent())
			ok(c.RemoveDirRecur(name))
			ok(c.Logout())
		})
	}
}
