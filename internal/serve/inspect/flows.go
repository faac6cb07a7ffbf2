package inspect

import (
	"bytes"
	"cmp"
	"net/netip"
	"slices"
	"strconv"
	"time"

	"github.com/linerate/linerate/internal/wire/frame"
)

// NotIP stands for the protocol of frames that carry no IP.
const NotIP = 256

// Key tells flows apart: one direction of a conversation.
type Key struct {
	Source, Destination netip.AddrPort // port 0 where there is none
	Protocol            uint8
	VLAN                uint16 // outermost tag, 0: none
}

// String writes a flow as "tcp 10.0.0.1:80 > 10.0.0.2:40000".
func (k Key) String() string {
	s := ProtocolName(int(k.Protocol)) + " " + endpoint(k.Source) + " > " + endpoint(k.Destination)
	if k.VLAN != 0 {
		s += " vlan " + strconv.Itoa(int(k.VLAN))
	}
	return s
}

func endpoint(a netip.AddrPort) string {
	if a.Port() == 0 {
		return a.Addr().String()
	}
	return a.String()
}

// Flow is the traffic of one key. Bytes are those of frames without FCS.
type Flow struct {
	Key
	Volume
	First, Last time.Time
}

// Table adds records up by flow. It keeps up to max flows apart; the traffic of
// further ones goes to Rest.
type Table struct {
	Rest  Volume
	NoIP  Volume
	max   int
	flows map[Key]*Flow

	last   *Flow // of the last record: the next one is often of the same flow
	head   []byte
	packet frame.Packet
}

// NewTable returns a table of up to n flows.
func NewTable(n int) *Table { return &Table{max: n, flows: map[Key]*Flow{}} }

// Add counts a record.
func (t *Table) Add(r *Record) {
	v := Volume{uint64(max(r.Segments, 1)), uint64(r.Length)}
	if sameFlow(t.head, r.Data) {
		t.last.add(v)
		t.last.Last = r.At
		return
	}
	p := &t.packet
	frame.Decode(frame.LinkEthernet, r.Data, r.Length, p)
	if p.IPVersion == 0 {
		t.NoIP.add(v)
		return
	}
	k := Key{Source: netip.AddrPortFrom(p.Src.Netip(), p.SrcPort), Destination: netip.AddrPortFrom(p.Dst.Netip(), p.DstPort), Protocol: p.Proto, VLAN: p.VLAN}
	f := t.last
	if f == nil || f.Key != k {
		f = t.flows[k]
	}
	if f == nil {
		if len(t.flows) >= t.max {
			t.Rest.add(v)
			return
		}
		f = &Flow{Key: k, First: r.At}
		t.flows[k] = f
	}
	f.add(v)
	f.Last = r.At
	t.last = f
	if t.head = t.head[:0]; p.Depth == 1 && plain(r.Data) {
		t.head = append(t.head, r.Data[:plainHead]...)
	}
}

// plainHead is how far the ports of TCP and UDP reach behind Ethernet and IPv4.
const plainHead = 14 + 20 + 4

// plain reports whether a frame is TCP or UDP right behind Ethernet and an IPv4
// header without options that is no fragment's.
func plain(b []byte) bool {
	return len(b) >= plainHead && b[12] == 8 && b[13] == 0 && b[14] == 0x45 && b[20]&0x3f == 0 && b[21] == 0 &&
		(b[23] == frame.ProtoTCP || b[23] == frame.ProtoUDP)
}

// sameFlow reports whether b is a plain frame with the addresses and ports of
// head, without decoding it. head is empty where no such frame came last.
func sameFlow(head, b []byte) bool {
	return len(head) > 0 && plain(b) && b[23] == head[23] && bytes.Equal(b[26:plainHead], head[26:plainHead])
}

func (v *Volume) add(w Volume) {
	v.Frames += w.Frames
	v.Bytes += w.Bytes
}

// Flows returns all flows of the table.
func (t *Table) Flows() []Flow {
	out := make([]Flow, 0, len(t.flows))
	for _, f := range t.flows {
		out = append(out, *f)
	}
	return out
}

// Largest sorts flows by bytes and returns the first n.
func Largest(flows []Flow, n int) []Flow {
	slices.SortFunc(flows, func(a, b Flow) int {
		return cmp.Or(cmp.Compare(b.Bytes, a.Bytes), cmp.Compare(a.String(), b.String()))
	})
	return flows[:min(n, len(flows))]
}

// ProtocolName returns the usual name of an IP protocol, or its number.
func ProtocolName(p int) string {
	names := map[int]string{1: "icmp", 2: "igmp", 4: "ipip", 6: "tcp", 17: "udp", 41: "ipv6", 47: "gre", 50: "esp", 51: "ah", 58: "icmp6",
		89: "ospf", 103: "pim", 112: "vrrp", 115: "l2tp", 132: "sctp", NotIP: "not IP"}
	if s, ok := names[p]; ok {
		return s
	}
	return "proto " + strconv.Itoa(p)
}
