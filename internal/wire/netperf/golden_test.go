package netperf

import (
	"encoding/hex"
	"net/netip"
	"os"
	"strings"
	"testing"
)

// golden reads a message that netperf or netserver put on the wire, its
// trailing zeros left out.
func golden(t *testing.T, name string) *Message {
	t.Helper()
	text, err := os.ReadFile("testdata/" + name + ".hex")
	if err != nil {
		t.Fatal(err)
	}
	b, err := hex.DecodeString(strings.Join(strings.Fields(string(text)), ""))
	if err != nil {
		t.Fatal(err)
	}
	var m Message
	copy(m[:], b)
	return &m
}

// netperf -t TCP_STREAM -c -C, and what netserver answers.
func TestGoldenTCPStream(t *testing.T) {
	q, err := ParseRequest(golden(t, "tcp_stream-request"))
	want := Request{Type: Omni, Protocol: ProtoTCP, Direction: ServerReceives, Flags: MeasureCPU | WantInfo, SendBuffer: -1, RecvBuffer: -1,
		SendSize: -1, RecvSize: -1, Request: -1, Response: -1, Length: 1, Client: netip.MustParseAddrPort("0.0.0.0:0"), TOS: -1}
	if err != nil || q != want {
		t.Errorf("request %+v, %v", q, err)
	}
	r := ParseResponse(golden(t, "tcp_stream-response"))
	if r.Port != 0x9e6f || r.RecvBuffer != 131072 || r.SendBuffer != 16384 || r.Flags != MeasureCPU {
		t.Errorf("response %+v", r)
	}
	m := golden(t, "tcp_stream-results")
	if m.Type() != 0x62000000 || m.Errno() != 0 {
		t.Errorf("results of type %#x", int32(m.Type()))
	}
	got := ParseResults(m, r.Flags)
	if got.BytesReceived != 0x4ca00000 || got.RecvCalls != 0x4b3a || got.Elapsed < 1.0 || got.Elapsed > 1.1 || got.CPU != 100 || got.CPUs != 2 || got.Congestion != "reno" {
		t.Errorf("results %+v", got)
	}
}

// netperf -t UDP_RR -- -r 100,200.
func TestGoldenUDPRR(t *testing.T) {
	q, err := ParseRequest(golden(t, "udp_rr-request"))
	if err != nil || q.Protocol != ProtoUDP || q.Direction != ServerSends|ServerReceives || q.Request != 100 || q.Response != 200 || q.Length != 1 {
		t.Errorf("request %+v, %v", q, err)
	}
	r := ParseResponse(golden(t, "udp_rr-response"))
	got := ParseResults(golden(t, "udp_rr-results"), r.Flags)
	if r.Port == 0 || r.Flags&MeasureCPU != 0 || got.Transactions < 1000 || got.CPU != -1 {
		t.Errorf("response %+v, results %+v", r, got)
	}
}

// What we send differs from the original's request in these words only: the
// core to bind to stays, the ring has one buffer, the family is named.
func TestRequestIsTheOriginals(t *testing.T) {
	theirs := golden(t, "tcp_stream-request")
	q, err := ParseRequest(theirs)
	if err != nil {
		t.Fatal(err)
	}
	ours := q.Message()
	for i := range Size / 4 {
		same := ours.raw(i) == theirs.raw(i)
		switch i - headWords {
		case qSendWidth, qRecvWidth, qFamily:
		default:
			if !same {
				t.Errorf("word %d: %#x, the original sends %#x", i-headWords, ours.raw(i), theirs.raw(i))
			}
		}
	}
}
