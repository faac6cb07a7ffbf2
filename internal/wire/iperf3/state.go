// Package iperf3 is bytes to structs for the iperf3 control protocol, its UDP
// header and the JSON document that the tool prints. It does no input or
// output; package workload/stream/iperf3 does.
//
// The protocol has no standard: what is here was read off the wire of
// releases 3.1 to 3.21.
package iperf3

import "fmt"

// Port is the TCP port of the control and of the TCP data connections, and
// the UDP port of datagrams.
const Port = 5201

// State is one byte on the control connection, signed.
type State int8

// Greeting is the time before the first state: the client has sent its cookie.
const Greeting State = 0

// The states, with the side that sends each.
const (
	TestStart       State = 1  // server: every stream is connected
	TestRunning     State = 2  // server: go
	TestEnd         State = 4  // client: its end condition is met
	ParamExchange   State = 9  // server: send the parameters
	CreateStreams   State = 10 // server: connect the streams
	ServerTerminate State = 11 // server was stopped
	ClientTerminate State = 12 // client was stopped
	ExchangeResults State = 13 // server: send the results, then read mine
	DisplayResults  State = 14 // server: that was all
	Done            State = 16 // client: finished
	AccessDenied    State = -1 // server is busy, or the cookie is wrong
	ServerError     State = -2 // server; two 32-bit words follow, see ErrorLen

	// Extended is ours: the server announces itself as linerate and a JSON
	// document (Extension) follows. It is sent only to a client that put an
	// Extension in its parameters, so no other implementation ever sees it.
	Extended State = 64
)

var stateNames = map[State]string{
	Greeting:  "the greeting",
	TestStart: "TEST_START", TestRunning: "TEST_RUNNING", TestEnd: "TEST_END", ParamExchange: "PARAM_EXCHANGE",
	CreateStreams: "CREATE_STREAMS", ServerTerminate: "SERVER_TERMINATE", ClientTerminate: "CLIENT_TERMINATE",
	ExchangeResults: "EXCHANGE_RESULTS", DisplayResults: "DISPLAY_RESULTS", Done: "IPERF_DONE",
	AccessDenied: "ACCESS_DENIED", ServerError: "SERVER_ERROR", Extended: "EXTENDED",
}

// String returns the name that iperf3's own messages use.
func (s State) String() string {
	if n, ok := stateNames[s]; ok {
		return n
	}
	return fmt.Sprintf("state %d", int8(s))
}
