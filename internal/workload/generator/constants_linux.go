package generator

import (
	"fmt"
	"math"
	"math/bits"

	"github.com/cilium/ebpf"
	"github.com/linerate/linerate/internal/wire/frame"
)

// set writes the program's constants. Before loading they are what the verifier
// takes for granted, so that what a load does not use costs nothing.
func (l *live) set(spec *ebpf.CollectionSpec, load Load) error {
	p := l.profile
	var header [9]uint64
	for i := range header {
		var word [8]byte
		if 8*i < len(l.tmpl.frame) {
			copy(word[:], l.tmpl.frame[8*i:])
		}
		header[i] = nativeUint64(word)
	}
	var mix [MaxMix]uint16
	sizes := 0
	if len(p.Sizes) > 1 {
		sizes = len(p.Sizes)
	}
	for i, n := range p.Sizes {
		mix[i] = uint16(n - frame.FCS)
	}
	stamp := uint64(math.MaxUint64)
	if p.StampEvery > 0 {
		stamp = uint64(p.StampEvery - 1)
	}
	s := load.schedule()
	every := p.Modifier.every(load.Rate)
	for name, v := range map[string]any{
		"out_ifindex": uint32(l.out), "batch": l.batchFor(load.Rate),
		"flow_mask": uint32(p.Flows - 1), "flow_shift": uint32(bits.Len(uint(p.Flows)) - 1), "flow_base": uint32(p.FirstFlow),
		"host_mask": uint32(max(p.Hosts, 1) - 1), "shuffled": boolean(p.Shuffled),
		"header": header, "words": l.tmpl.words, "pairs": l.tmpl.pairs, "payload_at": l.tmpl.payload, "port_at": l.tmpl.udp, "ip_at": l.tmpl.ip,
		"ipv6": boolean(p.SourceIP.Is6()), "stamp_mask": stamp, "sizes": uint32(sizes), "size_mix": mix,
		"limit": slots(load.Frames, every), "burst": uint32(load.Burst), "late_max": uint64(LateMax),
		"interval_q16": s.interval, "gap_min": shortest(s.interval),
		"step_at": s.stepAt, "step_interval_q16": s.stepInterval, "step_gap_min": shortest(s.stepInterval),
		"other_every": uint32(every), "other_kind": otherKind(p.Modifier),
		"fault_every": p.fault.every, "fault_kind": p.fault.kind,
	} {
		if err := spec.Variables[name].Set(v); err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
	}
	return nil
}

// shortest is the gap while catching up: a quarter less than the interval, in ns.
func shortest(interval uint64) uint64 { return (interval - interval/4) >> 16 }

// otherKind is the program's number for what replaces test frames.
func otherKind(m Modifier) uint32 {
	return map[Modifier]uint32{Management: 1, Broadcast: 2}[m]
}

func boolean(b bool) uint32 {
	if b {
		return 1
	}
	return 0
}
