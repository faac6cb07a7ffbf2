package sa

import (
	"fmt"
	"math"
	"sync"
	"sync/atomic"
	"time"

	"github.com/linerate/linerate/internal/serve/fastpath/ipsec/transform"
)

// Room that Seal needs before and behind a packet: an outer header with UDP,
// ESP header and IV or a long AH; padding, trailer and ICV.
const (
	Headroom = 128
	Tailroom = 64
)

// SA is a security association. Its methods may run at the same time, each
// caller with its own Scratch, but for Wipe.
type SA struct {
	p    Parameters // its keys are empty
	t    transform.Transform
	mac  *transform.MAC // of AH
	born time.Time

	mtu      atomic.Int64
	narrowed atomic.Int64  // when mtu was last made smaller, in ns of Unix time; 0 is never
	seq      atomic.Uint64 // last one sent
	packets  atomic.Uint64
	bytes    atomic.Uint64
	drops    [Reasons]atomic.Uint64
	state    atomic.Uint32
	mu       sync.Mutex // window
	window   *Window
	overhead overhead
}

// States of an SA: each includes those before.
const (
	young = iota
	softExpired
	hardExpired
)

// Scratch is what one caller of Seal and Open needs for itself.
type Scratch struct {
	transform.Scratch
	header [maxHeader]byte
	icv    [64]byte
}

// New makes an association. It takes copies of the keys; the caller's stay to
// be wiped.
func New(p Parameters) (*SA, error) {
	err := p.fill()
	s := &SA{born: time.Now()}
	if err == nil && p.Protocol == AH {
		s.mac, err = transform.NewMAC(p.Suite, p.AuthKey)
	} else if err == nil {
		var suite transform.Suite
		if suite, err = transform.Lookup(p.Suite); err == nil {
			s.t, err = suite.New(p.Key, p.AuthKey)
		}
	}
	if err != nil {
		return nil, fmt.Errorf("association %#x: %w", p.SPI, err)
	}
	p.Key, p.AuthKey = transform.Key{}, transform.Key{}
	if s.p = p; p.Window > 0 {
		s.window = NewWindow(p.Window)
	}
	s.mtu.Store(int64(p.MTU))
	s.overhead = s.measure()
	return s, nil
}

// Parameters returns what the association was made of, without keys.
func (s *SA) Parameters() Parameters { return s.p }

// Wipe overwrites the keys. Nobody may use the association any more.
func (s *SA) Wipe() {
	if s.t != nil {
		s.t.Wipe()
	}
	if s.mac != nil {
		s.mac.Wipe()
	}
}

// next takes a sequence number for a packet of n bytes.
func (s *SA) next(n int) (transform.Sequence, Reason) {
	if why := s.use(n); why != OK {
		return transform.Sequence{}, why
	}
	seq := s.seq.Add(1)
	// Never again from zero: no counter may cycle (RFC 4303 3.3.3).
	if !s.p.ESN && seq > math.MaxUint32 || seq == math.MaxUint64 {
		s.seq.Add(^uint64(0))
		return transform.Sequence{}, Exhausted
	}
	return transform.Sequence{Number: seq, Extended: s.p.ESN}, OK
}

// use counts a packet of n bytes against the lifetimes.
func (s *SA) use(n int) Reason {
	if s.state.Load() == hardExpired {
		return Expired
	}
	packets, bytes := s.packets.Add(1), s.bytes.Add(uint64(n))
	if s.p.Hard.over(packets, bytes, 0) {
		s.packets.Add(^uint64(0))
		s.bytes.Add(-uint64(n))
		s.state.Store(hardExpired)
		return Expired
	}
	if s.p.Soft.over(packets, bytes, 0) {
		s.state.CompareAndSwap(young, softExpired)
	}
	return OK
}

func (l Lifetime) over(packets, bytes uint64, age time.Duration) bool {
	return l.Packets > 0 && packets > l.Packets || l.Bytes > 0 && bytes > l.Bytes || l.Time > 0 && age >= l.Time
}

// Age ends the association if its time is over, and forgets narrow paths. Call it
// once a second or so.
func (s *SA) Age(now time.Time) {
	if at := s.narrowed.Load(); at != 0 && now.UnixNano()-at > int64(forget) {
		s.narrowed.Store(0)
		s.mtu.Store(int64(s.p.MTU))
	}
	age := now.Sub(s.born)
	if s.p.Hard.over(0, 0, age) {
		s.state.Store(hardExpired)
	} else if s.p.Soft.over(0, 0, age) {
		s.state.CompareAndSwap(young, softExpired)
	}
}

// Status is what an association has done so far.
type Status struct {
	Packets  uint64            `json:"packets"`
	Bytes    uint64            `json:"bytes"`    // of the packets inside
	Sequence uint64            `json:"sequence"` // last one sent, or the greatest received
	Age      time.Duration     `json:"age"`
	Soft     bool              `json:"soft"` // time for new keys
	Expired  bool              `json:"expired"`
	MTU      int               `json:"mtu"` // of the path
	Drops    map[Reason]uint64 `json:"drops"`
}

// Status reads the counters.
func (s *SA) Status() Status {
	st := Status{Packets: s.packets.Load(), Bytes: s.bytes.Load(), Sequence: s.seq.Load(), Age: time.Since(s.born), MTU: s.PathMTU(),
		Soft: s.state.Load() >= softExpired, Expired: s.state.Load() == hardExpired, Drops: map[Reason]uint64{}}
	if s.window != nil && st.Sequence == 0 {
		s.mu.Lock()
		st.Sequence = s.window.Top()
		s.mu.Unlock()
	}
	for r := range s.drops {
		if n := s.drops[r].Load(); n > 0 {
			st.Drops[Reason(r)] = n
		}
	}
	return st
}

// Continue has an outbound association go on behind a sequence number, as one
// taken over from the kernel must.
func (s *SA) Continue(after uint64) { s.seq.Store(after) }

// PathMTU returns the MTU of the path to the peer.
func (s *SA) PathMTU() int { return int(s.mtu.Load()) }

// leastMTU is what no message may make a path narrower than, against forged
// ones (RFC 4301 8.2).
const leastMTU = 576

// forget is how long a narrower path is believed in (RFC 1191 6.3, RFC 4301
// 8.2.2).
const forget = 10 * time.Minute

// Narrow notes what an ICMP message said of the path; it reports whether that is
// news. Age forgets it after ten minutes.
func (s *SA) Narrow(mtu int, now time.Time) bool {
	mtu = max(mtu, leastMTU)
	if mtu >= s.PathMTU() {
		return false
	}
	s.narrowed.Store(now.UnixNano())
	s.mtu.Store(int64(mtu))
	return true
}

// drop counts a packet that goes no further.
func (s *SA) drop(why Reason) Reason {
	s.drops[why].Add(1)
	return why
}
