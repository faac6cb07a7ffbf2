package fastpath

import "time"

// State is what a fast path does and did.
type State struct {
	Interfaces []string
	Routed     bool          // the routing table alone decides
	Generation uint32        // of rules, routes and neighbours
	Lease      time.Duration // left; 0 or less: everything is the stack's
	Flows      int           // connections held
	Room       int           // that there is room for
	Reasons    []Reason
}

// Flow is one connection of the fast path.
type Flow struct {
	Connection
	State string // fast, undecided, mangled, closing
	Ways  [2]Way
}

// Way is one direction of a Flow: what went beside the stack.
type Way struct {
	Packets, Bytes uint64 // bytes of IP packets
	Idle           time.Duration
	Out            string // interface
}
