package netperf

import (
	"encoding/binary"
	"math"
)

// Results is what the server measured.
type Results struct {
	BytesReceived, BytesSent int64
	RecvCalls, SendCalls     int32
	RecvBuffer, SendBuffer   int32
	FailedSends              int32
	Transactions             int32
	Elapsed                  float64 // seconds
	CPU                      float64 // percent of all cores; -1 not measured
	User, System, Wait       float64
	IRQ, SoftIRQ             float64
	CPUs                     int32
	Retransmits              int32 // -1 not known
	Congestion               string
}

// methodProcStat says that CPU figures come from /proc/stat.
const methodProcStat = 8

// Places in OMNI results.
const (
	sReceived, sRecvCalls, sRecvBuffer      = 0, 2, 3
	sSent, sSendCalls, sSendBuffer, sFailed = 4, 6, 7, 8
	sTransactions, sElapsed, sCPU, sUser    = 9, 10, 11, 12
	sMethod, sCPUs, sPeakID, sPeakUtil      = 18, 19, 20, 21
	sPCI, sRetransmits                      = 22, 26
	sCongestionAt, sCongestionLen           = 108 + 16 + 4*32 + 16, 16
)

// Message returns r as the results of a request of type t.
func (r Results) Message(t Type) *Message {
	var m Message
	m.setRaw(0, int32(t+resultsAfter))
	switch t {
	case Omni:
		r.omni(&m)
	case TCPStream, TCPMaerts:
		// A 64-bit double: the only one of the protocol.
		bytes, calls := r.BytesReceived, r.RecvCalls
		if t == TCPMaerts {
			bytes, calls = r.BytesSent, r.SendCalls
		}
		binary.BigEndian.PutUint64(m[4*headWords:], math.Float64bits(float64(bytes)))
		m.setWord(2, calls)
		m.setFloat(3, r.Elapsed)
		m.setFloat(4, r.CPU)
		m.setFloat(5, -1)
		m.setWord(6, methodProcStat)
		m.setWord(7, r.CPUs)
		m.setWord(8, r.RecvBuffer)
		m.setWord(9, r.SendBuffer)
	case UDPStream:
		m.setWord(0, r.RecvCalls)
		m.setWord(1, int32(uint32(r.BytesReceived)))
		m.setFloat(2, r.Elapsed)
		m.setFloat(3, r.CPU)
		m.setWord(4, methodProcStat)
		m.setWord(5, r.CPUs)
	default:
		m.setWord(0, int32(uint32(r.BytesReceived)))
		m.setWord(1, r.RecvCalls)
		m.setWord(2, r.Transactions)
		m.setFloat(3, r.Elapsed)
		m.setFloat(4, r.CPU)
		m.setFloat(5, -1)
		m.setWord(6, methodProcStat)
		m.setWord(7, r.CPUs)
	}
	return &m
}

func (r Results) omni(m *Message) {
	m.setWide(sReceived, r.BytesReceived)
	m.setWide(sSent, r.BytesSent)
	for i, v := range map[int]int32{
		sRecvCalls: r.RecvCalls, sRecvBuffer: r.RecvBuffer, sSendCalls: r.SendCalls, sSendBuffer: r.SendBuffer, sFailed: r.FailedSends,
		sTransactions: r.Transactions, sMethod: methodProcStat, sCPUs: r.CPUs, sPeakID: -1, sRetransmits: r.Retransmits,
	} {
		m.setWord(i, v)
	}
	m.setFloat(sElapsed, r.Elapsed)
	for i, v := range []float64{r.CPU, r.User, r.System, r.Wait, r.IRQ, r.SoftIRQ} {
		m.setFloat(sCPU+i, v)
	}
	m.setFloat(sPeakUtil, -1)
	m.setText(sCongestionAt, sCongestionLen, r.Congestion)
}

// ParseResults reads the results of an OMNI test. The CPU words hold anything
// unless the response granted MeasureCPU; pass its flags.
func ParseResults(m *Message, granted Flag) Results {
	r := Results{
		BytesReceived: m.wide(sReceived), BytesSent: m.wide(sSent), RecvCalls: m.word(sRecvCalls), SendCalls: m.word(sSendCalls),
		RecvBuffer: m.word(sRecvBuffer), SendBuffer: m.word(sSendBuffer), FailedSends: m.word(sFailed),
		Transactions: m.word(sTransactions), Elapsed: sane(m.float(sElapsed), 1e7), CPU: -1, CPUs: m.word(sCPUs),
		Retransmits: m.word(sRetransmits), Congestion: m.text(sCongestionAt, sCongestionLen),
	}
	if granted&MeasureCPU != 0 {
		for i, p := range []*float64{&r.CPU, &r.User, &r.System, &r.Wait, &r.IRQ, &r.SoftIRQ} {
			*p = sane(m.float(sCPU+i), 101)
		}
	}
	return r
}

// sane returns v, or 0 where it is no number from 0 to limit.
func sane(v, limit float64) float64 {
	if v >= 0 && v <= limit {
		return v
	}
	return 0
}
