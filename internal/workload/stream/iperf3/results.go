package iperf3

import (
	"fmt"
	"time"

	wire "github.com/linerate/linerate/internal/wire/iperf3"
	"github.com/linerate/linerate/internal/workload/stream"
)

// results says what this end measured in the words of the protocol.
func results(r stream.Report, streams []*stream.Stream, t stream.Test) wire.Results {
	seconds := r.Elapsed.Seconds()
	out := wire.Results{HasRetransmits: -1}
	if len(streams) > 0 {
		out.Congestion = streams[0].Congestion
	}
	if seconds > 0 {
		out.CPUUser, out.CPUSystem = 100*r.User.Seconds()/seconds, 100*r.System.Seconds()/seconds
		out.CPUTotal = out.CPUUser + out.CPUSystem
	}
	for i, c := range r.Streams {
		o := r.Omitted[i]
		s := wire.StreamResults{
			ID: wire.StreamID(i), Bytes: c.Bytes, Retransmits: -1, Jitter: c.Jitter.Seconds(), End: seconds,
			Detail: &wire.Detail{Received: c.Received, Unique: c.Unique, Duplicates: c.Duplicates, Reordered: c.Reordered,
				Dropped: c.Dropped, Messages: c.Messages, Syscalls: c.Syscalls, CPUSeconds: c.CPU.Seconds()},
		}
		switch sends := streams[i].Role == stream.Sender; {
		case t.Protocol == stream.UDP && sends:
			s.Packets, s.OmittedPackets = c.Messages+o.Messages, o.Messages
			out.HasRetransmits = max(out.HasRetransmits, 0)
		case t.Protocol == stream.UDP:
			s.Packets, s.OmittedPackets = c.Highest+o.Highest, o.Highest
			s.Lost, s.OmittedLost = c.Lost()+o.Lost(), o.Lost()
		case sends:
			s.Retransmits = c.Retransmits
			out.HasRetransmits = max(out.HasRetransmits, min(c.Retransmits+1, 1))
		}
		out.Streams = append(out.Streams, s)
	}
	return out
}

// report reads the peer's results; ids maps the stream ids of the test to
// places in streams.
func report(r wire.Results, ids map[int]int, streams []*stream.Stream) (stream.Report, error) {
	out := stream.Report{
		CPUPercent: r.CPUTotal, Congestion: r.Congestion, Output: r.OutputText,
		Streams: make([]stream.Counts, len(streams)),
	}
	if len(r.OutputJSON) > 0 {
		out.Output = string(r.OutputJSON)
	}
	for _, s := range r.Streams {
		i, ok := ids[s.ID]
		if !ok {
			return out, fmt.Errorf("%w: stream id %d is not of this test", ErrProtocol, s.ID)
		}
		out.Streams[i] = counts(s)
		if d := time.Duration((s.End - s.Start) * float64(time.Second)); d > out.Elapsed {
			out.Elapsed = d
		}
	}
	share := func(percent float64) time.Duration { return time.Duration(percent / 100 * float64(out.Elapsed)) }
	out.User, out.System = share(r.CPUUser), share(r.CPUSystem)
	return out, nil
}

// counts reads one stream. A peer that is not linerate tells neither
// duplicates nor late datagrams apart.
func counts(s wire.StreamResults) stream.Counts {
	c := stream.Counts{
		Bytes: s.Bytes, Retransmits: s.Retransmits, Jitter: time.Duration(s.Jitter * float64(time.Second)),
		Highest: s.Packets - s.OmittedPackets, Messages: s.Packets - s.OmittedPackets,
	}
	// Loss stays within what was sent, whatever the peer subtracted for omit.
	lost := min(max(s.Lost-s.OmittedLost, 0), max(c.Highest, 0))
	c.Unique = c.Highest - lost
	c.Received = c.Unique
	if d := s.Detail; d != nil {
		c.Received, c.Unique, c.Duplicates, c.Reordered = d.Received, d.Unique, d.Duplicates, d.Reordered
		c.Dropped, c.Messages, c.Syscalls = d.Dropped, d.Messages, d.Syscalls
		c.CPU = time.Duration(d.CPUSeconds * float64(time.Second))
	}
	return c
}
