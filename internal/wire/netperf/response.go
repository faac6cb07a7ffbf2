package netperf

// Response is the server's "ready".
type Response struct {
	SendBuffer, SendSize int32
	RecvBuffer, RecvSize int32
	Flags                Flag // granted
	Port                 int32
	TOS                  int32
}

// Places in an OMNI response.
const (
	rRecvBuffer, rRecvSize, rRecvWidth, rSendBuffer = 0, 1, 2, 3
	rSendSize, rSendWidth, rFlags, rCPURate         = 4, 5, 6, 7
	rPort, rPriority, rTOS                          = 11, 16, 17
)

// Message returns r as the answer to a request of type t.
func (r Response) Message(t Type) *Message {
	var m Message
	m.setRaw(0, int32(t+responseAfter))
	set := func(at map[int]int32) {
		for i, v := range at {
			m.setWord(i, v)
		}
	}
	cpu := int32(0)
	if r.Flags&MeasureCPU != 0 {
		cpu = 1
	}
	switch t {
	case Omni:
		set(map[int]int32{rRecvBuffer: r.RecvBuffer, rRecvSize: r.RecvSize, rRecvWidth: 1, rSendBuffer: r.SendBuffer, rSendSize: r.SendSize,
			rSendWidth: 1, rFlags: int32(r.Flags & (NoDelay | MeasureCPU)), rPort: r.Port, rPriority: -1, rTOS: r.TOS})
		m.setFloat(rCPURate, 1)
	case TCPStream:
		set(map[int]int32{0: r.RecvBuffer, 1: r.RecvSize, 3: cpu, 5: r.SendBuffer, 6: r.Port})
	case TCPMaerts:
		set(map[int]int32{0: r.RecvBuffer, 1: r.SendSize, 3: cpu, 5: r.SendBuffer, 6: r.Port})
	case UDPStream:
		set(map[int]int32{0: r.RecvBuffer, 1: r.SendBuffer, 2: cpu, 4: r.Port})
	default:
		set(map[int]int32{0: r.RecvBuffer, 2: cpu, 4: r.SendBuffer, 5: r.Port})
	}
	return &m
}

// ParseResponse reads the answer to an OMNI request.
func ParseResponse(m *Message) Response {
	return Response{
		SendBuffer: m.word(rSendBuffer), SendSize: m.word(rSendSize), RecvBuffer: m.word(rRecvBuffer), RecvSize: m.word(rRecvSize),
		Flags: Flag(uint32(m.word(rFlags))), Port: m.word(rPort), TOS: m.word(rTOS),
	}
}
