package sa_test

import (
	"bytes"
	"encoding/hex"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/linerate/linerate/internal/serve/fastpath/ipsec/sa"
	"github.com/linerate/linerate/internal/testnet"
	"github.com/linerate/linerate/internal/wire/pcap"
)

// TestTsharkOpens has tshark verify and decrypt what we seal, with the keys.
// ChaCha20-Poly1305 is none of tshark 4.0's: TestVectors has the example of its RFC.
func TestTsharkOpens(t *testing.T) {
	tshark := testnet.NeedTool(t, "tshark")
	raw := func(n int) string {
		b := make([]byte, n)
		for i := range b {
			b[i] = byte(i + 1)
		}
		if n == 0 {
			return ""
		}
		return "0x" + hex.EncodeToString(b)
	}
	var packets [][]byte
	var names []string // of associations
	name := filepath.Join(t.TempDir(), "esp.pcap")
	args := []string{"-r", name, "-o", "esp.enable_encryption_decode:TRUE", "-o", "esp.enable_authentication_check:TRUE",
		"-T", "fields", "-e", "esp.spi", "-e", "esp.sequence", "-e", "esp.icv_good", "-e", "udp.dstport", "-e", "udp.length", "-e", "ipv6.dst"}
	for _, v := range []struct {
		suite, encryption string
		key               int
		authentication    string
		auth              int
	}{
		{"aes128gcm16", "AES-GCM with 16 octet ICV [RFC4106]", 20, "NULL", 0},
		{"aes256gcm16", "AES-GCM with 16 octet ICV [RFC4106]", 36, "NULL", 0},
		{"aes128-sha256", "AES-CBC [RFC3602]", 16, "HMAC-SHA-256-128 [RFC4868]", 32},
		{"aes256-sha384", "AES-CBC [RFC3602]", 32, "HMAC-SHA-384-192 [RFC4868]", 48},
		{"aes256-sha512", "AES-CBC [RFC3602]", 32, "HMAC-SHA-512-256 [RFC4868]", 64},
		{"null-sha256", "NULL", 0, "HMAC-SHA-256-128 [RFC4868]", 32},
	} {
		for _, port := range []uint16{0, 4500} {
			p := with(v.suite)
			p.SPI = 0x1001 + uint32(len(names))
			p.Encap = sa.Encap{Source: port, Target: port}
			out, _ := pair(t, p)
			packets = append(packets, protect(t, out, packet(false, 100, 0)), protect(t, out, packet(true, 33, 0)), damaged(protect(t, out, packet(false, 100, 0))))
			names = append(names, fmt.Sprintf("%s, port %d", v.suite, port))
			args = append(args, "-o", fmt.Sprintf(`uat:esp_sa:"IPv4","*","*","%#08x","%s","%s","%s","%s"`, p.SPI, v.encryption, raw(v.key), v.authentication, raw(v.auth)))
		}
	}
	write(t, name, packets...)
	out, err := exec.Command(tshark, args...).Output()
	if err != nil {
		t.Fatal(err, string(err.(*exec.ExitError).Stderr))
	}
	lines := strings.Split(strings.TrimSpace(string(out)), "\n")
	if len(lines) != len(packets) {
		t.Fatalf("%d lines of %d packets: %s", len(lines), len(packets), out)
	}
	for i, line := range lines {
		f := strings.Split(line, "\t")
		good := f[2] == "1" || f[2] == "True"
		which := names[i/3]
		if i%3 == 2 {
			if good {
				t.Errorf("%s: tshark takes a damaged packet", which)
			}
			continue
		}
		if !good || f[1] != fmt.Sprint(i%3+1) || !strings.HasSuffix(f[3], "7001") || (f[5] != "") != (i%3 == 1) {
			t.Errorf("%s: packet %d is %q to tshark", which, i%3+1, line)
		}
	}
}

func damaged(b []byte) []byte {
	b = bytes.Clone(b)
	b[len(b)-1] ^= 1
	return b
}

// write makes a capture of bare IP packets.
func write(t *testing.T, name string, packets ...[]byte) {
	t.Helper()
	f, err := os.Create(name)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	w, err := pcap.NewWriter(f, 101, 65535)
	if err != nil {
		t.Fatal(err)
	}
	for i, p := range packets {
		if err := w.Write(int64(i)*1e6, p, len(p)); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Flush(); err != nil {
		t.Fatal(err)
	}
}
