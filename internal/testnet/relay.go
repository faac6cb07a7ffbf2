package testnet

import (
	"io"
	"net/netip"
	"time"
)

// Path is what a relay does to the frames of one direction. The zero value
// passes them on at once.
type Path struct {
	Delay     time.Duration
	Jitter    time.Duration // up to this much more, which reorders
	Rate      float64       // bit/s of the bottleneck, all byte times of Ethernet counted; 0 is unlimited
	Queue     int           // bytes that wait for the bottleneck; 0 is unlimited
	Loss      float64       // share of the data frames lost, before the bottleneck
	Drop      []int         // data frames to lose, counted from 1, with what small frames follow each
	Reorder   float64       // share of the data frames held back by ReorderBy
	ReorderBy time.Duration
	Duplicate float64 // share of the data frames sent twice
	MaxFrame  int     // frames longer than this vanish without a word; 0 is unlimited
	ThinACKs  int     // of so many pure acknowledgements in a row, one is passed on
	Seed      uint64
}

// RelayOptions says how a relay joins two namespaces.
type RelayOptions struct {
	MTU  int // 0 means StandardMTU
	AB   Path
	BA   Path
	Pcap io.Writer // receives a capture of headers taken in the middle of the path, both ways
}

// RelayCounters is what happened to the frames of one direction.
type RelayCounters struct {
	In, Out, Lost, QueueDrops, TooLong, Reordered, Duplicated, Thinned int
}

// Relay is a link made of two TAP devices with a path between them that this
// process walks frame by frame.
type Relay struct {
	Interface string // name at both ends
	A, B      netip.Addr
	ab, ba    *walker
	stop      chan struct{}
	close     func() error
}

// Counters returns what happened to the frames of both directions, once the
// relay is closed.
func (r *Relay) Counters() (ab, ba RelayCounters) { return r.ab.count, r.ba.count }

// Close ends the relay and takes its devices away.
func (r *Relay) Close() error { return r.close() }

// dataFrame is the length from which a frame counts as data to lose: pure
// acknowledgements and handshakes are shorter.
const dataFrame = 200

// arrival is a frame on its way.
type arrival struct {
	at    time.Duration // since the relay began
	order int
	frame []byte
}

// arrivals is a heap by time.
type arrivals []arrival

func (q arrivals) Len() int { return len(q) }
func (q arrivals) Less(i, j int) bool {
	return q[i].at < q[j].at || q[i].at == q[j].at && q[i].order < q[j].order
}
func (q arrivals) Swap(i, j int) { q[i], q[j] = q[j], q[i] }
func (q *arrivals) Push(x any)   { *q = append(*q, x.(arrival)) }
func (q *arrivals) Pop() any {
	old := *q
	x := old[len(old)-1]
	*q = old[:len(old)-1]
	return x
}
