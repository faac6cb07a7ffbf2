package stream

import (
	"fmt"
	"strings"

	"github.com/linerate/linerate/result"
)

// Text says in a few lines what this end counted, for the other end to show.
func (o Outcome) Text() string {
	var b strings.Builder
	seconds := o.Own.Elapsed.Seconds()
	for i, c := range o.Own.Streams {
		role := o.Group.Streams[i].Role
		rate := 0.0
		if seconds > 0 {
			rate = float64(c.Bytes) * 8 / seconds
		}
		fmt.Fprintf(&b, "[%3d] 0.00-%.2f sec  %s  %s", i+1, seconds, result.FormatSize(float64(c.Bytes)), result.FormatRate(rate))
		switch {
		case role == Receiver && o.Test.Protocol == UDP:
			fmt.Fprintf(&b, "  %.3f ms  %d/%d lost  %d late  %d duplicate", c.Jitter.Seconds()*1e3, c.Lost(), c.Highest, c.Reordered, c.Duplicates)
		case role == Sender && c.Retransmits >= 0:
			fmt.Fprintf(&b, "  %d retransmits", c.Retransmits)
		}
		fmt.Fprintf(&b, "  %s\n", role)
	}
	return b.String()
}

// String names the role as iperf3 does.
func (r Role) String() string {
	return [...]string{"sender", "receiver", "requester", "responder"}[r]
}
