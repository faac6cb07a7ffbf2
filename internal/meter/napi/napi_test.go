//go:build linux

package napi_test

import (
	"net"
	"testing"

	"github.com/linerate/linerate/internal/meter/napi"
	"github.com/linerate/linerate/internal/testnet"
	"github.com/linerate/linerate/result"
)

// Datagrams over a link are polled packets: the meter must see all of them,
// and the three ways it counts them must agree.
func TestCountsEveryPacket(t *testing.T) {
	l := testnet.NewPair(t, testnet.LinkOptions{})
	m, err := napi.Open(32)
	if err != nil {
		t.Fatal(err)
	}
	defer m.Close()
	const datagrams = 5000
	send(t, l, datagrams)

	vs, err := m.Read(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	packets, _ := result.Sum(vs, result.NAPIPackets, "interface", "backlog")
	if packets < datagrams {
		t.Errorf("%v packets polled from the backlog, want at least %d", packets, datagrams)
	}
	polls, _ := result.Sum(vs, result.NAPIPolls)
	batches, _ := result.Sum(vs, result.NAPIBatch)
	if polls == 0 || batches < polls {
		t.Errorf("%v polls by interface, %v by batch", polls, batches)
	}
	inside, _ := result.Sum(vs, result.NAPISeconds)
	softirq, ok := result.Sum(vs, result.SoftirqSeconds)
	if !ok || inside <= 0 || inside > softirq*1.05 {
		t.Errorf("%v s in polls, %v s in softirqs", inside, softirq)
	}
	if over := m.OverheadSeconds(); over <= 0 || over > 1 {
		t.Errorf("own time %v s", over)
	}
}

func TestRemembersTheLastCalls(t *testing.T) {
	l := testnet.NewPair(t, testnet.LinkOptions{})
	m, err := napi.Open(16)
	if err != nil {
		t.Fatal(err)
	}
	defer m.Close()
	send(t, l, 1000)
	calls, err := m.Calls()
	if err != nil || len(calls) == 0 {
		t.Fatalf("%d calls, %v", len(calls), err)
	}
	perCPU := map[int]int{}
	for i, c := range calls {
		perCPU[c.CPU]++
		if i > 0 && calls[i-1].CPU == c.CPU && calls[i-1].Packet > c.Packet {
			t.Errorf("call %d goes back from packet %d to %d", i, calls[i-1].Packet, c.Packet)
		}
	}
	for cpu, n := range perCPU {
		if n > 16 {
			t.Errorf("core %d keeps %d calls, want at most 16", cpu, n)
		}
	}
}

func send(t *testing.T, l *testnet.Link, n int) {
	t.Helper()
	sink, err := l.B.Namespace.ListenPacket(t.Context(), "udp4", l.B.IPv4.Addr().String()+":0")
	if err != nil {
		t.Fatal(err)
	}
	defer sink.Close()
	c, err := l.A.Namespace.DialContext(t.Context(), "udp4", sink.LocalAddr().(*net.UDPAddr).String())
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	for range n {
		if _, err := c.Write(make([]byte, 64)); err != nil {
			t.Fatal(err)
		}
	}
}
