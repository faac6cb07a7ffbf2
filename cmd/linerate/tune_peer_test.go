package main

import (
	"bytes"
	"strings"
	"testing"
)

// A board that acknowledges nothing wrong is slow for its PC's ACKs: the PC's
// owner is told the registry values.
func TestTuneAdvisePeer(t *testing.T) {
	const board = "protocol: tcp\ngoodput: 45MB/s\nlink.speed: 1Gbit/s\ntcp.bytes-per-ack: 2920\ncpu.softirq: 40%\n"
	for _, c := range []struct {
		os, want string
		code     int
	}{{"windows", "TcpAckFrequency /t REG_DWORD /d 10", exitDone}, {"vms", "want windows, ndk, linux, devicetree", exitUsage}} {
		var out bytes.Buffer
		if code := run(t.Context(), cli{strings.NewReader(board), &out, &out}, []string{"tune", "advise", "--facts", "-", "--peer-os", c.os}); code != c.code || !strings.Contains(out.String(), c.want) {
			t.Errorf("--peer-os %s: exit status %d, want %d and %q:\n%s", c.os, code, c.code, c.want, out.String())
		}
	}
}
