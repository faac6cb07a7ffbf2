//go:build linux

package main

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"math/rand/v2"
	"net/netip"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/linerate/linerate/internal/port"
)

// TestForwardAgreesWithTheKernel sends the same random packets, valid and not,
// through the same rules twice: once by the kernel alone, which is the oracle,
// and once with the fast path. The same ones must come out, byte for byte.
func TestForwardAgreesWithTheKernel(t *testing.T) {
	for name, rules := range map[string]string{"firewall": firewall, "masquerade": firewall + masquerade, "none": ""} {
		t.Run(name, func(t *testing.T) {
			kernel, _ := cameOut(t, rules, false)
			fast, beside := cameOut(t, rules, true)
			if beside < 200 {
				t.Errorf("%d packets were forwarded beside the stack: too few to compare", beside)
			}
			for _, p := range missingFrom(kernel, fast) {
				t.Errorf("only the kernel alone sent %x", p)
			}
			for _, p := range missingFrom(fast, kernel) {
				t.Errorf("only the fast path sent %x", p)
			}
		})
	}
}

// The hosts of these packets are nobody's, so that no kernel answers for them.
const (
	insideHost, outsideHost = "10.1.0.77", "10.2.0.77"
	nobody                  = "02:00:00:00:00:77"
)

// missingFrom returns what a has and b has not, ten at most.
func missingFrom(a, b [][]byte) (only [][]byte) {
	for _, p := range a {
		if len(only) < 10 && !slices.ContainsFunc(b, func(q []byte) bool { return bytes.Equal(p, q) }) {
			only = append(only, p)
		}
	}
	return only
}

// cameOut sends the packets of one seed from inside and returns what came out
// at the outside, without MAC addresses and sorted, and how many packets went
// beside the stack.
func cameOut(t *testing.T, rules string, fast bool) (out [][]byte, beside uint64) {
	r := newRouter(t)
	r.rules(t, rules)
	// The kernel must not judge sequence numbers: the fast path tells it so.
	if err := r.box.SetSysctl("net.netfilter.nf_conntrack_tcp_be_liberal", "1"); err != nil {
		t.Fatal(err)
	}
	if fast {
		r.up(t)
	}
	for dev, host := range map[string]string{boxIn: insideHost, boxOut: outsideHost} {
		r.do(t, r.box, "ip", "neigh", "replace", host, "lladdr", nobody, "dev", dev, "nud", "permanent")
	}
	var in, outside port.Port
	open := func(e interface{ Do(func() error) error }, name string, to *port.Port) {
		t.Helper()
		if err := e.Do(func() (err error) { *to, err = port.OpenRaw(name); return err }); err != nil {
			t.Fatal(err)
		}
		p := *to
		t.Cleanup(func() { p.Close() })
	}
	open(r.inside.Namespace, r.inside.Interface, &in)
	open(r.outside.Namespace, r.outside.Interface, &outside)
	var mu sync.Mutex
	stop, done := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(done)
		frames := make([]port.Frame, 64)
		for {
			n, err := outside.Recv(frames)
			select {
			case <-stop:
				return
			default:
			}
			for _, f := range frames[:n] {
				if b := f.Data; err == nil && len(b) > 34 && b[12] == 8 && b[13] == 0 && (b[23] == 6 || b[23] == 17) {
					mu.Lock()
					out = append(out, bytes.Clone(b[12:]))
					mu.Unlock()
				}
			}
		}
	}()
	mac := macIn(t, r, boxIn)
	send := func(p port.Port, b []byte) {
		for n := 0; n == 0; {
			var err error
			if n, err = p.Send([]port.Frame{{Data: b}}); err != nil {
				t.Fatal(err)
			}
		}
	}
	random := rand.New(rand.NewPCG(7, 7))
	behind := insideHost // what the outside knows the inside as
	if strings.Contains(rules, "masquerade") {
		behind = "10.2.0.1"
	}
	const flows = 12
	for f := range flows { // both ways, so that conntrack takes them for established
		for range 3 {
			send(in, packetOf(f, insideHost, false, mac, nil))
			time.Sleep(2 * time.Millisecond)
			send(outside, packetOf(f, behind, true, macIn(t, r, boxOut), nil))
			time.Sleep(2 * time.Millisecond)
		}
	}
	time.Sleep(300 * time.Millisecond)
	for i := range 1500 {
		send(in, packetOf(random.IntN(flows+2), insideHost, false, mac, random))
		if i%20 == 0 {
			time.Sleep(time.Millisecond)
		}
	}
	time.Sleep(300 * time.Millisecond)
	close(stop)
	<-done
	if s, err := r.state(); fast && err == nil {
		beside = s.reason("forwarded") + s.reason("routed")
	}
	slices.SortFunc(out, bytes.Compare)
	return out, beside
}

func macIn(t *testing.T, r router, name string) []byte {
	t.Helper()
	text := ""
	if err := r.box.Do(func() error {
		b, err := os.ReadFile("/sys/class/net/" + name + "/address")
		text = string(b)
		return err
	}); err != nil {
		t.Fatal(err)
	}
	mac := make([]byte, 6)
	if _, err := fmt.Sscanf(text, "%02x:%02x:%02x:%02x:%02x:%02x", &mac[0], &mac[1], &mac[2], &mac[3], &mac[4], &mac[5]); err != nil {
		t.Fatal(err)
	}
	return mac
}

// packetOf is a packet of a flow to or from the inside as that is known;
// random, if any, spoils it in one of many
// ways, or not.
func packetOf(flow int, as string, reply bool, to []byte, random *rand.Rand) []byte {
	inside, outside := netip.MustParseAddrPort(fmt.Sprintf("%s:%d", as, 2000+flow)), netip.MustParseAddrPort(fmt.Sprintf(outsideHost+":%d", 3000+flow))
	if reply {
		inside, outside = outside, inside
	}
	proto, header := byte(17), 8
	if flow%2 == 1 {
		proto, header = 6, 20
	}
	payload := 26
	if random != nil {
		payload = 20 + random.IntN(1400)
	}
	b := append(append([]byte{}, to...), 2, 0, 0, 0, 0, 0x77, 8, 0)
	ip := make([]byte, 20)
	ip[0], ip[8], ip[9] = 0x45, 64, proto
	if random != nil {
		ip[1] = byte(random.IntN(256)) &^ 3
		binary.BigEndian.PutUint16(ip[4:], uint16(random.Uint32()))
	}
	binary.BigEndian.PutUint16(ip[2:], uint16(20+header+payload))
	copy(ip[12:], inside.Addr().AsSlice())
	copy(ip[16:], outside.Addr().AsSlice())
	l4 := make([]byte, header+payload)
	binary.BigEndian.PutUint16(l4, inside.Port())
	binary.BigEndian.PutUint16(l4[2:], outside.Port())
	at := 6
	if proto == 6 {
		at, l4[12], l4[13], l4[14] = 16, 5<<4, 0x10, 0x20
	} else {
		binary.BigEndian.PutUint16(l4[4:], uint16(len(l4)))
	}
	kind := 0
	if random != nil {
		kind = random.IntN(24)
	}
	switch kind { // before the checksums
	case 1:
		ip[8] = byte(random.IntN(3))
	case 2:
		ip[6], ip[7] = byte(random.IntN(64)), byte(random.IntN(3)) // fragments, DF
	case 3:
		ip[9] = byte(random.IntN(256))
	case 4:
		// From a port of its own: NAT takes another for one that is in use.
		copy(ip[12:], []byte{byte(random.IntN(256)), 0, 0, byte(random.IntN(256))})
		binary.BigEndian.PutUint16(l4, uint16(20000+random.IntN(30000)))
	case 5:
		copy(ip[16:], []byte{byte(224 + random.IntN(32)), 255, 255, 255})
	case 6:
		if proto == 17 {
			at = -1 // no checksum
		}
	}
	binary.BigEndian.PutUint16(ip[10:], ^checksum(0, ip))
	if at >= 0 {
		start := uint32(checksum(0, ip[12:20])) + uint32(proto) + uint32(len(l4))
		sum := ^checksum(start, l4)
		if sum == 0 && proto == 17 {
			sum = 0xffff
		}
		binary.BigEndian.PutUint16(l4[at:], sum)
	}
	b = append(append(b, ip...), l4...)
	switch kind { // after them
	case 7:
		b[14+10]++
	case 8:
		b[5]++ // another station
	case 9:
		b[14] = 0x40 | byte(random.IntN(16))
	case 10:
		b = b[:14+20+random.IntN(len(l4))]
	}
	return b
}

// checksum is the sum of RFC 1071, not yet complemented.
func checksum(start uint32, b []byte) uint16 {
	for i := 0; i+1 < len(b); i += 2 {
		start += uint32(binary.BigEndian.Uint16(b[i:]))
	}
	if len(b)%2 == 1 {
		start += uint32(b[len(b)-1]) << 8
	}
	for start > 0xffff {
		start = start&0xffff + start>>16
	}
	return uint16(start)
}
