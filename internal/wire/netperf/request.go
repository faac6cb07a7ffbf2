package netperf

import (
	"fmt"
	"net/netip"
)

// Flag is a bit of an OMNI request or response.
type Flag uint32

// The flags in use.
const (
	NoDelay     Flag = 0x1
	ConnectTest Flag = 0x4 // a connection for each transaction
	MeasureCPU  Flag = 0x8
	WantInfo    Flag = 0x20 // routing allowed; also asks for the congestion control's name
)

// Direction bits, from the server's view; both are a request/response test,
// none is a connect/close test.
const (
	ServerSends    = 0x2
	ServerReceives = 0x4
)

// IP protocol numbers (IANA) of the data connection.
const (
	ProtoTCP = 6
	ProtoUDP = 17
)

// Request is what a client asks for, whether by OMNI or by a classic message.
type Request struct {
	Type       Type
	Protocol   int32 // ProtoTCP or ProtoUDP
	Direction  int32
	Flags      Flag
	SendBuffer int32 // SO_SNDBUF of the server; 0 or less: leave it
	RecvBuffer int32
	SendSize   int32 // of one send of the server; 0 or less: its choice
	RecvSize   int32
	Request    int32 // bytes of a transaction; 0 or less: a stream test
	Response   int32
	Length     int32 // seconds, or less than 0: bytes or transactions; 0: no limit
	Port       int32 // that the server should bind; 0: any
	Client     netip.AddrPort
	TOS        int32
	Congestion string
	CPU        *int32 // core to bind the server to; nil: none
}

// Places in an OMNI request, in words after the head.
const (
	qSendBuffer, qSendSize, qSendAlign, qSendWidth = 0, 1, 2, 4
	qRequest, qRecvBuffer, qRecvSize, qRecvAlign   = 5, 6, 7, 8
	qRecvWidth, qResponse, qFlags, qLength         = 10, 11, 12, 14
	qSendDirty, qRecvDirty, qRecvClean             = 17, 18, 19
	qPort, qFamily, qSocketType, qProtocol         = 20, 21, 22, 23
	qDirection, qClientPort, qClientAddr           = 24, 25, 28
	qPriority, qTOS                                = 36, 37
	qCongestionAt, qCongestionLen                  = 152, 16 // bytes
)

// Message returns the OMNI request for r.
func (r Request) Message() *Message {
	var m Message
	m.setRaw(0, int32(Omni))
	m.setRaw(1, noCPU)
	if r.CPU != nil {
		m.setRaw(1, *r.CPU)
	}
	for i, v := range map[int]int32{
		qSendBuffer: r.SendBuffer, qSendSize: r.SendSize, qRequest: r.Request, qRecvBuffer: r.RecvBuffer, qRecvSize: r.RecvSize,
		qResponse: r.Response,
	} {
		if v <= 0 {
			v = -1
		}
		m.setWord(i, v)
	}
	for i, v := range map[int]int32{
		qSendAlign: 8, qRecvAlign: 8, qSendWidth: 1, qRecvWidth: 1, qFlags: int32(r.Flags), qLength: r.Length,
		qSendDirty: -1, qRecvDirty: -1, qRecvClean: -1, qPort: r.Port, qSocketType: 1, qProtocol: r.Protocol,
		qDirection: r.Direction, qClientPort: int32(r.Client.Port()), qPriority: -1, qTOS: r.TOS,
	} {
		m.setWord(i, v)
	}
	if r.Protocol == ProtoUDP {
		m.setWord(qSocketType, 2)
	}
	a := r.Client.Addr().Unmap()
	switch {
	case a.Is4():
		m.setWord(qFamily, 4)
		copy(m[4*(headWords+qClientAddr):], a.AsSlice())
	case a.Is6():
		m.setWord(qFamily, 6)
		b := swapWords(a.As16())
		copy(m[4*(headWords+qClientAddr):], b[:])
	}
	if r.Congestion != "" {
		m.setText(qCongestionAt, qCongestionLen, r.Congestion)
	}
	return &m
}

// noCPU is word 1 of a request that binds the server to no core.
const noCPU = -1

// Bounds of what a server takes.
const (
	maxSize   = 16 << 20
	maxBuffer = 512 << 20
)

// ParseRequest reads an OMNI or a classic request.
func ParseRequest(m *Message) (Request, error) {
	var r Request
	switch m.Type() {
	case Omni:
		r = parseOmni(m)
	case TCPStream, TCPMaerts, UDPStream, TCPRR, UDPRR, TCPCRR, TCPCC:
		r = parseClassic(m)
	default:
		return r, fmt.Errorf("%w: %v is no test that is known", ErrMessage, m.Type())
	}
	if r.Protocol != ProtoTCP && r.Protocol != ProtoUDP {
		return r, fmt.Errorf("%w: IP protocol %d, want TCP or UDP", ErrMessage, r.Protocol)
	}
	for _, v := range []int32{r.SendSize, r.RecvSize, r.Request, r.Response} {
		if v > maxSize || r.Protocol == ProtoUDP && v > 65507 {
			return r, fmt.Errorf("%w: a message of %d bytes", ErrMessage, v)
		}
	}
	if r.SendBuffer > maxBuffer || r.RecvBuffer > maxBuffer {
		return r, fmt.Errorf("%w: a socket buffer of more than %d bytes", ErrMessage, maxBuffer)
	}
	rr := r.Direction == ServerSends|ServerReceives
	if rr && (r.Request <= 0 || r.Response <= 0) {
		return r, fmt.Errorf("%w: a transaction of %d and %d bytes", ErrMessage, r.Request, r.Response)
	}
	if r.Direction&^(ServerSends|ServerReceives) != 0 || r.Direction == 0 && (r.Flags&ConnectTest == 0 || r.Protocol != ProtoTCP) {
		return r, fmt.Errorf("%w: direction %#x", ErrMessage, r.Direction)
	}
	if r.Port < 0 || r.Port > 65535 {
		return r, fmt.Errorf("%w: port %d", ErrMessage, r.Port)
	}
	if cpu := m.raw(1); cpu >= 0 {
		r.CPU = &cpu
	}
	return r, nil
}

func parseOmni(m *Message) Request {
	r := Request{
		Type: Omni, Protocol: m.word(qProtocol), Direction: m.word(qDirection), Flags: Flag(uint32(m.word(qFlags))),
		SendBuffer: m.word(qSendBuffer), RecvBuffer: m.word(qRecvBuffer), SendSize: m.word(qSendSize), RecvSize: m.word(qRecvSize),
		Request: m.word(qRequest), Response: m.word(qResponse), Length: m.word(qLength), Port: m.word(qPort),
		TOS: m.word(qTOS), Congestion: m.text(qCongestionAt, qCongestionLen),
	}
	b := m[4*(headWords+qClientAddr):]
	a := netip.AddrFrom4([4]byte(b[:4]))
	if m.word(qFamily) == 6 {
		a = netip.AddrFrom16(swapWords([16]byte(b[:16])))
	}
	r.Client = netip.AddrPortFrom(a, uint16(m.word(qClientPort)))
	return r
}

// swapWords swaps the bytes of each word of an IPv6 address, as netperf on a
// little-endian host does, and netserver there undoes: it converts what is in
// network order already. Between hosts of different order that fails.
func swapWords(b [16]byte) [16]byte {
	for i := 0; i < len(b); i += 4 {
		b[i], b[i+1], b[i+2], b[i+3] = b[i+3], b[i+2], b[i+1], b[i]
	}
	return b
}

// parseClassic reads the requests of clients built without migrated tests.
func parseClassic(m *Message) Request {
	r := Request{Type: m.Type(), Protocol: ProtoTCP, TOS: -1}
	flag := func(i int, f Flag) {
		if m.word(i) > 0 {
			r.Flags |= f
		}
	}
	switch r.Type {
	case TCPStream:
		r.Direction, r.SendBuffer, r.RecvBuffer, r.RecvSize, r.Length, r.Port = ServerReceives, m.word(0), m.word(1), m.word(2), m.word(8), m.word(13)
		flag(5, NoDelay)
		flag(6, MeasureCPU)
	case TCPMaerts:
		r.Direction, r.SendBuffer, r.RecvBuffer, r.SendSize, r.Length, r.Port = ServerSends, m.word(0), m.word(1), m.word(2), m.word(8), m.word(13)
		flag(5, NoDelay)
		flag(6, MeasureCPU)
	case UDPStream:
		r.Protocol, r.Direction, r.RecvBuffer, r.RecvSize, r.Length, r.Port = ProtoUDP, ServerReceives, m.word(0), m.word(1), m.word(8), m.word(11)
		flag(6, MeasureCPU)
	default: // the request/response tests
		r.RecvBuffer, r.SendBuffer, r.Request, r.Response, r.Length, r.Port = m.word(0), m.word(1), m.word(6), m.word(7), m.word(11), m.word(14)
		r.Direction = ServerSends | ServerReceives
		if r.Type == UDPRR {
			r.Protocol = ProtoUDP
		}
		if r.Type == TCPCRR || r.Type == TCPCC {
			r.Flags |= ConnectTest
		}
		if r.Type == TCPCC {
			r.Direction = 0
		}
		flag(8, NoDelay)
		flag(9, MeasureCPU)
	}
	return r
}
