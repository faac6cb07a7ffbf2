package stream

import "time"

// Bounds of a moderated receiver: it sleeps for what gatherBytes take to arrive,
// from leastSleep to mostSleep, and not at all where mostSleep brings less than
// worthBytes.
const (
	gatherBytes = 128 << 10
	worthBytes  = 4 << 10
	leastSleep  = 20 * time.Microsecond
	mostSleep   = 100 * time.Microsecond
)

// wakeBytes is how much must have come before a receiver that does not sleep
// wakes up: a segment at a time, waking costs more than receiving. What has come
// by the next tick is read all the same.
const wakeBytes = 16 << 10

// lookEvery is how often moderation looks at the rate anew.
const lookEvery = 10 * time.Millisecond

// moderation spaces the reads of bulk payload like interrupt moderation the
// interrupts of a device. A reader that waits in the socket is woken for nearly
// every packet, which costs the core that processes packets more than the packet
// itself, and acknowledges as often. A reader that sleeps through a few is not
// woken by them at all.
//
// Slow links have no such packets: there it waits in the socket as others do.
type moderation struct {
	k     *sock
	sleep time.Duration // before each read; 0: wait in the socket
	ahead bool          // payload comes faster than it is read: there is enough already
	since time.Time
	bytes int64
}

// newModeration returns nil where reads must not be late: a fixed window is
// small enough to be full by the end of a sleep.
func newModeration(k *sock, s Socket) *moderation {
	if s.Window > 0 || s.RecvBuffer > 0 || !canSleep {
		return nil
	}
	k.wakeAt(wakeBytes)
	timerSlack(time.Microsecond)
	return &moderation{k: k, since: time.Now()}
}

// end undoes what moderation changed on the calling thread.
func (m *moderation) end() {
	if m != nil {
		timerSlack(0)
	}
}

// wait lets payload gather before a read.
func (m *moderation) wait() {
	if m != nil && m.sleep > 0 && !m.ahead {
		sleepThread(m.sleep)
	}
}

// got counts what a read of up to room bytes brought.
func (m *moderation) got(n, room int) {
	if m == nil {
		return
	}
	m.ahead = n >= room/4
	m.bytes += int64(n)
	now := time.Now()
	if took := now.Sub(m.since); took >= lookEvery {
		m.set(moderate(m.bytes, took))
		m.since, m.bytes = now, 0
	}
}

// moderate returns how long to sleep at a rate of bytes in took.
func moderate(bytes int64, took time.Duration) time.Duration {
	perSleep := float64(bytes) * float64(mostSleep) / float64(took)
	if perSleep < worthBytes {
		return 0
	}
	return max(leastSleep, min(mostSleep, time.Duration(float64(mostSleep)*gatherBytes/perSleep)))
}

func (m *moderation) set(sleep time.Duration) {
	switch {
	case m.sleep == 0 && sleep > 0:
		// A threshold would have the kernel acknowledge every second segment.
		m.k.wakeAt(1)
	case m.sleep > 0 && sleep == 0:
		m.k.wakeAt(wakeBytes)
	}
	m.sleep = sleep
}
