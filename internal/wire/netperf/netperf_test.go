package netperf

import (
	"errors"
	"net/netip"
	"os"
	"testing"
	"time"

	"github.com/linerate/linerate/result"
)

// What netperf itself printed, one block a test.
func TestParseOutput(t *testing.T) {
	b, err := os.ReadFile("testdata/netperf.txt")
	if err != nil {
		t.Fatal(err)
	}
	runs, err := ParseOutput(string(b))
	if err != nil {
		t.Fatal(err)
	}
	want := []struct {
		test       string
		message    int
		throughput float64
	}{
		{"TCP_STREAM", 16384, 9760.73e6}, {"TCP_MAERTS", 16384, 5234.44e6}, {"UDP_STREAM", 1024, 88.08e6}, {"TCP_RR", 1, 18455.95},
		{"TCP_STREAM", 16384, 4240.31e6}, {"TCP_RR", 1, 20926.67}, {"TCP_STREAM", 16384, 14492.03e6}, {"TCP_STREAM", 16384, 9145.23e6},
		{"TCP_RR", 1, 64813.63}, {"UDP_STREAM", 65507, 2216.61e6},
	}
	if len(runs) != len(want) {
		t.Fatalf("%d tests, want %d", len(runs), len(want))
	}
	for i, w := range want {
		r := runs[i]
		if r.Test != w.test || r.Message != w.message || r.Throughput < w.throughput*(1-1e-9) || r.Throughput > w.throughput*(1+1e-9) {
			t.Errorf("test %d: %+v, want %+v", i+1, r, w)
		}
	}
	u := runs[2]
	if u.Sent != 493.32e6 || u.Messages != 60672 || u.Received != 10833 {
		t.Errorf("UDP_STREAM: %+v", u)
	}
	if runs[4].LocalCPU != 99.5 || !runs[3].Trans || runs[0].Trans {
		t.Errorf("%+v", runs)
	}
}

func TestResult(t *testing.T) {
	runs := []Run{{Test: "UDP_STREAM", Message: 1024, Elapsed: 1, Throughput: 8e6, Sent: 10e6, Messages: 100, Received: 80}}
	r := Result(runs, time.Unix(1, 0))
	if v, ok := result.Get(r.Totals, result.Goodput); !ok || v != 8e6 || r.Origin != result.Imported {
		t.Errorf("%+v", r)
	}
	if v, _ := result.Get(r.Totals, result.LossRatio); v != 0.2 {
		t.Errorf("loss %v", v)
	}
	if r = Result(append(runs, runs...), time.Unix(1, 0)); len(r.Trials) != 2 || len(r.Totals) != 0 || r.Duration != 2*time.Second {
		t.Errorf("%+v", r)
	}
}

// The table of netperf -t omni -- -d rr -r 100,200.
func TestParseOmniTable(t *testing.T) {
	runs, err := ParseOutput(`OMNI Send|Recv TEST from 0.0.0.0 (0.0.0.0) port 0 AF_INET to 127.0.0.1 () port 0 AF_INET
Local       Local       Remote      Remote      Request Response Elapsed Throughput Throughput 
Send Socket Recv Socket Recv Socket Send Socket Size    Size     Time               Units      
Size        Size        Size        Size        Bytes   Bytes    (sec)                         
Final       Final       Final       Final                                                      
4194304     436716      0           0           100     200      1.00    64788.12   Trans/s    
`)
	if err != nil || runs[0].Throughput != 64788.12 || !runs[0].Trans || runs[0].Message != 100 || runs[0].Response != 200 || runs[0].Elapsed != 1 {
		t.Errorf("%+v, %v", runs, err)
	}
}

func TestParseOutputRefuses(t *testing.T) {
	if _, err := ParseOutput("ls: no such file"); !errors.Is(err, ErrOutput) {
		t.Error(err)
	}
	if _, err := ParseOutput("MIGRATED TCP STREAM TEST from 0.0.0.0 () port 0 AF_INET to h () port 0 AF_INET\nestablish control: are you sure there is a netserver\n"); err == nil {
		t.Error("a test without figures is taken")
	}
}

func TestRequest(t *testing.T) {
	q := Request{Type: Omni, Protocol: ProtoUDP, Direction: ServerSends | ServerReceives, Flags: NoDelay | MeasureCPU, SendBuffer: 1000, RecvBuffer: -1,
		SendSize: -1, RecvSize: -1, Request: 100, Response: 200, Length: -500, Port: 0, Client: netip.MustParseAddrPort("192.0.2.1:4000"), TOS: 32, Congestion: "cubic"}
	got, err := ParseRequest(q.Message())
	if err != nil || got != q {
		t.Errorf("%+v, %v", got, err)
	}
	for name, change := range map[string]func(*Request){
		"no size":         func(q *Request) { q.Request = 0 },
		"too large":       func(q *Request) { q.Response = 70000 },
		"protocol":        func(q *Request) { q.Protocol = 132 },
		"direction":       func(q *Request) { q.Direction = 9 },
		"port":            func(q *Request) { q.Port = 70000 },
		"connect and UDP": func(q *Request) { q.Direction, q.Flags = 0, ConnectTest },
	} {
		bad := q
		change(&bad)
		if _, err := ParseRequest(bad.Message()); !errors.Is(err, ErrMessage) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestResults(t *testing.T) {
	r := Results{BytesReceived: 5 << 33, BytesSent: 7, RecvCalls: 3, Elapsed: 10.5, CPU: 12.5, User: 1, CPUs: 4, Retransmits: -1, Congestion: "reno"}
	got := ParseResults(r.Message(Omni), MeasureCPU)
	if got != r {
		t.Errorf("%+v, want %+v", got, r)
	}
	// Without the flag the CPU words hold anything.
	if got := ParseResults(r.Message(Omni), 0); got.CPU != -1 || got.User != 0 {
		t.Errorf("%+v", got)
	}
	m := r.Message(TCPStream)
	if m.Type() != TCPStream+2 || string(m[8:16]) != "\x42\x24\x00\x00\x00\x00\x00\x00" { // 5 << 33 as a double
		t.Errorf("type %v, % x", m.Type(), m[8:16])
	}
}

func TestMessages(t *testing.T) {
	if p := NewPassphrase("secret"); p.Type() != Passphrase || p.PassphraseText() != "secret" {
		t.Errorf("%v %q", p.Type(), p.PassphraseText())
	}
	if f := Failure(Omni, 22); f.Type() != 98 || f.Errno() != 22 {
		t.Errorf("%v %d", f.Type(), f.Errno())
	}
	if c := Calibrated(1, 8); c.float(0) != 1 || c.word(1) != 8 {
		t.Error("calibration")
	}
	for _, ty := range []Type{TCPStream, TCPMaerts, UDPStream, TCPRR, UDPRR, TCPCRR, Omni} {
		if got := (Response{Port: 12345}).Message(ty); got.Type() != ty+1 || !contains(got, 12345) {
			t.Errorf("%v: response without its port", ty)
		}
	}
}

func contains(m *Message, w int32) bool {
	for i := range Size/4 - headWords {
		if m.word(i) == w {
			return true
		}
	}
	return false
}

func FuzzRequest(f *testing.F) {
	for _, ty := range []Type{Omni, TCPStream, TCPMaerts, UDPStream, TCPRR, TCPCC, 999} {
		var m Message
		m.setRaw(0, int32(ty))
		for i := range 40 {
			m.setWord(i, int32(i+1))
		}
		f.Add(m[:])
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		var m Message
		copy(m[:], b)
		q, err := ParseRequest(&m)
		if err == nil && (q.SendSize > maxSize || q.Request > maxSize || q.Response > maxSize || q.RecvBuffer > maxBuffer) {
			t.Errorf("%+v", q)
		}
		_ = ParseResponse(&m)
		if r := ParseResults(&m, MeasureCPU); r.Elapsed != r.Elapsed || r.CPU > 101 {
			t.Errorf("%+v", r)
		}
	})
}

func FuzzParseOutput(f *testing.F) {
	b, err := os.ReadFile("testdata/netperf.txt")
	if err != nil {
		f.Fatal(err)
	}
	f.Add(string(b))
	f.Fuzz(func(t *testing.T, s string) {
		if runs, err := ParseOutput(s); err == nil {
			Result(runs, time.Unix(0, 0))
		}
	})
}
