package data

import (
	"bytes"
	"crypto/tls"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"io"
	"testing"

	"github.com/linerate/linerate/internal/serve/ftp/store/disk"
)

func unhex(t *testing.T, s string) []byte {
	t.Helper()
	b, err := hex.DecodeString(s)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// TestTrafficKey is the server's application traffic of RFC 8448 3.
func TestTrafficKey(t *testing.T) {
	secret := unhex(t, "a11af9f05531f856ad47116b45a950328204b4f44bfb6b3a4b4f1f3fcb631643")
	k, err := deriveTrafficKey(tls.TLS_AES_128_GCM_SHA256, secret)
	if err != nil {
		t.Fatal(err)
	}
	if want := unhex(t, "9f02283b6c9c07efc26bb9f2ac92e356"); !bytes.Equal(k.key, want) {
		t.Errorf("key %x, want %x", k.key, want)
	}
	if want := unhex(t, "cf782b88dd83549aadf1e984"); !bytes.Equal(k.iv, want) {
		t.Errorf("iv %x, want %x", k.iv, want)
	}
	if n := k.nonce(0x0102); !bytes.Equal(n[10:], []byte{0xe9 ^ 1, 0x84 ^ 2}) || !bytes.Equal(n[:10], k.iv[:10]) {
		t.Errorf("nonce %x of iv %x", n, k.iv)
	}
	if _, err := deriveTrafficKey(tls.TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256, secret); !errors.Is(err, errNoKernelTLS) {
		t.Errorf("a suite of TLS 1.2: %v", err)
	}
}

// openRecords opens the records of b, in order, and returns the content of
// those before an alert, and that alert.
func openRecords(t *testing.T, k *trafficKey, b []byte) (content, alert []byte) {
	t.Helper()
	aead, err := k.aead()
	if err != nil {
		t.Fatal(err)
	}
	for len(b) > 0 {
		size := recordHeader + int(binary.BigEndian.Uint16(b[3:]))
		if size > len(b) {
			t.Fatalf("stream ends within record %d", k.next)
		}
		plain, err := aead.Open(nil, k.nonce(k.next), b[recordHeader:size], b[:recordHeader])
		if err != nil {
			t.Fatalf("record %d: %v", k.next, err)
		}
		k.next++
		switch kind := plain[len(plain)-1]; kind { // RFC 8446 5.2
		case 23:
			content = append(content, plain[:len(plain)-1]...)
		case 21:
			alert = plain[:len(plain)-1]
		default:
			t.Fatalf("record of type %d", kind)
		}
		b = b[size:]
	}
	return content, alert
}

// TestWriteSecret decrypts by hand what crypto/tls sends after the handshake:
// secret, key and sequence number are those that it uses, with a session
// ticket (server) and without one (client).
func TestWriteSecret(t *testing.T) {
	server, client := tlsPair(t)
	for _, c := range []struct {
		name       string
		conn, peer *TLSConn
		next       uint64
	}{{"server", server, client, 1}, {"client", client, server, 0}} {
		g := c.conn.gather
		k, err := deriveTrafficKey(c.conn.ConnectionState().CipherSuite, g.secrets.write)
		if err != nil {
			t.Fatal(err)
		}
		if err := k.count(g.handshake); err != nil || k.next != c.next {
			t.Errorf("%s: next record %d, want %d: %v", c.name, k.next, c.next, err)
		}
		want := bytes.Repeat([]byte("0123456789"), 5000)
		if _, err := c.conn.Write(want); err != nil {
			t.Fatal(err)
		}
		if _, err := c.conn.toKernel(); !errors.Is(err, errNoKernelTLS) {
			t.Errorf("%s: handed over although crypto/tls has sent: %v", c.name, err)
		}
		if g.secrets.write != nil {
			t.Errorf("%s: secret kept", c.name)
		}
		if err := c.conn.CloseWrite(); err != nil {
			t.Fatal(err)
		}
		// The ticket came in the server's one flight, which the client has read.
		raw, err := io.ReadAll(c.peer.NetConn())
		if err != nil {
			t.Fatal(err)
		}
		got, alert := openRecords(t, k, raw)
		if !bytes.Equal(got, want) || !bytes.Equal(alert, []byte{1, 0}) {
			t.Errorf("%s: %d bytes of %d, alert %v", c.name, len(got), len(want), alert)
		}
	}
}

// TestKernelTLSRefused: what can't be handed over goes on with crypto/tls, and
// nothing was sent.
func TestKernelTLSRefused(t *testing.T) {
	s := diskStore(t, disk.Options{})
	want := bytes.Repeat([]byte("x"), 100_000)
	fill(t, s, "/f", want)
	r, err := s.Open(t.Context(), "/f", 0)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	server, client := tlsPair(t)
	server.gather.handshake = append(server.gather.handshake, 23, 3, 3) // half a record
	if _, err := server.toKernel(); err == nil {
		t.Fatal("handed over with an unknown sequence number")
	}
	sent := make(chan error, 1)
	go func() {
		st, err := Send(t.Context(), server, r, Options{})
		if err == nil && st.Way != WayCopy {
			err = errors.New("sent by " + string(st.Way))
		}
		sent <- err
	}()
	got, err := io.ReadAll(client)
	if err != nil || !bytes.Equal(got, want) {
		t.Errorf("%d bytes of %d: %v", len(got), len(want), err)
	}
	if err := <-sent; err != nil {
		t.Error(err)
	}
}
