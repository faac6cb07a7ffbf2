package capture

import "net/netip"

// Connection is what a report says of one direction of a TCP connection.
type Connection struct {
	From, To netip.AddrPort
	Bytes    int64
	Verdict  string

	e *evidence
	v verdict
}

func (c *connection) report() []*Connection {
	var out []*Connection
	for side, s := range c.senders {
		if s == nil || s.bytes == 0 {
			continue
		}
		s.drain(c)
		x := &Connection{From: c.flow.key.end(side), To: c.flow.key.end(1 - side), Bytes: s.bytes, e: weigh(c, side)}
		x.v = decide(x.e)
		x.Verdict = x.v.rule
		out = append(out, x)
	}
	return out
}

// Connections ends the analysis and returns the largest directions first.
func (e *Engine) Connections() []*Connection {
	for e.active.oldest != nil {
		e.end(e.active.oldest.flow)
	}
	return e.kept
}
