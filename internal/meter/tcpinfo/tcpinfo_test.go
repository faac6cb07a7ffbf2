package tcpinfo

import (
	"encoding/binary"
	"math"
	"os"
	"testing"
	"testing/fstest"

	"github.com/linerate/linerate/internal/host"
	"github.com/linerate/linerate/result"
)

// TestReadDump reads a dump recorded on a 6.18 x86 host during an iperf3 run
// over loopback; figures that stand still are those ss -tinm printed beside it.
func TestReadDump(t *testing.T) {
	b, err := os.ReadFile("testdata/loopback.sockdiag")
	if err != nil {
		t.Fatal(err)
	}
	h := host.Recorded(fstest.MapFS{"sockdiag/tcp": {Data: b}})
	vs, err := Meter{Host: h, Port: 5201}.Read(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	const flow = "127.0.0.1:60756-127.0.0.1:5201"
	for _, c := range []struct {
		m    result.Metric
		want float64
		kv   []string
	}{
		{result.TCPMSS, 65483, nil},
		{result.TCPCwnd, 18, []string{"algorithm", "bbr"}},
		{result.TCPRTT, 125e-6, nil},
		{result.TCPMinRTT, 4e-6, nil},
		{result.TCPWindowScale, 10, []string{"window", "send"}},
		{result.TCPWindow, 1114112, []string{"window", "send"}},
		{result.TCPDeliveryRate, 104772800000, nil},
		{result.TCPBytesAcked, 6291494, nil},
		{result.DataSegmentsOut, 147, nil},
		{result.TCPSendBuffer, 3939840, nil},
		{result.TCPReceiveBuffer, 131072, nil},
		{result.TCPRetransmits, 0, nil},
	} {
		if got, ok := result.Get(vs, c.m, append(c.kv, "flow", flow)...); !ok || got != c.want {
			t.Errorf("%s %v = %v, %v; want %v", c.m.Name, c.kv, got, ok, c.want)
		}
	}
	if none, err := (Meter{Host: h, Port: 1}).Read(t.Context()); err != nil || len(none) != 0 {
		t.Errorf("a port nobody uses: %d values, %v", len(none), err)
	}
}

// TestOldKernel wants fields that a kernel did not have left out, not zero.
func TestOldKernel(t *testing.T) {
	vs := decode(make([]byte, 104), binary.LittleEndian) // Linux 3.2: up to tcpi_total_retrans
	if _, ok := result.Get(vs, result.TCPRetransmits); !ok {
		t.Error("retransmits missing")
	}
	if v, ok := result.Get(vs, result.TCPBusy); ok {
		t.Errorf("busy reads %v", v)
	}
}

func TestBigEndian(t *testing.T) {
	b := make([]byte, 240)
	b[5], b[6] = 4, 0x72
	b[7] = 0x80
	binary.BigEndian.PutUint32(b[68:], 600) // µs
	binary.BigEndian.PutUint32(b[148:], math.MaxUint32)
	vs := decode(b, binary.BigEndian)
	if rtt, _ := result.Get(vs, result.TCPRTT); rtt != 600e-6 {
		t.Errorf("RTT %v s", rtt)
	}
	if scale, _ := result.Get(vs, result.TCPWindowScale, "window", "send"); scale != 7 {
		t.Errorf("window scale of the peer %v, want 7", scale)
	}
	if limited, _ := result.Get(vs, result.TCPAppLimited); limited != 1 {
		t.Error("application limit not seen")
	}
	if v, ok := result.Get(vs, result.TCPMinRTT); ok {
		t.Errorf("min RTT without a sample reads %v", v)
	}
}

func FuzzParseDump(f *testing.F) {
	if b, err := os.ReadFile("testdata/loopback.sockdiag"); err == nil {
		f.Add(b)
	}
	f.Add([]byte{16, 0, 0, 0, 20, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0})
	f.Fuzz(func(t *testing.T, b []byte) {
		socks, err := parseDump(b, 0)
		for _, s := range socks {
			if err == nil && len(s.values()) == 0 && len(s.info) >= 8 {
				t.Errorf("no values from %d bytes of tcp_info", len(s.info))
			}
		}
	})
}
