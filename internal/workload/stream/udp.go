package stream

import (
	"time"

	"github.com/linerate/linerate/internal/wire/iperf3"
)

// sendDatagrams sends numbered datagrams until the test ends.
func (s *Stream) sendDatagrams(k *sock, start time.Time, c *Counts) error {
	out := newDatagramSender(k, s.test)
	wide := !s.test.Counters32
	numbered := s.test.Message >= iperf3.HeaderLen && (!wide || s.test.Message >= iperf3.HeaderLen64)
	p := newPace(start, s.test.Rate, s.test.Message, s.test.Burst)
	for !s.halt.Load() {
		n := out.slots()
		if p != nil {
			var wait time.Duration
			if n, wait = p.due(c.Messages, n); n == 0 {
				s.publish(*c)
				s.sleep(wait)
				continue
			}
		}
		if n = s.take(n); n == 0 {
			return nil
		}
		if numbered {
			now := time.Since(start)
			for i := range n {
				iperf3.Header{Sent: now, Seq: uint64(c.Messages) + uint64(i) + 1}.Put(out.slot(i), wide)
			}
		}
		for done := 0; done < n; {
			m, err := out.send(done, n)
			c.Syscalls++
			c.Messages += int64(m)
			c.Bytes += int64(m) * int64(s.test.Message)
			done += m
			if err != nil {
				return err
			}
			if s.halt.Load() {
				break
			}
		}
		s.publish(*c)
	}
	return errHalted
}

// receiveDatagrams counts datagrams until the test ends.
func (s *Stream) receiveDatagrams(k *sock, c *Counts) error {
	in := newDatagramReceiver(k, s.test)
	start := time.Now()
	var seq Sequence
	var j jitter
	wide := !s.test.Counters32
	var now time.Duration
	ended := false
	count := func(b []byte) {
		if s.Unnumbered {
			ended = ended || len(b) == 0
			c.Bytes += int64(len(b))
			c.Messages += int64(min(len(b), 1))
			return
		}
		h, err := iperf3.ParseHeader(b, wide)
		if err != nil {
			return // a late hello, or no datagram of this test
		}
		if !wide {
			h.Seq = seq.Unwrap(uint32(h.Seq))
		}
		seq.Add(h.Seq)
		j.add(now, h.Sent)
		c.Bytes += int64(len(b))
		c.Messages++
	}
	for s.more(k, in.got) {
		err := in.wait()
		c.Syscalls++
		if err != nil {
			return err
		}
		now = time.Since(start)
		before := c.Bytes
		in.each(count)
		c.Highest, c.Received, c.Unique = seq.Highest(), seq.Received, seq.Unique
		c.Duplicates, c.Reordered, c.Jitter = seq.Duplicates, seq.Reordered, j.value()
		s.publish(*c)
		if ended || s.spent(int(c.Bytes-before)) {
			return nil
		}
	}
	return errHalted
}

// drainTick is how long a draining receiver waits for one more datagram.
const drainTick = 20 * time.Millisecond

// more reports whether a receiver that got n datagrams at last goes on.
func (s *Stream) more(k *sock, n int) bool {
	if !s.halt.Load() {
		return true
	}
	if !s.Drain {
		return false
	}
	if s.drainUntil.IsZero() {
		s.drainUntil = time.Now().Add(10 * drainTick)
		k.receiveTimeout(drainTick)
		return true
	}
	return n > 0 && time.Now().Before(s.drainUntil)
}

// jitter is the interarrival jitter of RFC 3550 6.4.1.
type jitter struct {
	seconds float64
	transit time.Duration
	any     bool
}

func (j *jitter) add(arrived, sent time.Duration) {
	t := arrived - sent
	if j.any {
		j.seconds += ((t - j.transit).Abs().Seconds() - j.seconds) / 16
	}
	j.transit, j.any = t, true
}

func (j *jitter) value() time.Duration { return time.Duration(j.seconds * 1e9) }
