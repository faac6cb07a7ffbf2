package capture

import (
	"cmp"
	"net/netip"
	"slices"
	"strconv"

	"github.com/linerate/linerate/result"
)

// Connection is what a report says of one direction of a TCP connection.
type Connection struct {
	From, To netip.AddrPort
	Bytes    int64
	Verdict  string // rule that holds: "tcp.receive-window"
	Findings []result.Finding
	Values   []result.Value

	e *evidence
	v verdict
}

// Name identifies the direction: "192.0.2.1:20 > 192.0.2.2:40000".
func (x *Connection) Name() string { return x.From.String() + " > " + x.To.String() }

// direction judges one direction as it stands.
func (c *connection) direction(side int) *Connection {
	x := &Connection{From: c.flow.key.end(side), To: c.flow.key.end(1 - side), Bytes: c.senders[side].bytes, e: weigh(c, side)}
	x.v = decide(x.e)
	x.Verdict = x.v.rule
	x.Values = x.values()
	x.Findings = x.findings()
	return x
}

// Connections ends the analysis and returns the largest directions, the
// largest first.
func (e *Engine) Connections() []*Connection {
	for e.active.oldest != nil {
		e.end(e.active.oldest.flow)
	}
	return e.kept
}

// Largest returns the largest directions as they stand, while frames still
// come in.
func (e *Engine) Largest() []*Connection {
	type one struct {
		c    *connection
		side int
	}
	var all []one
	for c := e.active.newest; c != nil; c = c.older {
		for side, s := range c.senders {
			if s != nil && s.bytes > 0 {
				all = append(all, one{c, side})
			}
		}
	}
	slices.SortFunc(all, func(a, b one) int { return cmp.Compare(b.c.senders[b.side].bytes, a.c.senders[a.side].bytes) })
	var out []*Connection
	for _, x := range all[:min(len(all), e.o.Top)] {
		out = append(out, x.c.direction(x.side))
	}
	return out
}

// busy is the time with data to send, as tcpi_busy_time counts it.
func (e *evidence) busy() float64 {
	var t int64
	for _, d := range e.total {
		t += d
	}
	return seconds(t - e.total[stateIdle])
}

// values are a direction's figures.
func (x *Connection) values() []result.Value {
	e, s := x.e, x.e.s
	l := &s.loss
	shift, known := e.c.flow.scale(1 - e.side)
	scale := float64(shift)
	if !known {
		scale = -1
	}
	vs := []result.Value{
		result.Goodput.Of(e.rate), result.TCPWireRate.Of(e.wire), result.Bytes.Of(e.bytes),
		result.TCPRTT.Of(e.medRTT), result.TCPMinRTT.Of(e.minRTT),
		result.TCPWindow.Of(e.window), result.TCPWindowScale.Of(scale), result.TCPWindowBound.Of(e.windowRate),
		result.TCPInFlight.Of(e.flightMed), result.TCPMSS.Of(e.full),
		result.SegmentsPerACK.Of(e.segsACK), result.TCPACKRate.Of(e.ackRate),
		result.TCPRetransmits.Of(float64(l.retransmits)),
		result.TCPBusy.Of(e.busy()),
		result.TCPRwndLimited.Of(seconds(e.total[stateWindow] + e.total[stateZero])),
		result.TCPZeroWindows.Of(float64(s.zeroTimes)),
	}
	for cause, n := range map[string]int64{"fast": l.fast, "timeout": l.timeouts, "tail loss probe": l.tailProbes, "spurious": l.needless()} {
		if n > 0 {
			vs = append(vs, result.TCPResent.Of(float64(n), "cause", cause))
		}
	}
	for st, t := range e.total {
		if t > 0 {
			vs = append(vs, result.TCPStateSeconds.Of(seconds(t), "state", state(st).String()))
		}
	}
	for n, count := range s.acks.histogram {
		if count > 0 {
			covered := strconv.Itoa(n)
			if n == len(s.acks.histogram)-1 {
				covered += "+"
			}
			vs = append(vs, result.TCPACKsBySegments.Of(float64(count), "segments", covered))
		}
	}
	return append(vs, x.seldom()...)
}

// seldom are the figures worth a place only where there is something to say.
func (x *Connection) seldom() []result.Value {
	e := x.e
	l := &e.s.loss
	var vs []result.Value
	for _, v := range []result.Value{
		result.TCPLossEvents.Of(float64(l.events)), result.TCPReordered.Of(float64(l.reordered)),
		result.TCPDuplicated.Of(float64(l.duplicates)), result.TCPLossBound.Of(e.mathis),
		result.TCPZeroWindowACKs.Of(float64(e.s.zeroACKs)), result.CaptureDuplicates.Of(float64(e.c.duplicates)), result.CaptureUnseen.Of(e.unseen),
	} {
		if v.V > 0 {
			vs = append(vs, v)
		}
	}
	if e.c.timestamps {
		vs = append(vs, result.TCPQueueDelay.Of(e.forward, "direction", "forward"), result.TCPQueueDelay.Of(e.reverse, "direction", "reverse"))
	}
	return vs
}

func seconds(ns int64) float64 { return float64(ns) / 1e9 }
