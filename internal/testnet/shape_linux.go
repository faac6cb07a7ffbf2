package testnet

import (
	"encoding/binary"
	"fmt"
	"math"

	"github.com/vishvananda/netlink"
	"github.com/vishvananda/netlink/nl"
	"golang.org/x/sys/unix"

	"github.com/linerate/linerate/internal/wire/frame"
)

// Shape limits what this end sends to a line of rate bit/s, 0 lifts the limit.
// It counts as the wire does: each frame takes its FCS, preamble and gap too,
// and is never shorter than the minimum (IEEE 802.3 3.1.1, 4.4.2). Segments
// larger than the MTU are cut before they are counted, as a line would see
// them.
func (e End) Shape(rate float64) error {
	return e.change(func(_ *netlink.Handle, link netlink.Link) error {
		if rate == 0 {
			return tokenBucket(unix.RTM_DELQDISC, 0, link, nil)
		}
		if rate < 8000 || rate >= peakRate {
			return fmt.Errorf("shape to %g bit/s: out of range", rate)
		}
		frameMax := link.Attrs().MTU + frame.HeaderBytes + frame.VLANTag
		return tokenBucket(unix.RTM_NEWQDISC, unix.NLM_F_CREATE|unix.NLM_F_REPLACE, link, tbfOptions(rate, frameMax))
	})
}

// The bucket: deep enough to catch up after the shaper's timer came late by
// lateness, with room for the sender to queue as in the ring of a NIC.
const (
	lateness = 2e-3 // s of line rate
	queued   = 5e-3 // s of line rate
)

// peakRate is in bit/s. A frame must take less time at it than the kernel takes
// to dequeue the next, or a timer is set for each frame: at 100 Gbit/s that
// halves what a gigabit shaper passes.
const peakRate = 1e13

// tbfOptions is TCA_OPTIONS of sch_tbf. The peak rate shapes nothing, but its
// burst of one frame is what makes the kernel cut larger segments (tbf_segment)
// while the bucket itself stays deep.
func tbfOptions(rate float64, frameMax int) *nl.RtAttr {
	bytes := uint64(rate / 8)
	overhead := uint16(frame.FCS + frame.Gap)
	spec := func(bytes uint64) nl.TcRateSpec {
		return nl.TcRateSpec{
			Linklayer: nl.LINKLAYER_ETHERNET, Overhead: overhead, Mpu: frame.MinFrame + frame.Gap,
			Rate: uint32(min(bytes, math.MaxUint32)),
		}
	}
	burst := max(uint32(float64(bytes)*lateness), uint32(2*frameMax))
	opt := nl.TcTbfQopt{
		Rate: spec(bytes), Peakrate: spec(peakRate / 8),
		Limit: burst + max(uint32(float64(bytes)*queued), uint32(16*frameMax)),
	}
	o := nl.NewRtAttr(nl.TCA_OPTIONS, nil)
	o.AddRtAttr(nl.TCA_TBF_PARMS, opt.Serialize())
	o.AddRtAttr(nl.TCA_TBF_RATE64, binary.NativeEndian.AppendUint64(nil, bytes))
	o.AddRtAttr(nl.TCA_TBF_PRATE64, binary.NativeEndian.AppendUint64(nil, peakRate/8))
	o.AddRtAttr(nl.TCA_TBF_BURST, nl.Uint32Attr(burst))
	o.AddRtAttr(nl.TCA_TBF_PBURST, nl.Uint32Attr(uint32(frameMax)))
	return o
}

// tokenBucket sends one request about the root queueing discipline of link.
// The netlink library's own Tbf has no overhead field.
func tokenBucket(command, flags int, link netlink.Link, options *nl.RtAttr) error {
	req := nl.NewNetlinkRequest(command, flags|unix.NLM_F_ACK)
	req.AddData(&nl.TcMsg{
		Family: nl.FAMILY_ALL, Ifindex: int32(link.Attrs().Index),
		Handle: netlink.MakeHandle(1, 0), Parent: netlink.HANDLE_ROOT,
	})
	if options != nil {
		req.AddData(nl.NewRtAttr(nl.TCA_KIND, nl.ZeroTerminated("tbf")))
		req.AddData(options)
	}
	if _, err := req.Execute(unix.NETLINK_ROUTE, 0); err != nil {
		return fmt.Errorf("qdisc tbf: %w", err)
	}
	return nil
}
