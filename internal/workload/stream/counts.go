package stream

import "time"

// Counts is what one end has counted of one stream.
type Counts struct {
	Bytes    int64 // payload
	Messages int64 // application writes or reads; of UDP, datagrams
	Syscalls int64

	// UDP receivers only; see Sequence.
	Highest, Received, Unique, Duplicates, Reordered int64
	Jitter                                           time.Duration // RFC 3550 6.4.1
	Dropped                                          int64         // by the socket, for a full receive buffer

	Transactions int64
	Retransmits  int64         // TCP senders; -1 unknown
	CPU          time.Duration // of the stream's thread, user and system
}

// Lost returns the datagrams that have not arrived of those that should have
// until the highest.
func (c Counts) Lost() int64 { return max(c.Highest-c.Unique, 0) }

// Since returns the growth from an earlier count; gauges stay.
func (c Counts) Since(e Counts) Counts {
	c.Bytes -= e.Bytes
	c.Messages -= e.Messages
	c.Syscalls -= e.Syscalls
	c.Highest -= e.Highest
	c.Received -= e.Received
	c.Unique -= e.Unique
	c.Duplicates -= e.Duplicates
	c.Reordered -= e.Reordered
	c.Dropped -= e.Dropped
	c.Transactions -= e.Transactions
	c.CPU -= e.CPU
	if c.Retransmits >= 0 && e.Retransmits >= 0 {
		c.Retransmits -= e.Retransmits
	}
	return c
}

// Plus adds the counts of another stream; jitter is the greater.
func (c Counts) Plus(o Counts) Counts {
	c.Bytes += o.Bytes
	c.Messages += o.Messages
	c.Syscalls += o.Syscalls
	c.Highest += o.Highest
	c.Received += o.Received
	c.Unique += o.Unique
	c.Duplicates += o.Duplicates
	c.Reordered += o.Reordered
	c.Dropped += o.Dropped
	c.Transactions += o.Transactions
	c.CPU += o.CPU
	c.Jitter = max(c.Jitter, o.Jitter)
	if c.Retransmits >= 0 && o.Retransmits >= 0 {
		c.Retransmits += o.Retransmits
	} else {
		c.Retransmits = -1
	}
	return c
}
