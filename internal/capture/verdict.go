package capture

import "math"

// verdict is the first rule that holds, with what else nearly does.
type verdict struct {
	rule       string
	confidence float64
	also       []string
}

// Verdicts that no rule gives.
const (
	mixed   = "tcp.mixed"
	unclear = "tcp.not-enough-evidence"
)

// decide tries the rules in order.
func decide(e *evidence) verdict {
	v := verdict{rule: unclear}
	if e.s.acks.pure == 0 && e.s.una == e.s.origin() || e.duration <= 0 {
		return v
	}
	found := false
	for _, r := range rules() {
		if e.vantage == local && !r.local {
			continue
		}
		score := r.score(e)
		if math.IsNaN(score) {
			continue
		}
		switch {
		case score >= 1 && !found:
			found = true
			v.rule, v.confidence = r.id, confidence(e, r)
		case score >= 0.5 && (found || score < 1):
			v.also = append(v.also, r.id)
		}
	}
	if !found || v.confidence <= 0.4 && e.minority(v.rule) {
		v.rule, v.confidence = mixed, 0.4
	}
	return v
}

// minority reports whether a rule that names what is left when nothing else
// holds explains less than half of the time.
func (e *evidence) minority(rule string) bool {
	switch rule {
	case "tcp.bandwidth", "tcp.send-buffer", "tcp.sender-host":
		return e.vantage != local && e.share[stateOpen]+e.share[stateRecovery] < 0.5
	}
	return false
}

// blind reports whether the sender's half of the round trip is known from the
// handshake only: no queue there would show.
func (e *evidence) blind() bool { return !e.c.timestamps && e.s.loop.up.n < 10 }

// confidence is high where the states that the rule explains took most of the
// time and the capture is whole.
func confidence(e *evidence, r rule) float64 {
	var share float64
	for _, s := range r.main {
		share += e.share[s]
	}
	c := 0.4
	switch {
	case share > 0.7:
		c = 0.9
	case share > 0.5:
		c = 0.7
	}
	if e.unseen > 0.001 || e.c.optionsCut || e.vantage == unknownVantage {
		c = min(c, 0.6)
	}
	// Behind a path this short, or without timestamps, the moment at which the sender met an
	// acknowledgement is a guess.
	if e.vantage != atSender && e.vantage != local && (e.minRTT < 0.001 || e.blind()) {
		c = min(c, 0.5)
	}
	if e.unseen > 0.02 || e.turns < 10 {
		c = min(c, 0.4)
	}
	return c
}
