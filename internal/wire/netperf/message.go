// Package netperf is bytes to structs for the control protocol of netperf 2.6
// and later, and for the text that the tool prints. It does no input or
// output; package workload/stream/netperf does.
//
// The protocol has no standard: what is here was read off the wire of netperf
// 2.7.0 and of clients built without its migrated tests.
package netperf

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"strings"
)

// Port is the TCP port of the control connection.
const Port = 12865

// Lengths of a message. Releases up to 2.5 have shorter ones and no way to
// negotiate: a peer of the other kind shows by its first message.
const (
	Size    = 656
	OldSize = 256
)

// Type is word 0 of a message.
type Type int32

// The types of requests; their responses are one higher, their results two.
const (
	DebugOn       Type = 1
	DebugOff      Type = 2
	DebugOK       Type = 3
	NodeIdentify  Type = 4
	CPUCalibrate  Type = 5
	Passphrase    Type = 6 // has no answer
	TCPStream     Type = 10
	TCPRR         Type = 13
	UDPStream     Type = 16
	UDPRR         Type = 19
	TCPCRR        Type = 34
	TCPMaerts     Type = 94
	Omni          Type = 97 // every test of 2.6 and later, as it comes by default
	TCPCC         Type = 300
	responseAfter Type = 1
	resultsAfter  Type = 2
)

var typeNames = map[Type]string{
	TCPStream: "TCP_STREAM", TCPRR: "TCP_RR", UDPStream: "UDP_STREAM", UDPRR: "UDP_RR", TCPCRR: "TCP_CRR",
	TCPMaerts: "TCP_MAERTS", Omni: "OMNI", TCPCC: "TCP_CC", Passphrase: "PASSPHRASE", CPUCalibrate: "CPU_CALIBRATE",
}

// String returns netperf's name of the test.
func (t Type) String() string {
	if n, ok := typeNames[t]; ok {
		return n
	}
	return fmt.Sprintf("type %d", int32(t))
}

// ErrMessage is wrapped by the errors for messages that make no sense.
var ErrMessage = errors.New("bad netperf message")

// Message is one message as it goes over the wire: 164 big-endian words.
type Message [Size]byte

// headWords is the type and the errno (of a request: the core to bind to).
const headWords = 2

// Type returns the type of the message. Results of netserver carry theirs
// byte-swapped: go by the order instead.
func (m *Message) Type() Type { return Type(m.raw(0)) }

// Errno returns the error number of a response or of results, 0 for none.
func (m *Message) Errno() int32 { return m.raw(1) }

func (m *Message) raw(i int) int32       { return int32(binary.BigEndian.Uint32(m[4*i:])) }
func (m *Message) setRaw(i int, v int32) { binary.BigEndian.PutUint32(m[4*i:], uint32(v)) }

// word and the others take the words after the head.
func (m *Message) word(i int) int32          { return m.raw(i + headWords) }
func (m *Message) setWord(i int, v int32)    { m.setRaw(i+headWords, v) }
func (m *Message) float(i int) float64       { return float64(math.Float32frombits(uint32(m.word(i)))) }
func (m *Message) setFloat(i int, v float64) { m.setWord(i, int32(math.Float32bits(float32(v)))) }

// wide is a 64-bit counter in two words, the high one first.
func (m *Message) wide(i int) int64 {
	return int64(uint64(uint32(m.word(i)))<<32 | uint64(uint32(m.word(i+1))))
}

func (m *Message) setWide(i int, v int64) {
	m.setWord(i, int32(v>>32))
	m.setWord(i+1, int32(v))
}

// text is NUL-terminated bytes from a place behind the head, in bytes.
func (m *Message) text(at, n int) string {
	s, _, _ := strings.Cut(string(m[4*headWords+at:][:n]), "\x00")
	return s
}

func (m *Message) setText(at, n int, s string) {
	copy(m[4*headWords+at:][:n-1], s) // the last byte stays NUL
}

// Failure returns the answer to a request that could not be served.
func Failure(t Type, errno int32) *Message {
	var m Message
	m.setRaw(0, int32(t+responseAfter))
	m.setRaw(1, errno)
	return &m
}

// Debug returns the answer to DebugOn and DebugOff.
func Debug() *Message {
	var m Message
	m.setRaw(0, int32(DebugOK))
	return &m
}

// Calibrated returns the answer to CPUCalibrate.
func Calibrated(rate float64, cpus int) *Message {
	var m Message
	m.setRaw(0, int32(CPUCalibrate))
	m.setFloat(0, rate)
	m.setWord(1, int32(cpus))
	return &m
}

// PassphraseText returns the phrase of a Passphrase message.
func (m *Message) PassphraseText() string { return m.text(0, Size-4*headWords) }

// NewPassphrase returns the message that gives a phrase.
func NewPassphrase(phrase string) *Message {
	var m Message
	m.setRaw(0, int32(Passphrase))
	m.setText(0, Size-4*headWords, phrase)
	return &m
}
