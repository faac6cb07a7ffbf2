package inspect

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"net/netip"
	"time"
	"unsafe"

	"github.com/cilium/ebpf"
)

// Pauses between two looks into the ring. Waking the reader for each frame
// would cost more than the frame; so it looks again when about a quarter of the
// ring should have filled, as interrupt moderation does.
const (
	shortPause = 200 * time.Microsecond
	longPause  = 10 * time.Millisecond
)

// Records gives every record to take until ctx ends. Then it lets go of the
// interface and gives the last ones, so that they and the counters agree.
func (i *Inspector) Records(ctx context.Context, take func(*Record)) error {
	if i.ring == nil {
		return errors.New("inspect: records: count mode makes none")
	}
	var r Record
	each := func(b []byte) {
		i.decode(b, &r)
		take(&r)
	}
	pause := longPause
	for ctx.Err() == nil {
		began := time.Now()
		freed := i.ring.drain(each)
		switch {
		case freed > i.options.Ring/4:
			pause = max(pause/2, shortPause)
		case freed < i.options.Ring/16:
			pause = min(pause*2, longPause)
		}
		if rest := pause - time.Since(began); rest > 0 {
			time.Sleep(rest)
		}
	}
	err := i.Detach()
	i.ring.drain(each)
	return err
}

// decode reads a record as the program wrote it, in this machine's byte order.
func (i *Inspector) decode(b []byte, r *Record) {
	h := (*programRecord)(unsafe.Pointer(&b[0]))
	n := int(unsafe.Sizeof(*h))
	r.At = i.boot.Add(time.Duration(h.Time))
	r.Data = b[n : n+int(h.Captured)]
	r.Length, r.Outgoing, r.Segments = int(h.Length), h.Outgoing != 0, int(h.Segments)
}

// Try runs the driver's program n times over a frame as if it had come in
// (BPF_PROG_TEST_RUN), records and counters included, and returns what one run
// took.
func (i *Inspector) Try(frame []byte, n int) (time.Duration, error) {
	_, each, err := i.objects.Driver.Benchmark(frame, n, nil)
	if err != nil {
		return 0, fmt.Errorf("inspect: try: %w", err)
	}
	return each, nil
}

// Counts returns what became of the frames so far.
func (i *Inspector) Counts() (Counts, error) {
	var c Counts
	var each []programCounters
	if err := i.objects.Counts.Lookup(uint32(0), &each); err != nil {
		return c, fmt.Errorf("inspect: counters: %w", err)
	}
	for _, p := range each {
		for _, n := range []struct {
			to   *uint64
			from uint64
		}{
			{&c.Seen, p.Seen}, {&c.SeenBytes, p.SeenBytes}, {&c.Matched, p.Matched}, {&c.MatchedBytes, p.MatchedBytes},
			{&c.Skipped, p.Skipped}, {&c.Limited, p.Limited}, {&c.Lost, p.Lost}, {&c.Taken, p.Taken},
		} {
			*n.to += n.from
		}
		for k, v := range p.Sizes {
			c.Sizes[k] += v
		}
	}
	return c, nil
}

// Protocols returns the traffic of each IP protocol that was seen; what is no
// IP comes under 256. Only count mode keeps it.
func (i *Inspector) Protocols() (map[int]Volume, error) {
	out := map[int]Volume{}
	for p := range uint32(NotIP + 1) {
		var each []programVolume
		if err := i.objects.Protocols.Lookup(p, &each); err != nil {
			return nil, fmt.Errorf("inspect: protocols: %w", err)
		}
		var v Volume
		for _, n := range each {
			v.Frames += n.Frames
			v.Bytes += n.Bytes
		}
		if v.Frames > 0 {
			out[int(p)] = v
		}
	}
	return out, nil
}

// Flows returns the traffic of each flow that count mode keeps, in no order.
func (i *Inspector) Flows() ([]Flow, error) {
	var out []Flow
	var key programFlow
	var each []programTraffic
	it := i.objects.Flows.Iterate()
	for it.Next(&key, &each) {
		f := Flow{Key: flowKey(key)}
		for _, n := range each {
			if n.Frames == 0 {
				continue
			}
			f.Frames += n.Frames
			f.Bytes += n.Bytes
			first, last := i.boot.Add(time.Duration(n.First)), i.boot.Add(time.Duration(n.Last))
			if f.First.IsZero() || first.Before(f.First) {
				f.First = first
			}
			if last.After(f.Last) {
				f.Last = last
			}
		}
		out = append(out, f)
	}
	// A flow removed or added meanwhile may end the walk early; what it found stands.
	if err := it.Err(); err != nil && !errors.Is(err, ebpf.ErrIterationAborted) {
		return out, fmt.Errorf("inspect: flows: %w", err)
	}
	return out, nil
}

func flowKey(k programFlow) Key {
	address := func(b [16]byte) netip.Addr {
		if k.Version == 4 {
			return netip.AddrFrom4([4]byte(b[12:]))
		}
		return netip.AddrFrom16(b)
	}
	number := func(v uint16) uint16 { return binary.BigEndian.Uint16(binary.NativeEndian.AppendUint16(nil, v)) }
	return Key{
		Source: netip.AddrPortFrom(address(k.Source), number(k.SourcePort)), Destination: netip.AddrPortFrom(address(k.Destination), number(k.DestinationPort)),
		Protocol: k.Protocol, VLAN: number(k.Vlan),
	}
}
