package iperf3

import (
	"encoding/binary"
	"fmt"
	"syscall"
)

// Code is an error number of iperf3 (i_errno).
type Code int32

// The codes that a server sends with ServerError.
const (
	CodeDuration    Code = 5
	CodeStreams     Code = 6
	CodeBlockSize   Code = 7
	CodeBuffer      Code = 8
	CodeMSS         Code = 10
	CodeOmit        Code = 12
	CodeBurst       Code = 15
	CodeUDPBlock    Code = 20
	CodeTOS         Code = 21
	CodeTotalRate   Code = 27
	CodeMaxDuration Code = 37
	CodeMessage     Code = 110
	CodeParams      Code = 114
	CodeStreamID    Code = 208
	CodeAuth        Code = 142
	CodeTimer       Code = 160
)

var codeNames = map[Code]string{
	CodeDuration: "test duration out of range", CodeStreams: "number of streams out of range",
	CodeBlockSize: "block size out of range", CodeBuffer: "socket buffer size out of range",
	CodeMSS: "segment size out of range", CodeOmit: "omit period out of range", CodeBurst: "burst out of range",
	CodeUDPBlock: "datagram size out of range", CodeTOS: "type of service out of range",
	CodeTotalRate: "total rate above the server's limit", CodeMaxDuration: "duration above the server's limit",
	CodeMessage: "unexpected control message", CodeParams: "parameters not accepted",
	CodeStreamID: "unknown stream id", CodeAuth: "authorization failed", CodeTimer: "the server's timer ran out",
}

// ErrorLen is the length of what follows ServerError on the wire.
const ErrorLen = 8

// RemoteError is what a server says after ServerError.
type RemoteError struct {
	Code  Code
	Errno syscall.Errno // 0 where no system call failed
}

func (e RemoteError) Error() string {
	s, ok := codeNames[e.Code]
	if !ok {
		s = "see iperf3's list of errors"
	}
	if e.Errno != 0 {
		return fmt.Sprintf("iperf3 error %d (%s): %v", int32(e.Code), s, e.Errno)
	}
	return fmt.Sprintf("iperf3 error %d (%s)", int32(e.Code), s)
}

// Append appends e as it goes on the wire after ServerError.
func (e RemoteError) Append(b []byte) []byte {
	b = binary.BigEndian.AppendUint32(b, uint32(e.Code))
	return binary.BigEndian.AppendUint32(b, uint32(e.Errno))
}

// ParseError reads the ErrorLen bytes after ServerError.
func ParseError(b [ErrorLen]byte) RemoteError {
	return RemoteError{
		Code:  Code(binary.BigEndian.Uint32(b[:4])),
		Errno: syscall.Errno(binary.BigEndian.Uint32(b[4:])),
	}
}
