package pcap_test

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/linerate/linerate/internal/testnet"
	"github.com/linerate/linerate/internal/wire/pcap"
)

func writeNG(t *testing.T) []byte {
	var file bytes.Buffer
	w, err := pcap.NewNGWriter(&file, pcap.NGOptions{Link: 1, Snap: 64, Interface: "eth7", Filter: "udp port 53", Application: "linerate"})
	if err != nil {
		t.Fatal(err)
	}
	for i := range 3 {
		if err := w.Write(1_700_000_000_123_456_789+int64(i), bytes.Repeat([]byte{byte(i)}, 61+i), 1514, i == 2); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(1_700_000_001_000_000_000, 10, 4, 7); err != nil {
		t.Fatal(err)
	}
	return file.Bytes()
}

func TestNGWriterIsRead(t *testing.T) {
	r, err := pcap.NewReader(bytes.NewReader(writeNG(t)))
	if err != nil {
		t.Fatal(err)
	}
	var rec pcap.Record
	for i := range 3 {
		if err := r.Next(&rec); err != nil || rec.Time != 1_700_000_000_123_456_789+int64(i) || rec.Len != 1514 || rec.Link != 1 ||
			!bytes.Equal(rec.Data, bytes.Repeat([]byte{byte(i)}, 61+i)) {
			t.Errorf("%d: %+v, %v", i, rec, err)
		}
	}
	if _ = r.Next(&rec); r.Drops() != 4 {
		t.Errorf("%d drops", r.Drops())
	}
}

// TestNGWriterIsReadByWireshark has Wireshark's reader judge the options.
func TestNGWriterIsReadByWireshark(t *testing.T) {
	tshark := testnet.NeedTool(t, "tshark")
	name := filepath.Join(t.TempDir(), "x.pcapng")
	if err := os.WriteFile(name, writeNG(t), 0o600); err != nil {
		t.Fatal(err)
	}
	out, err := exec.CommandContext(t.Context(), tshark, "-r", name, "-T", "fields", "-e", "frame.time_epoch", "-e", "frame.len", "-e", "frame.cap_len",
		"-e", "frame.interface_name", "-e", "frame.packet_flags_direction").CombinedOutput()
	if err != nil || !strings.Contains(string(out), "1700000000.123456791\t1514\t63\teth7\t0x00000002\n") {
		t.Errorf("%v: %s", err, out)
	}
}
