package main

import (
	"context"
	"fmt"
	"net/http"
	"strings"
	"time"

	"github.com/linerate/linerate/internal/explain"
	"github.com/linerate/linerate/internal/testnet"
	"github.com/linerate/linerate/result"
)

// card reads what the server's stack and card did so far, by the page it shows
// inside its namespace; nothing of a server on the kernel's stack.
func (s *ladderServer) card(ctx context.Context, inside *testnet.Namespace) []result.Value {
	if s.page == "" {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, 5*time.Second)
	defer cancel()
	q, err := http.NewRequestWithContext(ctx, http.MethodGet, s.page, nil)
	if err != nil {
		return nil
	}
	c := http.Client{Transport: &http.Transport{DialContext: inside.DialContext, DisableKeepAlives: true}}
	a, err := c.Do(q)
	if err != nil {
		return nil
	}
	defer a.Body.Close()
	r, err := result.Decode(a.Body)
	if err != nil {
		return nil
	}
	return r.Totals
}

// cardFigures are the counts of a trial that say what the card did.
func cardFigures(d []result.Value) (vs []result.Value) {
	for _, m := range []result.Metric{result.CardInterrupts, result.CardReceived, result.CardKicks, result.CardSent, result.CardTransmitInterrupts,
		result.CardHeld, result.CardFull, result.CardLost, result.StackRetransmits} {
		if v, ok := result.Get(d, m); ok {
			vs = append(vs, m.Of(v))
		}
	}
	for _, s := range []string{"mean", "p99"} {
		if v, ok := result.Get(d, result.CardTimerLate, "statistic", s); ok {
			vs = append(vs, result.CardTimerLate.Of(v, "statistic", s))
		}
	}
	return vs
}

// userLines say of a step on the user-space stack what its card did, and what
// the board did that the ladder is after.
func userLines(step ladderStep, views []explain.View) (lines []string) {
	if step.user == nil {
		return nil
	}
	per := func(a, b result.Metric) string {
		var out []string
		for _, v := range views {
			x, ok1 := v.Get(a)
			y, ok2 := v.Get(b)
			if !ok1 || !ok2 || y == 0 {
				out = append(out, "-")
				continue
			}
			out = append(out, fmt.Sprintf("%.1f", x/y))
		}
		return strings.Join(out, "/")
	}
	line := fmt.Sprintf("card: %s frames/interrupt, %s frames/transmit call", per(result.CardReceived, result.CardInterrupts), per(result.CardSent, result.CardKicks))
	for _, v := range views {
		late, ok1 := v.Get(result.CardTimerLate, "statistic", "mean")
		p99, ok2 := v.Get(result.CardTimerLate, "statistic", "p99")
		if ok1 && ok2 {
			line += fmt.Sprintf("; %s: timer late by %.0f us, p99 %.0f us", v.Direction, late*1e6, p99*1e6)
		}
	}
	lines = append(lines, line)
	if b := step.boardLine(); b != "" {
		lines = append(lines, b)
	}
	return lines
}
