package iperf3

import (
	"net"
	"strconv"
	"time"

	wire "github.com/linerate/linerate/internal/wire/iperf3"
	"github.com/linerate/linerate/internal/workload/stream"
	"github.com/linerate/linerate/result"
)

// Output says a finished test in the JSON of iperf3 -J, so that scripts made
// for that tool read ours. r is the run's Result, its readings become the
// intervals.
func Output(r *result.Result, o stream.Outcome, addr string) *wire.Output {
	out := &wire.Output{Error: r.Error, Intervals: []wire.Interval{}}
	out.Start = start(r, o, addr)
	if o.Group == nil {
		return out
	}
	out.Intervals = intervals(r, o)
	forth, back := stream.Transmit, stream.Receive
	if o.Test.Direction == stream.Receive {
		forth = stream.Receive
	}
	e := &out.End
	for i, s := range o.Group.Streams {
		e.Streams = append(e.Streams, streamEnd(o, i, s.Role == stream.Sender))
	}
	e.Sent, e.Received = sums(o, forth)
	if o.Test.Direction == stream.Both {
		e.SentBack, e.ReceivedBack = sums(o, back)
	}
	if o.Test.Protocol == stream.UDP {
		e.Sum = e.Received
		if e.Sum == nil {
			e.Sum = e.Sent
		}
	}
	if t := o.Own.Elapsed.Seconds(); t > 0 {
		e.CPU.HostUser, e.CPU.HostSystem = 100*o.Own.User.Seconds()/t, 100*o.Own.System.Seconds()/t
		e.CPU.HostTotal = e.CPU.HostUser + e.CPU.HostSystem
	}
	if o.Remote != nil {
		e.CPU.RemoteTotal, e.SenderAlgo, out.Server = o.Remote.CPUPercent, o.Remote.Congestion, o.Remote.Output
		if t := o.Remote.Elapsed.Seconds(); t > 0 {
			e.CPU.RemoteUser, e.CPU.RemoteSystem = 100*o.Remote.User.Seconds()/t, 100*o.Remote.System.Seconds()/t
		}
	}
	return out
}

func start(r *result.Result, o stream.Outcome, addr string) wire.Start {
	t := o.Test
	s := wire.Start{
		Version: "linerate", Timestamp: wire.Timestamp{Time: r.Start.UTC().Format(time.RFC1123), Seconds: float64(r.Start.Unix())},
		TargetRate: t.Rate, Buffer: t.Socket.Window, Connected: []wire.Endpoints{},
		Test: wire.TestParams{Protocol: "TCP", Streams: t.Parallel, BlockSize: t.Message, Omit: t.Omit.Seconds(), Duration: t.Duration.Seconds(),
			Bytes: t.Bytes, Blocks: t.Messages, TOS: t.Socket.TOS, TargetRate: t.Rate, FQRate: float64(t.Socket.Pacing), Interval: 1},
	}
	if len(r.Ends) > 0 {
		s.System = r.Ends[0].Host
	}
	if t.Protocol == stream.UDP {
		s.Test.Protocol = "UDP"
	}
	switch t.Direction {
	case stream.Receive:
		s.Test.Reverse = 1
	case stream.Both:
		s.Test.Bidir = 1
	}
	s.ConnectingTo.Host, s.ConnectingTo.Port = hostPort(addr)
	if o.Group == nil {
		return s
	}
	for i, st := range o.Group.Streams {
		if st.Conn == nil {
			continue
		}
		e := wire.Endpoints{Socket: wire.StreamID(i)}
		e.LocalHost, e.LocalPort = hostPort(st.Conn.LocalAddr().String())
		e.RemoteHost, e.RemotePort = hostPort(st.Conn.RemoteAddr().String())
		s.Connected = append(s.Connected, e)
	}
	return s
}

func hostPort(addr string) (string, int) {
	host, port, err := net.SplitHostPort(addr)
	if err != nil {
		return addr, 0
	}
	n, _ := strconv.Atoi(port) // a port by name shows as 0
	return host, n
}

// figures puts counts in the form of a row.
func figures(c stream.Counts, elapsed time.Duration, udp, sender bool) *wire.Figures {
	t := elapsed.Seconds()
	f := &wire.Figures{End: t, Seconds: t, Bytes: c.Bytes, Sender: sender}
	if t > 0 {
		f.Rate = float64(c.Bytes) * 8 / t
	}
	if udp {
		jitter, lost, late, share := c.Jitter.Seconds()*1e3, c.Lost(), c.Reordered, 0.0
		f.Packets = max(c.Highest, 0)
		if c.Highest == 0 {
			f.Packets = c.Messages
		}
		if f.Packets > 0 {
			share = 100 * float64(lost) / float64(f.Packets)
		}
		f.Jitter, f.Lost, f.OutOfOrder, f.LostPercent = &jitter, &lost, &late, &share
	} else if c.Retransmits >= 0 && sender {
		f.Retransmits = &c.Retransmits
	}
	return f
}

// streamEnd is stream i as both ends saw it.
func streamEnd(o stream.Outcome, i int, sends bool) wire.StreamEnd {
	udp := o.Test.Protocol == stream.UDP
	own := figures(o.Own.Streams[i], o.Own.Elapsed, udp, sends)
	own.Socket = wire.StreamID(i)
	remote := own
	if o.Remote != nil {
		remote = figures(o.Remote.Streams[i], o.Remote.Elapsed, udp, sends)
		remote.Socket = own.Socket
	}
	sent, got := own, remote
	if !sends {
		sent, got = remote, own
	}
	if udp {
		return wire.StreamEnd{UDP: got}
	}
	return wire.StreamEnd{Sender: sent, Receiver: got}
}

// sums are those of a direction at its sender and its receiver; nil for an end
// that said nothing.
func sums(o stream.Outcome, d stream.Direction) (sent, got *wire.Figures) {
	from, to, sender, receiver := o.Sides(d)
	udp, sends := o.Test.Protocol == stream.UDP, d == stream.Transmit
	if from != nil {
		sent = figures(sender, from.Elapsed, udp, sends)
		if !udp && sender.Retransmits >= 0 {
			sent.Retransmits = &sender.Retransmits
		}
	}
	if to != nil {
		got = figures(receiver, to.Elapsed, udp, sends)
	}
	return sent, got
}

// intervals are the differences of successive readings.
func intervals(r *result.Result, o stream.Outcome) []wire.Interval {
	out := []wire.Interval{}
	readings := r.ReadingsAt("")
	for n := 1; n < len(readings); n++ {
		before, now := readings[n-1], readings[n]
		from, to := before.At.Seconds(), now.At.Seconds()
		i := wire.Interval{Streams: []wire.Figures{}}
		for k, s := range o.Group.Streams {
			label := []string{"stream", strconv.Itoa(k + 1)}
			b1, ok := result.Get(now.Values, result.Bytes, label...)
			b0, _ := result.Get(before.Values, result.Bytes, label...)
			if !ok || to <= from {
				continue
			}
			f := wire.Figures{Socket: wire.StreamID(k), Start: from, End: to, Seconds: to - from, Bytes: int64(b1 - b0),
				Rate: (b1 - b0) * 8 / (to - from), Sender: s.Role == stream.Sender, Omitted: now.At < o.Test.Omit}
			if rtt, ok := result.Get(now.Values, result.TCPRTT, "flow", "stream "+strconv.Itoa(k+1)); ok {
				f.RTT = rtt * 1e6
			}
			i.Streams = append(i.Streams, f)
			sum := &i.Sum
			if o.Test.Direction == stream.Both && !f.Sender {
				sum = &i.Reverse
			}
			if *sum == nil {
				*sum = &wire.Figures{Start: from, End: to, Seconds: to - from, Sender: f.Sender, Omitted: f.Omitted}
			}
			(*sum).Bytes += f.Bytes
			(*sum).Rate += f.Rate
		}
		if len(i.Streams) > 0 {
			out = append(out, i)
		}
	}
	return out
}
