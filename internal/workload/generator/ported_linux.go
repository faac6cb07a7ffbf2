package generator

import (
	"context"
	"encoding/binary"
	"fmt"
	"runtime"
	"time"

	"golang.org/x/sys/unix"

	"github.com/linerate/linerate/internal/port"
	"github.com/linerate/linerate/internal/wire/frame"
)

// ported sends over a Port: for interfaces that cannot send XDP frames.
type ported struct {
	profile Profile
	tmpl    template
	port    port.Port
}

// NewPorted returns a Sender over p, which it closes.
func NewPorted(p port.Port, profile Profile) (Sender, error) {
	if err := profile.check(); err != nil {
		return nil, fmt.Errorf("generator: %w", err)
	}
	return &ported{profile, profile.template(), p}, nil
}

func (s *ported) Name() string { return s.port.Info().Name }
func (s *ported) Close() error { return s.port.Close() }

// Send offers one load from the calling goroutine, waiting in user space.
func (s *ported) Send(ctx context.Context, load Load) (Sent, error) {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	defer favour(unix.Gettid())()
	before := threadCPU()
	most := min(64, s.port.Info().Batch)
	frames := make([]port.Frame, most)
	buffers := make([][]byte, most)
	for i := range buffers {
		buffers[i] = make([]byte, len(s.tmpl.frame))
	}
	var out Sent
	var first, last, start time.Time
	interval := 0.0
	if load.Rate > 0 {
		interval = 1e9 / load.Rate
	}
	for out.Frames < load.Frames && ctx.Err() == nil {
		now := time.Now()
		if out.Frames == 0 {
			first, start = now, now
		}
		due := int(min(load.Frames-out.Frames, uint64(most)))
		if interval > 0 {
			// Everything whose time has come leaves in one call.
			ready := int(float64(now.Sub(start))/interval) + 1 - int(out.Frames)
			if due = min(due, ready); due <= 0 {
				continue
			}
			late := now.Sub(start) - time.Duration(float64(out.Frames)*interval)
			for range due {
				out.Late.Add(uint64(max(0, late)))
			}
			if late > LateMax {
				out.Slips++
				out.Slipped += late
				start = start.Add(late)
			}
		}
		for i := range due {
			buffers[i] = s.fill(buffers[i], out.Frames+uint64(i), now)
			frames[i].Data = buffers[i]
		}
		n, err := s.port.Send(frames[:due])
		out.Frames += uint64(n)
		if n > 0 {
			last = now
		}
		if err != nil {
			return out, fmt.Errorf("generator: %w", err)
		}
	}
	out.Duration = last.Sub(first)
	out.CPU = threadCPU() - before
	return out, context.Cause(ctx)
}

// fill makes the n-th frame in b, as the program in the kernel does.
func (s *ported) fill(b []byte, n uint64, now time.Time) []byte {
	p := s.profile
	b = b[:p.Sizes[n%uint64(len(p.Sizes))]-frame.FCS]
	copy(b, s.tmpl.frame)
	flow := uint16(p.FirstFlow) + uint16(n%uint64(p.Flows))
	sig := frame.Signature{Flow: flow, Sequence: n / uint64(p.Flows)}
	if p.StampEvery > 0 && sig.Sequence%uint64(p.StampEvery) == 0 {
		sig.Stamp = monotonic()
	}
	ip, udp := b[s.tmpl.ip:s.tmpl.udp], b[s.tmpl.udp:]
	binary.BigEndian.PutUint16(udp, sourcePort+flow&0x3fff)
	binary.BigEndian.PutUint16(udp[4:], uint16(len(udp)))
	host := ip[len(ip)-2:]
	binary.BigEndian.PutUint16(host, binary.BigEndian.Uint16(host)+flow&uint16(max(p.Hosts, 1)-1))
	sig.Append(b[:s.tmpl.payload])
	if p.SourceIP.Is6() {
		binary.BigEndian.PutUint16(udp[6:], 0)
		binary.BigEndian.PutUint16(udp[6:], ^sum16(uint32(sum16(uint32(17+len(udp)), ip[8:])), udp))
		return b
	}
	binary.BigEndian.PutUint16(ip[2:], uint16(len(ip)+len(udp)))
	binary.BigEndian.PutUint16(ip[10:], 0)
	binary.BigEndian.PutUint16(ip[10:], ^sum16(0, ip))
	return b
}

// monotonic is the clock of time stamps, the kernel's own (bpf_ktime_get_ns).
func monotonic() uint64 {
	var t unix.Timespec
	if unix.ClockGettime(unix.CLOCK_MONOTONIC, &t) != nil {
		return 0
	}
	return uint64(t.Nano())
}
