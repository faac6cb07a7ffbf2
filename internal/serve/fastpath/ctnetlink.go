package fastpath

import (
	"encoding/binary"
	"iter"
	"net/netip"
)

// tracked is an entry of conntrack, as ctnetlink tells of it
// (include/uapi/linux/netfilter/nfnetlink_conntrack.h).
type tracked struct {
	Connection
	status uint32
	state  uint8 // of TCP; stateUntold: the message does not say
	zoned  bool
	helper string
}

// stateUntold is above every TCP state of conntrack.
const stateUntold = 0xff

// Bits of an entry's status, enum ip_conntrack_status.
const (
	statusSeenReply = 1 << 1
	statusAssured   = 1 << 2
	statusConfirmed = 1 << 3
	statusAdjusts   = 1 << 6
	statusDying     = 1 << 9
	statusHelper    = 1 << 13
)

// Attributes of ctnetlink that are read or written, enum ctattr_type and those
// nested in them.
const (
	ctaTupleOrig  = 1
	ctaTupleReply = 2
	ctaStatus     = 3
	ctaProtoInfo  = 4
	ctaHelp       = 5
	ctaZone       = 18

	ctaTupleIP    = 1
	ctaTupleProto = 2
	ctaTupleZone  = 3

	ctaProtoNum     = 1
	ctaProtoSrcPort = 2
	ctaProtoDstPort = 3

	ctaProtoInfoTCP = 1
	ctaTCPState     = 1
	ctaTCPFlagsOrig = 4
	ctaTCPFlagsBack = 5

	ctaHelpName = 1

	nested = 1 << 15 // NLA_F_NESTED
)

// attributes yields the attributes of a netlink message (struct nlattr) up to
// the first that is cut.
func attributes(b []byte) iter.Seq2[uint16, []byte] {
	return func(yield func(uint16, []byte) bool) {
		for len(b) >= 4 {
			n := int(binary.NativeEndian.Uint16(b))
			if n < 4 || n > len(b) || !yield(binary.NativeEndian.Uint16(b[2:])&^(3<<14), b[4:n]) {
				return
			}
			b = b[min((n+3)&^3, len(b)):]
		}
	}
}

// readTracked reads what follows struct nfgenmsg. What is missing or of another
// size than it should be stays zero, and such an entry is not valid.
func readTracked(b []byte) tracked {
	t := tracked{state: stateUntold}
	for kind, v := range attributes(b) {
		switch kind {
		case ctaTupleOrig:
			t.Original = readTuple(v, &t.zoned)
		case ctaTupleReply:
			t.Reply = readTuple(v, &t.zoned)
		case ctaStatus:
			if len(v) == 4 {
				t.status = binary.BigEndian.Uint32(v)
			}
		case ctaZone:
			t.zoned = t.zoned || len(v) != 2 || v[0]|v[1] != 0
		case ctaHelp:
			for kind, v := range attributes(v) {
				if kind == ctaHelpName && len(v) > 0 {
					t.helper = string(v[:len(v)-1])
				}
			}
		case ctaProtoInfo:
			for kind, v := range attributes(v) {
				if kind != ctaProtoInfoTCP {
					continue
				}
				for kind, v := range attributes(v) {
					if kind == ctaTCPState && len(v) == 1 {
						t.state = v[0]
					}
				}
			}
		}
	}
	return t
}

func readTuple(b []byte, zoned *bool) (t Tuple) {
	var addr [2]netip.Addr
	var port [2]uint16
	for kind, v := range attributes(b) {
		switch kind {
		case ctaTupleIP: // CTA_IP_V4_SRC, V4_DST, V6_SRC, V6_DST from 1 on
			for kind, v := range attributes(v) {
				if a, ok := netip.AddrFromSlice(v); ok && kind >= 1 && kind <= 4 {
					addr[(kind-1)&1] = a
				}
			}
		case ctaTupleProto:
			for kind, v := range attributes(v) {
				switch {
				case kind == ctaProtoNum && len(v) == 1:
					t.Protocol = v[0]
				case (kind == ctaProtoSrcPort || kind == ctaProtoDstPort) && len(v) == 2:
					port[kind-ctaProtoSrcPort] = binary.BigEndian.Uint16(v)
				}
			}
		case ctaTupleZone:
			*zoned = true
		}
	}
	t.Source, t.Target = netip.AddrPortFrom(addr[0], port[0]), netip.AddrPortFrom(addr[1], port[1])
	return t
}

// appendAttribute appends an attribute; one of kind|nested is filled by within.
func appendAttribute(b []byte, kind uint16, value []byte, within ...func([]byte) []byte) []byte {
	at := len(b)
	b = append(b, 0, 0, 0, 0)
	b = append(b, value...)
	for _, f := range within {
		b = f(b)
	}
	binary.NativeEndian.PutUint16(b[at:], uint16(len(b)-at))
	binary.NativeEndian.PutUint16(b[at+2:], kind)
	for len(b)&3 != 0 {
		b = append(b, 0)
	}
	return b
}

// appendTuple appends the attributes of one way, as kind.
func appendTuple(b []byte, kind uint16, t Tuple) []byte {
	family := uint16(1) // CTA_IP_V4_SRC
	if t.Source.Addr().Is6() {
		family = 3
	}
	s, d := bigEndian(t.Source.Port()), bigEndian(t.Target.Port())
	return appendAttribute(b, kind|nested, nil, func(b []byte) []byte {
		b = appendAttribute(b, ctaTupleIP|nested, nil, func(b []byte) []byte {
			b = appendAttribute(b, family, t.Source.Addr().AsSlice())
			return appendAttribute(b, family+1, t.Target.Addr().AsSlice())
		})
		return appendAttribute(b, ctaTupleProto|nested, nil, func(b []byte) []byte {
			b = appendAttribute(b, ctaProtoNum, []byte{t.Protocol})
			b = appendAttribute(b, ctaProtoSrcPort, s[:])
			return appendAttribute(b, ctaProtoDstPort, d[:])
		})
	})
}

// appendLiberal appends what tells conntrack not to judge a TCP connection's
// sequence numbers.
func appendLiberal(b []byte, c Connection) []byte {
	const beLiberal = 8 // IP_CT_TCP_FLAG_BE_LIBERAL, as value and as mask
	b = appendTuple(b, ctaTupleOrig, c.Original)
	return appendAttribute(b, ctaProtoInfo|nested, nil, func(b []byte) []byte {
		return appendAttribute(b, ctaProtoInfoTCP|nested, nil, func(b []byte) []byte {
			b = appendAttribute(b, ctaTCPFlagsOrig, []byte{beLiberal, beLiberal})
			return appendAttribute(b, ctaTCPFlagsBack, []byte{beLiberal, beLiberal})
		})
	})
}
