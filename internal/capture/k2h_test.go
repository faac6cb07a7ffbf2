package capture

import (
	"bytes"
	"math"
	"strings"
	"testing"

	"github.com/linerate/linerate/result"
)

// TestBoardReading reads a capture as the field report on the K2H board does: a
// constant window of 64 KiB without scaling, 0.60 ms, 45 MB/s, an
// acknowledgement for every 2 and then every 10 segments. The window would
// allow 109 MB/s, so it is the sender's host, and fewer acknowledgements help.
func TestBoardReading(t *testing.T) {
	for _, perACK := range []int{2, 10} {
		for _, at := range []float64{0, 0.5, 1} {
			x := transfer{segment: 1460, segments: 60_000, gap: 32_444, rtt: 600_000, at: at, window: 65535, perACK: perACK}
			var file bytes.Buffer
			x.write(t, &file)
			c := verdictOf(t, file.Bytes())
			e := c.e
			if c.Verdict != "tcp.sender-host" {
				t.Errorf("per %d at %.1f: %s: %s", perACK, at, c.Verdict, c.Findings[0].Text)
			}
			if mb := e.rate / 8e6; math.Abs(mb-45) > 0.5 {
				t.Errorf("per %d at %.1f: %.1f MB/s", perACK, at, mb)
			}
			if math.Abs(e.segsACK-float64(perACK)) > 0.05 || math.Abs(e.minRTT-0.0006) > 2e-5 {
				t.Errorf("per %d at %.1f: %.2f segments per ACK, RTT %.6f", perACK, at, e.segsACK, e.minRTT)
			}
			scale, _ := result.Get(c.Values, result.TCPWindowScale)
			if e.window != 65535 || scale != 0 {
				t.Errorf("per %d at %.1f: window %.0f, scale %.0f", perACK, at, e.window, scale)
			}
			var window, acks *result.Finding
			for i, f := range c.Findings {
				switch f.Rule {
				case "tcp.window":
					window = &c.Findings[i]
				case "tcp.ack-rate":
					acks = &c.Findings[i]
				}
			}
			if window == nil || window.Verdict != result.DoesNotLimit || !strings.Contains(window.Text, "MB/s") {
				t.Errorf("per %d at %.1f: the window is not excused: %+v", perACK, at, window)
			} else if bound := e.windowRate / 8e6; perACK == 2 && math.Abs(bound-109) > 3 {
				t.Errorf("per %d at %.1f: window bound %.1f MB/s, want 109", perACK, at, bound)
			}
			if (acks != nil) != (perACK == 2) {
				t.Errorf("per %d at %.1f: ACK rate finding %+v", perACK, at, acks)
			}
		}
	}
}
