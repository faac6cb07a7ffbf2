//go:build !386 && !arm && !mips && !mipsle

package netstack

import (
	"time"

	"gvisor.dev/gvisor/pkg/tcpip"
)

const (
	patience = 300 * time.Millisecond // longer than a retransmission takes on a short link
	opening  = 64 << 10               // bytes of window
	openings = 16                     // of one connection, so that a peer that never reads gets no more
)

// stuck frees a write whose acknowledgements the stack throws away. gVisor
// rounds its window down to what the scaled field can say, also when it checks
// what it received: once the window has closed but for a few bytes, which the
// peer has sent, the peer's sequence numbers are past it, and gVisor drops the
// segments with all they acknowledge. RFC 9293 3.10.7.4 wants acknowledgements
// taken even then. If the application reads only after it has written, as an
// echo does, nothing would ever move. A little more window lets them in.
type stuck struct {
	timer *time.Timer
	count int
}

// begin starts a write's wait, and returns what tells that it was long.
func (s *stuck) begin() <-chan time.Time {
	if s.timer == nil {
		s.timer = time.NewTimer(patience)
	} else {
		s.timer.Reset(patience)
	}
	return s.timer.C
}

func (s *stuck) end() { s.timer.Stop() }

// open widens the window if what is not read yet has closed it.
func (s *stuck) open(ep tcpip.Endpoint) {
	unread, err := ep.GetSockOptInt(tcpip.ReceiveQueueSizeOption)
	if err != nil || unread == 0 || s.count == openings {
		return
	}
	o := ep.SocketOptions()
	// The window is half of the buffer.
	o.SetReceiveBufferSize(o.GetReceiveBufferSize()+2*opening, true)
	s.count++
	s.timer.Reset(patience)
}
