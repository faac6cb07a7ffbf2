package fastpath

import (
	"bytes"
	"encoding/binary"
	"net/netip"
	"testing"

	"github.com/cilium/ebpf"

	"github.com/linerate/linerate/internal/testnet"
	"github.com/linerate/linerate/internal/wire/frame"
)

// programs are the programs on tables of their own, attached to nothing; what
// goes through them is passed in and read back (BPF_PROG_TEST_RUN).
type programs struct {
	objs  programObjects
	table *table
	path  Path
}

// The interfaces of these tests: a run's packets come in on loopback, the only
// one that there surely is.
const (
	inIndex  = 1
	seed     = 0x5eed
	outIndex = 1
)

var (
	ours = [6]byte{2, 0, 0, 0, 0, 1}
	next = [6]byte{2, 0, 0, 0, 0, 9}
)

func newPrograms(t *testing.T) *programs {
	t.Helper()
	testnet.NeedRoot(t)
	spec, err := loadProgram()
	if err != nil {
		t.Fatal(err)
	}
	p := &programs{path: Path{opt: Options{Flows: 64}}}
	p.path.opt.Dir = t.TempDir()
	p.path.size(spec)
	if err := spec.LoadAndAssign(&p.objs, nil); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { p.objs.Close() })
	if p.table, err = openTable(p.objs.Ways, seed); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { p.table.close() })
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	must(p.objs.Settings.Put(uint32(0), programConfig{Lease: 1 << 62, Recheck: 1 << 61, Generation: 1, Mask: p.objs.Ways.MaxEntries() - 1, Seed: seed}))
	must(p.objs.Interfaces.Put(uint32(inIndex), programInterface{Mac: ours, Ours: 1, Mtu: 1500}))
	must(p.objs.Ports.Put(uint32(outIndex), uint32(outIndex)))
	return p
}

// learn makes both ways of c fast, as if the stack had been watched.
func (p *programs) learn(t *testing.T, c Connection, change func(w *programWay)) {
	t.Helper()
	if err := p.table.add(c); err != nil {
		t.Fatal(err)
	}
	for _, w := range p.ways(t, c) {
		w.Checked, w.Generation, w.In, w.Out, w.Mtu, w.Dmac, w.Smac = 1<<60, 1, inIndex, outIndex, 1500, next, ours
		if change != nil {
			change(w)
		}
	}
}

// ways returns those of a connection that the table holds.
func (p *programs) ways(t *testing.T, c Connection) [2]*programWay {
	t.Helper()
	i, ok := p.table.find(c.Original)
	if !ok {
		t.Fatalf("%+v is not held", c)
	}
	return [2]*programWay{&p.table.ways[i], &p.table.ways[p.table.ways[i].Other]}
}

// run passes a frame through the program.
func (p *programs) run(t *testing.T, in []byte) (action uint32, out []byte) {
	t.Helper()
	o := ebpf.RunOptions{Data: in, DataOut: make([]byte, len(in)+64)}
	action, err := p.objs.Forward.Run(&o)
	if err != nil {
		t.Fatal(err)
	}
	return action, o.DataOut
}

// reason returns how often a reason was counted.
func (p *programs) reason(t *testing.T, r programReason) (sum uint64) {
	t.Helper()
	var each []uint64
	if err := p.objs.Reasons.Lookup(uint32(r), &each); err != nil {
		t.Fatal(err)
	}
	for _, n := range each {
		sum += n
	}
	return sum
}

const (
	xdpPass     = 2
	xdpRedirect = 4
)

// datagram is an Ethernet frame to us with UDP, or TCP whose flags are ACK, its
// checksums right.
func datagram(tu Tuple, payload int, vlan uint16) []byte {
	b := append(append([]byte{}, ours[:]...), next[:]...)
	if vlan != 0 {
		b = binary.BigEndian.AppendUint16(binary.BigEndian.AppendUint16(b, 0x8100), vlan)
	}
	header := 8
	if tu.Protocol == tcp {
		header = 20
	}
	if tu.Source.Addr().Is4() {
		b = binary.BigEndian.AppendUint16(b, 0x0800)
		ip := make([]byte, 20)
		ip[0], ip[8], ip[9] = 0x45, 64, tu.Protocol
		binary.BigEndian.PutUint16(ip[2:], uint16(20+header+payload))
		copy(ip[12:], tu.Source.Addr().AsSlice())
		copy(ip[16:], tu.Target.Addr().AsSlice())
		binary.BigEndian.PutUint16(ip[10:], ^sum(0, ip))
		b = append(b, ip...)
	} else {
		b = binary.BigEndian.AppendUint16(b, 0x86dd)
		ip := make([]byte, 40)
		ip[0], ip[6], ip[7] = 0x60, tu.Protocol, 64
		binary.BigEndian.PutUint16(ip[4:], uint16(header+payload))
		copy(ip[8:], tu.Source.Addr().AsSlice())
		copy(ip[24:], tu.Target.Addr().AsSlice())
		b = append(b, ip...)
	}
	l4 := make([]byte, header+payload)
	binary.BigEndian.PutUint16(l4, tu.Source.Port())
	binary.BigEndian.PutUint16(l4[2:], tu.Target.Port())
	at := 6
	if tu.Protocol == tcp {
		at, l4[12], l4[13] = 16, 5<<4, 0x10
	} else {
		binary.BigEndian.PutUint16(l4[4:], uint16(len(l4)))
	}
	for i := range payload {
		l4[header+i] = byte(i * 7)
	}
	check := ^sum(pseudo(tu, len(l4)), l4)
	if check == 0 && tu.Protocol == udp {
		check = 0xffff
	}
	binary.BigEndian.PutUint16(l4[at:], check)
	return append(b, l4...)
}

func sum(start uint32, b []byte) uint16 {
	for i := 0; i+1 < len(b); i += 2 {
		start += uint32(binary.BigEndian.Uint16(b[i:]))
	}
	if len(b)%2 == 1 {
		start += uint32(b[len(b)-1]) << 8
	}
	return frame.Fold(uint64(start))
}

func pseudo(tu Tuple, length int) uint32 {
	return uint32(sum(0, tu.Source.Addr().AsSlice())) + uint32(sum(0, tu.Target.Addr().AsSlice())) + uint32(tu.Protocol) + uint32(length)
}

func tuple(t *testing.T, source, target string, protocol uint8) Tuple {
	t.Helper()
	return Tuple{netip.MustParseAddrPort(source), netip.MustParseAddrPort(target), protocol}
}

// forwarded is what must come out for a frame that comes in as tu: the frame
// that would have been made for the addresses after NAT, one hop later.
func forwarded(out Tuple, payload int, vlan uint16) []byte {
	b := datagram(out, payload, vlan)
	copy(b, next[:])
	copy(b[6:], ours[:])
	ip := b[14:]
	if vlan != 0 {
		ip = b[18:]
	}
	if ip[0]>>4 == 6 {
		ip[7]--
		return b
	}
	ip[8]--
	ip[10], ip[11] = 0, 0
	binary.BigEndian.PutUint16(ip[10:], ^sum(0, ip[:20]))
	return b
}

// TestBytesOut compares what comes out with frames made from scratch: both
// families and protocols, with NAT of addresses and ports and without, with
// tags kept, pushed and taken off.
func TestBytesOut(t *testing.T) {
	for name, c := range map[string]struct {
		original, reply Tuple
		in, out         uint16 // VLAN
	}{
		"plain":          {tuple(t, "10.1.0.2:1000", "10.2.0.2:80", tcp), tuple(t, "10.2.0.2:80", "10.1.0.2:1000", tcp), 0, 0},
		"plain udp":      {tuple(t, "10.1.0.2:1000", "10.2.0.2:53", udp), tuple(t, "10.2.0.2:53", "10.1.0.2:1000", udp), 0, 0},
		"masquerade":     {tuple(t, "10.1.0.2:1000", "10.2.0.2:80", tcp), tuple(t, "10.2.0.2:80", "10.2.0.1:61234", tcp), 0, 0},
		"masquerade udp": {tuple(t, "10.1.0.2:1000", "10.2.0.2:53", udp), tuple(t, "10.2.0.2:53", "10.2.0.1:7", udp), 0, 0},
		"redirect":       {tuple(t, "10.1.0.2:1000", "198.51.100.1:80", tcp), tuple(t, "10.2.0.2:8080", "10.1.0.2:1000", tcp), 0, 0},
		"both":           {tuple(t, "10.1.0.2:1000", "198.51.100.1:80", udp), tuple(t, "10.2.0.2:8080", "203.0.113.5:9", udp), 0, 0},
		"ipv6":           {tuple(t, "[fd01::2]:1000", "[fd02::2]:80", tcp), tuple(t, "[fd02::2]:80", "[fd01::2]:1000", tcp), 0, 0},
		"ipv6 nat":       {tuple(t, "[fd01::2]:1000", "[fd02::2]:53", udp), tuple(t, "[fd02::2]:53", "[2001:db8::7]:4444", udp), 0, 0},
		"push":           {tuple(t, "10.1.0.2:1000", "10.2.0.2:80", tcp), tuple(t, "10.2.0.2:80", "10.1.0.2:1000", tcp), 0, 100},
		"pop":            {tuple(t, "10.1.0.2:1000", "10.2.0.2:53", udp), tuple(t, "10.2.0.2:53", "10.1.0.2:1000", udp), 7, 0},
		"other tag":      {tuple(t, "[fd01::2]:1000", "[fd02::2]:80", tcp), tuple(t, "[fd02::2]:80", "[fd01::2]:1000", tcp), 7, 0x6064},
	} {
		t.Run(name, func(t *testing.T) {
			p := newPrograms(t)
			conn := Connection{c.original, c.reply}
			p.learn(t, conn, func(w *programWay) { w.InVlan, w.OutVlan = c.in, c.out })
			for way, x := range conn.ways() {
				for _, payload := range []int{18, 19, 1000} {
					action, got := p.run(t, datagram(x.in, payload, c.in))
					if want := forwarded(x.out, payload, c.out); action != xdpRedirect || !bytes.Equal(got, want) {
						t.Errorf("way %d, %d bytes: action %d\n got %x\nwant %x", way, payload, action, got, want)
					}
				}
			}
			if n := p.ways(t, conn)[0].Packets; n != 3 {
				t.Errorf("%d packets counted, want 3", n)
			}
		})
	}
}

// TestLeftToTheStack lists what must pass unchanged, and the reason counted.
func TestLeftToTheStack(t *testing.T) {
	original := tuple(t, "10.1.0.2:1000", "10.2.0.2:80", tcp)
	conn := Connection{original, tuple(t, "10.2.0.2:80", "10.2.0.1:61234", tcp)}
	const ip, l4 = 14, 34
	resum := func(b []byte) {
		b[ip+10], b[ip+11] = 0, 0
		binary.BigEndian.PutUint16(b[ip+10:], ^sum(0, b[ip:ip+20]))
	}
	for name, c := range map[string]struct {
		change func(b []byte) []byte
		flow   func(*programWay)
		reason programReason
	}{
		"another MAC address": {func(b []byte) []byte { b[5] = 77; return b }, nil, programReasonPASS_NOT_OURS},
		"broadcast":           {func(b []byte) []byte { copy(b, "\xff\xff\xff\xff\xff\xff"); return b }, nil, programReasonPASS_NOT_OURS},
		"TTL 1":               {func(b []byte) []byte { b[ip+8] = 1; resum(b); return b }, nil, programReasonPASS_TTL},
		"TTL 0":               {func(b []byte) []byte { b[ip+8] = 0; resum(b); return b }, nil, programReasonPASS_TTL},
		"wrong header sum":    {func(b []byte) []byte { b[ip+10]++; return b }, nil, programReasonPASS_MALFORMED},
		"cut short":           {func(b []byte) []byte { return b[:len(b)-1] }, nil, programReasonPASS_MALFORMED},
		"first fragment":      {func(b []byte) []byte { b[ip+6] = 0x20; resum(b); return b }, nil, programReasonPASS_FRAGMENT},
		"later fragment":      {func(b []byte) []byte { b[ip+7] = 9; resum(b); return b }, nil, programReasonPASS_FRAGMENT},
		"options":             {func(b []byte) []byte { b[ip] = 0x46; resum(b); return b }, nil, programReasonPASS_OPTIONS},
		"SYN":                 {func(b []byte) []byte { b[l4+13] |= 2; return b }, nil, programReasonPASS_CONTROL},
		"FIN":                 {func(b []byte) []byte { b[l4+13] |= 1; return b }, nil, programReasonPASS_CONTROL},
		"RST":                 {func(b []byte) []byte { b[l4+13] |= 4; return b }, nil, programReasonPASS_CONTROL},
		"ICMP":                {func(b []byte) []byte { b[ip+9] = 1; resum(b); return b }, nil, programReasonPASS_PROTOCOL},
		"another port":        {func(b []byte) []byte { b[l4+1]++; return b }, nil, programReasonPASS_UNKNOWN},
		"ARP":                 {func(b []byte) []byte { b[12], b[13] = 8, 6; return b }, nil, programReasonPASS_NOT_IP},
		"another interface":   {nil, func(w *programWay) { w.In = 99 }, programReasonPASS_INTERFACE},
		"another VLAN":        {nil, func(w *programWay) { w.InVlan = 5 }, programReasonPASS_INTERFACE},
		"smaller MTU":         {nil, func(w *programWay) { w.Mtu = 100 }, programReasonPASS_TOO_BIG},
		"old generation":      {nil, func(w *programWay) { w.Generation = 9 }, programReasonPASS_UNDECIDED},
		"never decided":       {nil, func(w *programWay) { w.Generation = 0 }, programReasonPASS_UNDECIDED},
		"mangled":             {nil, func(w *programWay) { w.Flags |= flagMangled }, programReasonPASS_MANGLED},
	} {
		t.Run(name, func(t *testing.T) {
			p := newPrograms(t)
			p.learn(t, conn, c.flow)
			in := datagram(original, 200, 0)
			if c.change != nil {
				in = c.change(in)
			}
			action, out := p.run(t, bytes.Clone(in))
			if action != xdpPass || !bytes.Equal(out, in) {
				t.Errorf("action %d, changed %v; want it passed as it was", action, !bytes.Equal(out, in))
			}
			if n := p.reason(t, c.reason); n != 1 {
				t.Errorf("reason %d was counted %d times, want once", c.reason, n)
			}
		})
	}
}

// TestClosingEndsBothWays: after a FIN of one side nothing more of the
// connection goes beside the stack, which has to see it end.
func TestClosingEndsBothWays(t *testing.T) {
	p := newPrograms(t)
	conn := Connection{tuple(t, "10.1.0.2:1000", "10.2.0.2:80", tcp), tuple(t, "10.2.0.2:80", "10.1.0.2:1000", tcp)}
	p.learn(t, conn, nil)
	fin := datagram(conn.Original, 0, 0)
	fin[34+13] |= 1
	p.run(t, fin)
	if action, _ := p.run(t, datagram(conn.Reply, 100, 0)); action != xdpPass || p.reason(t, programReasonPASS_CLOSING) != 1 {
		t.Errorf("the other way after a FIN: action %d, want it passed", action)
	}
}

// TestZeroChecksum: UDP without a checksum over IPv4 stays without (RFC 768).
func TestZeroChecksum(t *testing.T) {
	p := newPrograms(t)
	conn := Connection{tuple(t, "10.1.0.2:1000", "10.2.0.2:53", udp), tuple(t, "10.2.0.2:53", "10.2.0.1:7", udp)}
	p.learn(t, conn, nil)
	in := datagram(conn.Original, 100, 0)
	in[34+6], in[34+7] = 0, 0
	if _, out := p.run(t, in); out[34+6] != 0 || out[34+7] != 0 {
		t.Errorf("checksum %x, want none", out[34+6:34+8])
	}
}

// TestLeaseAndRecheck: without a follower everything is the stack's, and a way
// that was not checked for long is asked again, once.
func TestLeaseAndRecheck(t *testing.T) {
	p := newPrograms(t)
	conn := Connection{tuple(t, "10.1.0.2:1000", "10.2.0.2:53", udp), tuple(t, "10.2.0.2:53", "10.1.0.2:1000", udp)}
	p.learn(t, conn, func(w *programWay) { w.Checked = 1 })
	set := func(c programConfig) {
		c.Mask, c.Seed = p.objs.Ways.MaxEntries()-1, seed
		if err := p.objs.Settings.Put(uint32(0), c); err != nil {
			t.Fatal(err)
		}
	}
	set(programConfig{Lease: 1 << 62, Recheck: 1, Generation: 1})
	in := datagram(conn.Original, 100, 0)
	for _, want := range []programReason{programReasonPASS_RECHECK, programReasonPASS_UNDECIDED} {
		if action, _ := p.run(t, bytes.Clone(in)); action != xdpPass || p.reason(t, want) != 1 {
			t.Errorf("reason %d: action %d, counted %d times", want, action, p.reason(t, want))
		}
	}
	set(programConfig{Lease: 1, Recheck: 1 << 61, Generation: 1})
	if action, _ := p.run(t, in); action != xdpPass || p.reason(t, programReasonPASS_OFF) != 1 {
		t.Errorf("after the lease: action %d, want it passed", action)
	}
}

// TestFullTable refuses what there is no room for, and has room again after
// connections ended.
func TestFullTable(t *testing.T) {
	p := newPrograms(t)
	conn := func(port uint16) Connection {
		a, b := netip.MustParseAddr("10.1.0.2"), netip.MustParseAddrPort("10.2.0.2:53")
		o := Tuple{netip.AddrPortFrom(a, port), b, udp}
		return Connection{o, o.turned()}
	}
	for i := range uint16(80) {
		if err := p.table.add(conn(i + 1)); err != nil && err != errTableFull {
			t.Fatal(err)
		}
	}
	if p.table.held != 64 {
		t.Errorf("%d held, want 64", p.table.held)
	}
	if err := p.table.add(conn(99)); err != errTableFull {
		t.Errorf("one more than 64: %v, want %v", err, errTableFull)
	}
	if action, _ := p.run(t, datagram(conn(99).Original, 10, 0)); action != xdpPass {
		t.Errorf("a connection without room: action %d, want it passed", action)
	}
	p.table.end(conn(1))
	p.table.fallow[0].from = p.table.fallow[0].from.Add(-2 * rest)
	if err := p.table.add(conn(99)); err != nil {
		t.Errorf("after one ended: %v, want room", err)
	}
}

// TestTableIsReadBack: who opens the table again finds what is in it.
func TestTableIsReadBack(t *testing.T) {
	p := newPrograms(t)
	all := []Connection{
		{tuple(t, "10.1.0.2:1000", "198.51.100.1:80", udp), tuple(t, "10.2.0.2:8080", "203.0.113.5:9", udp)},
		{tuple(t, "[fd01::2]:1000", "[fd02::2]:80", tcp), tuple(t, "[fd02::2]:80", "[fd01::2]:1000", tcp)},
	}
	for _, c := range all {
		if err := p.table.add(c); err != nil {
			t.Fatal(err)
		}
	}
	again, err := openTable(p.objs.Ways, seed)
	if err != nil {
		t.Fatal(err)
	}
	defer again.close()
	for _, c := range all {
		if !again.has(c) {
			t.Errorf("%v is lost; there are %v", c, again.connections())
		}
	}
	p.table.end(all[0])
	if n := again.count(); n != 1 {
		t.Errorf("who opened the table before counts %d connections, want the 1 that is left", n)
	}
}

// FuzzFrames feeds the program anything: it must neither fail nor forward what
// is of no known flow.
func FuzzFrames(f *testing.F) {
	f.Add(datagram(Tuple{netip.MustParseAddrPort("10.1.0.2:1"), netip.MustParseAddrPort("10.2.0.2:2"), tcp}, 10, 0))
	f.Add(datagram(Tuple{netip.MustParseAddrPort("[fd01::2]:1"), netip.MustParseAddrPort("[fd02::2]:2"), udp}, 10, 7))
	f.Fuzz(func(t *testing.T, b []byte) {
		if len(b) < 14 || len(b) > 1500 {
			return
		}
		p := newPrograms(t)
		if action, out := p.run(t, bytes.Clone(b)); action != xdpPass || !bytes.Equal(out, b) {
			t.Errorf("action %d for %x", action, b)
		}
	})
}
