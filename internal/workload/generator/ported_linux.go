package generator

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"math/bits"
	"runtime"
	"slices"
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
	shift   int // log2 of the flows: 64-bit divisions take as long as all else of a frame
}

// NewPorted returns a Sender over p, which it closes.
func NewPorted(p port.Port, profile Profile) (Sender, error) {
	if err := profile.check(); err != nil {
		return nil, fmt.Errorf("generator: %w", err)
	}
	return &ported{profile, profile.template(), p, bits.Len(uint(profile.Flows)) - 1}, nil
}

func (s *ported) Name() string { return s.port.Info().Name }
func (s *ported) Close() error { return s.port.Close() }

// Send offers one load from the calling goroutine, waiting in user space.
func (s *ported) Send(ctx context.Context, load Load) (Sent, error) {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	defer favour(unix.Gettid())()
	before := threadCPU()
	most := s.port.Info().Batch
	frames := make([]port.Frame, most)
	buffers := make([][]byte, most)
	for i := range buffers {
		buffers[i] = slices.Clone(s.tmpl.frame)
	}
	var out Sent
	every := s.profile.Modifier.every(load.Rate)
	total, plan := slots(load.Frames, every), load.schedule()
	var first, last, start time.Time
	var opened time.Duration // since start: what left before needs so long
	for n := uint64(0); n < total && ctx.Err() == nil; {
		now := time.Now()
		if n == 0 {
			first, start = now, now
		}
		due, together := 0, most
		if plan.interval > 0 && load.Burst <= 1 {
			// After a stall what is overdue must not leave in one burst.
			if together = min(most, togetherMax); now.Sub(start) < opened {
				continue
			}
		}
		if plan.interval == 0 {
			due = int(min(uint64(together), total-n))
		}
		for due < together && n+uint64(due) < total && plan.due(group(n+uint64(due), load.Burst)) <= now.Sub(start) {
			due++
		}
		if due == 0 {
			continue
		}
		opened = now.Sub(start) + plan.least(n, due)
		if plan.interval > 0 {
			if late := out.late(now.Sub(start), plan, n, due); late > LateMax {
				start = start.Add(late)
			}
		}
		batch := frames[:0]
		for i := range due {
			if b := s.slot(buffers[i], n+uint64(i), every); b != nil {
				batch = append(batch, port.Frame{Data: b})
			}
		}
		if err := s.hand(ctx, batch); err != nil {
			return out, err
		}
		if n <= plan.stepAt && n+uint64(due) > plan.stepAt {
			out.Stepped = monotonic()
		}
		n += uint64(due)
		out.Frames = n
		if every > 0 {
			out.Others = n / every
			out.Frames -= out.Others
		}
		last = now
	}
	out.Duration = last.Sub(first)
	out.CPU = threadCPU() - before
	return out, context.Cause(ctx)
}

// errStuck is wrapped by the error of a Port that takes no frame for a second.
var errStuck = errors.New("the interface takes no frames: is its link up?")

// hand gives all frames to the Port, which may take some at a time.
func (s *ported) hand(ctx context.Context, frames []port.Frame) error {
	moved := time.Now()
	for len(frames) > 0 && ctx.Err() == nil {
		n, err := s.port.Send(frames)
		if err != nil {
			return fmt.Errorf("generator: %w", err)
		}
		frames = frames[n:]
		if n == 0 && time.Since(moved) > time.Second {
			return fmt.Errorf("generator: %s: %w", s.Name(), errStuck)
		}
		if n > 0 {
			moved = time.Now()
		}
	}
	return nil
}

// togetherMax is how many frames of a paced load leave in one call.
const togetherMax = 8

// group is the frame that frame n leaves together with: the first of its burst.
func group(n uint64, burst int) uint64 {
	if burst > 1 {
		n -= n % uint64(burst)
	}
	return n
}

// late notes the lateness of n frames from the first on, and returns that of
// the first.
func (o *Sent) late(now time.Duration, plan schedule, first uint64, n int) time.Duration {
	for i := range uint64(n) {
		o.Late.Add(uint64(max(0, now-plan.due(first+i))))
	}
	late := now - plan.due(first)
	if late > LateMax {
		o.Slips++
		o.Slipped += late
	}
	return late
}

// slot makes what leaves n-th, nil where that is left out.
func (s *ported) slot(b []byte, n, every uint64) []byte {
	if every == 0 {
		return s.fill(b, n)
	}
	f := s.fill(b, n-n/every)
	if n%every != every-1 {
		return f
	}
	if s.profile.Modifier == Management {
		return nil
	}
	for i := range s.profile.Dest {
		f[i] = 0xff
	}
	f[s.tmpl.payload], f[s.tmpl.payload+1] = 0, 0 // not one of ours
	return f
}

// fill makes the n-th test frame in b, as the program in the kernel does. The
// payload behind the signature is in b already.
func (s *ported) fill(b []byte, n uint64) []byte {
	p := &s.profile
	size := p.Sizes[0]
	if len(p.Sizes) > 1 {
		size = p.Sizes[n%uint64(len(p.Sizes))]
	}
	b = b[:size-frame.FCS]
	copy(b, s.tmpl.frame[:s.tmpl.payload])
	round := n >> s.shift
	flow := uint16(uint64(p.FirstFlow) + p.order(n&uint64(p.Flows-1), round))
	sig := frame.Signature{Flow: flow, Sequence: round}
	if p.StampEvery > 0 && sig.Sequence&uint64(p.StampEvery-1) == 0 {
		sig.Stamp = monotonic()
	}
	sig.Append(b[:s.tmpl.payload])
	ip, udp := b[s.tmpl.ip:s.tmpl.udp], b[s.tmpl.udp:]
	binary.BigEndian.PutUint16(udp, p.port(flow))
	if len(p.Sizes) == 1 && p.Hosts <= 1 && !p.SourceIP.Is6() {
		return b // the template's header is right
	}
	binary.BigEndian.PutUint16(udp[4:], uint16(len(udp)))
	host := ip[len(ip)-2:]
	binary.BigEndian.PutUint16(host, binary.BigEndian.Uint16(host)+flow&uint16(max(p.Hosts, 1)-1))
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
