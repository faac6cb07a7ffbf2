package data

import (
	"bytes"
	"errors"
	"io"
	"testing"
	"testing/iotest"

	"github.com/linerate/linerate/internal/serve/ftp/store/storetest"
)

// message is a record of the test below: what follows the handshake.
type message struct {
	kind    byte
	content []byte
	renew   bool // the next record is under the next key
}

// stream sends records from c and closes it.
func stream(c *TLSConn, all []message) error {
	g := c.gather
	secret := bytes.Clone(g.secrets.write)
	if _, err := c.Write([]byte("begin ")); err != nil {
		return err
	}
	g.out.secret = secret
	for _, m := range all {
		g.w = g.out.seal(g.w, m.kind, m.content)
		if m.renew {
			if err := g.out.renew(); err != nil {
				return err
			}
		}
	}
	return errors.Join(c.CloseWrite(), c.Flush())
}

// TestRecords reads records that few peers send, by our own opener and by
// crypto/tls, which must agree.
func TestRecords(t *testing.T) {
	long := storetest.Bytes(maxContent)
	update := message{typeHandshake, []byte{messageKeyUpdate, 0, 0, 1, 0}, true}
	for name, c := range map[string]struct {
		all  []message
		want string
		fail bool
	}{
		"key updates":         {[]message{update, {typeApplication, long, false}, update, {typeApplication, []byte("end"), false}}, "begin " + string(long) + "end", false},
		"padding":             {[]message{{0, append([]byte("padded"), typeApplication, 0, 0), false}}, "begin padded", false},
		"empty":               {[]message{{typeApplication, nil, false}, {typeApplication, []byte("."), false}}, "begin .", false},
		"fatal alert":         {[]message{{typeAlert, []byte{2, 80}, false}}, "begin ", true},
		"all padding":         {[]message{{0, []byte{0, 0}, false}}, "begin ", true},
		"unknown type":        {[]message{{99, []byte("x"), false}}, "begin ", true},
		"key before its time": {[]message{{typeApplication, nil, true}, {typeApplication, []byte("x"), false}}, "begin ", true},
	} {
		for _, how := range []string{"ours", "ours, byte by byte", "crypto/tls"} {
			t.Run(name+"/"+how, func(t *testing.T) {
				server, client := tlsPair(t)
				sent := make(chan error, 1)
				go func() { sent <- stream(client, c.all) }()
				var r io.Reader = server
				switch how {
				case "crypto/tls":
					r = server.Conn
				case "ours, byte by byte":
					r = iotest.OneByteReader(server)
				}
				got, err := io.ReadAll(r)
				if string(got) != c.want || (err != nil) != c.fail {
					t.Errorf("%d bytes of %d, %v", len(got), len(c.want), err)
				}
				if how != "crypto/tls" && server.gather.in == nil {
					t.Error("crypto/tls has read it all")
				}
				if err := <-sent; err != nil {
					t.Error(err)
				}
			})
		}
	}
}

// TestForgedRecord: what was changed on its way never reaches the store.
func TestForgedRecord(t *testing.T) {
	server, client := tlsPair(t)
	go func() {
		g := client.gather
		if _, err := client.Write([]byte("good")); err != nil {
			t.Error(err)
		}
		n := len(g.w)
		if _, err := client.Write([]byte("changed")); err != nil {
			t.Error(err)
		}
		g.w[n+recordHeader] ^= 1
		if err := client.CloseWrite(); err != nil {
			t.Error(err)
		}
	}()
	if got, err := io.ReadAll(server); string(got) != "good" || err == nil {
		t.Errorf("%q, %v", got, err)
	}
}
