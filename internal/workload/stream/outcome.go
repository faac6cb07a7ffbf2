package stream

import (
	"strconv"

	"github.com/HdrHistogram/hdrhistogram-go"

	"github.com/linerate/linerate/result"
)

// linerate is Report.Peer of a peer whose counts can be set against ours.
const linerate = "linerate"

// Values returns the figures of the whole test. Goodput is what the receiver
// got, by its own clock: where it did not say, there is none.
func (o Outcome) Values() []result.Value {
	if o.Group == nil {
		return nil
	}
	if o.Test.Transactions() {
		return append(o.transactions(), o.cpu()...)
	}
	var vs []result.Value
	switch o.Test.Direction {
	case Both:
		tx, rx := o.direction(Transmit), o.direction(Receive)
		// The slower direction comes first: it is the one that a target is judged by.
		if g, ok := result.Get(tx, result.Goodput); ok {
			if h, ok := result.Get(rx, result.Goodput); ok && h < g {
				tx, rx = rx, tx
			}
		}
		vs = append(tx, rx...)
	default:
		vs = o.direction(o.Test.Direction)
	}
	return append(vs, o.cpu()...)
}

// Reversed returns the outcome of a server as its client would see it.
func (o Outcome) Reversed() Outcome {
	if o.Remote == nil {
		return o
	}
	own := o.Own
	o.Own, o.Remote = *o.Remote, &own
	if o.Group == nil {
		return o
	}
	mirrored := &Group{test: o.Group.test}
	for _, s := range o.Group.Streams {
		m := &Stream{Role: s.Role, Conn: s.Conn, Congestion: s.Congestion}
		switch s.Role {
		case Sender:
			m.Role = Receiver
		case Receiver:
			m.Role = Sender
		}
		mirrored.Streams = append(mirrored.Streams, m)
	}
	o.Group = mirrored
	return o
}

// Sides returns what the sending and the receiving end counted in a direction;
// nil for an end that said nothing.
func (o Outcome) Sides(d Direction) (sent, got *Report, from, to Counts) {
	role := Sender
	sent, got = &o.Own, o.Remote
	if d == Receive {
		role = Receiver
		sent, got = o.Remote, &o.Own
	}
	for i, s := range o.Group.Streams {
		if s.Role != role {
			continue
		}
		if sent != nil {
			from = from.Plus(sent.Streams[i])
		}
		if got != nil {
			to = to.Plus(got.Streams[i])
		}
	}
	return sent, got, from, to
}

func (o Outcome) direction(d Direction) []result.Value {
	sent, got, from, to := o.Sides(d)
	label := []string{"direction", string(d)}
	var vs []result.Value
	if got != nil && got.Elapsed > 0 {
		vs = append(vs, result.Goodput.Of(float64(to.Bytes)*8/got.Elapsed.Seconds(), label...))
	}
	if sent != nil && sent.Elapsed > 0 && from.Bytes > 0 {
		vs = append(vs, result.SentRate.Of(float64(from.Bytes)*8/sent.Elapsed.Seconds(), label...))
	}
	if o.Test.Rate > 0 {
		vs = append(vs, result.IntendedRate.Of(o.Test.Rate*float64(o.Test.Parallel), label...))
	}
	if o.Test.Protocol == UDP {
		return append(vs, o.datagrams(d, sent, got, from, to)...)
	}
	if sent != nil && sent.Elapsed > 0 && from.Messages > 0 {
		vs = append(vs, result.MessageRate.Of(float64(from.Messages)/sent.Elapsed.Seconds(), label...))
	}
	if sent != nil && from.Retransmits >= 0 {
		vs = append(vs, result.TCPRetransmits.Of(float64(from.Retransmits), label...))
	}
	return vs
}

// datagrams tells lost, late and duplicate apart; each keeps to its own
// counter, so that the loss is never below 0 or above 1.
func (o Outcome) datagrams(d Direction, sent, got *Report, from, to Counts) []result.Value {
	if got == nil {
		return nil
	}
	label := []string{"direction", string(d)}
	offered := to.Highest
	// The receiver can't see that the last datagrams are missing. The sender's
	// count shows it, if the receiver read all that had come before it stopped.
	if sent != nil && d == Transmit && got.Peer == linerate {
		offered = max(offered, from.Messages)
	}
	lost := max(offered-to.Unique, 0)
	vs := []result.Value{
		result.DatagramsReceived.Of(float64(to.Unique), label...), result.DatagramsLost.Of(float64(lost), label...),
		result.DatagramsReordered.Of(float64(to.Reordered), label...), result.DatagramsDuplicate.Of(float64(to.Duplicates), label...),
		result.DatagramsDropped.Of(float64(to.Dropped), label...), result.Jitter.Of(to.Jitter.Seconds(), label...),
	}
	if offered > 0 {
		vs = append(vs, result.LossRatio.Of(float64(lost)/float64(offered), label...))
	}
	if got.Elapsed > 0 {
		vs = append(vs, result.MessageRate.Of(float64(to.Unique)/got.Elapsed.Seconds(), label...))
	}
	return vs
}

// Latencies merges the latency histograms of every requester; nil where there
// is none.
func (o Outcome) Latencies() *hdrhistogram.Histogram {
	var all *hdrhistogram.Histogram
	for _, s := range o.Group.Streams {
		switch {
		case s.Latency == nil:
		case all == nil:
			all = hdrhistogram.Import(s.Latency.Export())
		default:
			all.Merge(s.Latency)
		}
	}
	return all
}

func (o Outcome) transactions() []result.Value {
	var sum Counts
	for _, c := range o.Own.Streams {
		sum = sum.Plus(c)
	}
	var vs []result.Value
	if s := o.Own.Elapsed.Seconds(); s > 0 {
		vs = append(vs, result.TransactionRate.Of(float64(sum.Transactions)/s),
			// Requests and responses both count as delivered: each was received.
			result.Goodput.Of(float64(sum.Bytes)*8/s, "direction", string(Both)))
	}
	vs = append(vs, result.Transactions.Of(float64(sum.Transactions)))
	if h := o.Latencies(); h != nil {
		for _, q := range []string{"0", "0.5", "0.9", "0.99", "0.999", "1"} {
			p, _ := strconv.ParseFloat(q, 64) // they are numbers
			vs = append(vs, result.Latency.Of(float64(h.ValueAtPercentile(100*p))/1e9, "quantile", q))
		}
	}
	return vs
}

// cpu says what the payload cost each end.
func (o Outcome) cpu() []result.Value {
	var sum Counts
	for _, c := range o.Own.Streams {
		sum = sum.Plus(c)
	}
	var vs []result.Value
	add := func(end string, used float64) {
		if used <= 0 {
			return
		}
		if sum.Bytes > 0 {
			vs = append(vs, result.CPUPerByte.Of(used/float64(sum.Bytes), "end", end))
		}
		if sum.Messages > 0 {
			vs = append(vs, result.CPUPerMessage.Of(used/float64(sum.Messages), "end", end))
		}
	}
	if s := o.Own.Elapsed.Seconds(); s > 0 {
		used := (o.Own.User + o.Own.System).Seconds()
		vs = append(vs, result.CPUShare.Of(used/s, "end", "tester"))
		add("tester", used)
	}
	if o.Remote != nil && o.Remote.CPUPercent > 0 {
		share := o.Remote.CPUPercent / 100
		vs = append(vs, result.CPUShare.Of(share, "end", "peer"))
		add("peer", share*o.Remote.Elapsed.Seconds())
	}
	if sum.Messages > 0 {
		vs = append(vs, result.Syscalls.Of(float64(sum.Syscalls)), result.SyscallsPerMessage.Of(float64(sum.Syscalls)/float64(sum.Messages)))
	}
	return vs
}
