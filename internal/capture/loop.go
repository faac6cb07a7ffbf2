package capture

// loop measures the two halves of the round trip, split at the capture point:
// down is capture point to receiver and back, up is capture point to sender
// and back.
type loop struct {
	down, up         histogram
	downMin, upMin   int64 // 0 where unknown
	lastDown, lastUp int64
	echoes           echoQueue
	lag              int64 // delay of acknowledgements into the sender's frame
	where            vantage
}

// processing is the time a sender needs to answer an acknowledgement; it is
// not path.
const processing = 30_000

func (l *loop) sampleDown(d int64) {
	l.down.add(d)
	l.lastDown = d
	l.limitDown(d)
	l.locate(l.down.n)
}

// limitDown takes a sample that bounds the minimum only, such as a handshake's.
func (l *loop) limitDown(d int64) {
	if l.downMin == 0 || d < l.downMin {
		l.downMin = max(d, 1)
	}
}

// locate finds the vantage anew now and then.
func (l *loop) locate(n int64) {
	if n&(n-1) == 0 || n%256 == 0 {
		l.where = l.vantage()
	}
}

func (l *loop) sampleUp(d int64) {
	l.up.add(d)
	l.lastUp = d
	l.limitUp(d)
	l.locate(l.up.n)
}

// limitUp takes a sample that bounds the minimum only.
func (l *loop) limitUp(d int64) {
	if l.upMin == 0 || d < l.upMin {
		l.upMin = max(d, 1)
		l.lag = max(d-processing, 0)
	}
}

// minimum is the shortest round trip seen: without queues.
func (l *loop) minimum() int64 { return l.downMin + l.upMin }

// median is the usual round trip. At the sender the upper half is processing
// time, no path.
func (l *loop) median() int64 {
	switch {
	case l.vantage() == atSender:
		return int64(l.down.median())
	case l.up.n == 0: // known from the handshake only
		return int64(l.down.median()) + l.upMin
	}
	return int64(l.down.median() + l.up.median())
}

// vantage is where on the path the capture was taken.
type vantage uint8

const (
	unknownVantage vantage = iota
	atSender
	midPath
	atReceiver
	local // both ends on one machine
)

func (v vantage) String() string {
	return [...]string{"unknown", "sender", "middle", "receiver", "local"}[v]
}

// localLimit is the longest half that still means one machine.
const localLimit = 100_000

func (l *loop) vantage() vantage {
	up, down := l.upMin, l.downMin
	switch {
	case up == 0 || down == 0:
		return unknownVantage
	case up < localLimit && down < localLimit:
		return local
	case up < 2*processing && down > 4*up:
		return atSender
	case up*10 < up+down:
		return atSender
	case up*10 > 9*(up+down):
		return atReceiver
	}
	return midPath
}

// echoQueue remembers when each new timestamp of the receiver first passed, to
// meet its echo (RFC 7323 4.1) in the data. A full queue skips timestamps.
type echoQueue struct {
	q       [16]echo
	head, n uint8
	newest  uint32
	any     bool
}

type echo struct {
	at  int64
	val uint32
}

func (e *echoQueue) passed(val uint32, at int64) {
	if e.any && int32(val-e.newest) <= 0 {
		return
	}
	e.newest, e.any = val, true
	if int(e.n) < len(e.q) {
		e.q[(e.head+e.n)%uint8(len(e.q))] = echo{at, val}
		e.n++
	}
}

// met returns when val first passed.
func (e *echoQueue) met(val uint32) (int64, bool) {
	for e.n > 0 {
		x := e.q[e.head]
		d := int32(val - x.val)
		if d < 0 {
			return 0, false
		}
		e.head, e.n = (e.head+1)%uint8(len(e.q)), e.n-1
		if d == 0 {
			return x.at, true
		}
	}
	return 0, false
}
