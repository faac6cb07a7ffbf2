//go:build linux

package qdisc

import (
	"math"
	"testing"

	"github.com/linerate/linerate/internal/host"
	"github.com/linerate/linerate/internal/testnet"
	"github.com/linerate/linerate/result"
)

// A shaped end tells the line it leaves, and what its bucket dropped.
func TestReadsShaper(t *testing.T) {
	l := testnet.NewPair(t, testnet.LinkOptions{})
	h, err := host.LiveIn(l.A.Namespace.Do)
	if err != nil {
		t.Fatal(err)
	}
	defer h.Close()
	m := Meter{h, []string{l.A.Interface}, true}
	if vs, err := m.Read(t.Context()); err != nil || len(vs) > 0 && vs[0].V != 0 {
		t.Errorf("before: %v, %v", vs, err)
	}
	if err := l.A.Shape(10e6); err != nil {
		t.Fatal(err)
	}
	c, err := l.A.Namespace.DialContext(t.Context(), "udp4", l.B.IPv4.Addr().String()+":9")
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	for range 3000 {
		_, _ = c.Write(make([]byte, 1400)) // refused or dropped: that is the point
	}
	vs, err := m.Read(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if rate, _ := result.Get(vs, result.LineRate); math.Abs(rate-10e6) > 1e4 {
		t.Errorf("rate %v, want 10 Mbit/s", rate)
	}
	if n, _ := result.Get(vs, result.NetworkCounter, "counter", "QdiscDrops"); n == 0 {
		t.Error("no drops counted")
	}
}
