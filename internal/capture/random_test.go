package capture

import (
	"math/rand/v2"
	"os"
	"strconv"
	"testing"
	"time"

	"github.com/linerate/linerate/internal/testnet"
)

// TestRandomCases draws fresh cases, runs them through the relay and holds the
// verdict of each capture against the limit that was made. In a laboratory
// every kind is drawn, elsewhere a few.
func TestRandomCases(t *testing.T) {
	testnet.NeedRoot(t)
	seed := uint64(time.Now().UnixNano())
	t.Logf("seed %d", seed)
	r := rand.New(rand.NewPCG(seed, 1))
	cases := scenarios(r)
	r.Shuffle(len(cases), func(i, j int) { cases[i], cases[j] = cases[j], cases[i] })
	if os.Getenv(testnet.LabVariable) != "1" {
		cases = cases[:4]
	}
	// LINERATE_ROUNDS draws that many more of every kind: 13 make 200 cases, in
	// a quarter of an hour (go test -timeout 30m).
	if rounds, err := strconv.Atoi(os.Getenv("LINERATE_ROUNDS")); err == nil {
		for range rounds {
			cases = append(cases, scenarios(r)...)
		}
	}
	for i := range cases {
		if r.IntN(2) == 0 {
			cases[i] = cases[i].withoutStamps()
		}
	}
	wrong := map[string]int{}
	total := 0
	for _, s := range cases {
		out := s.play(t)
		if out.info.Retransmits > 0 && s.quiet {
			t.Logf("%s: the machine stalled (%d retransmissions); left out", s.name, out.info.Retransmits)
			continue
		}
		total++
		for where, file := range out.captures {
			x := verdictOf(t, file)
			if !s.right(where, x.Verdict) {
				wrong[where]++
				t.Logf("%s at the %s: %s: %s", s.String(), where, x.Verdict, x.Findings[0].Text)
			}
			if n := x.e.s.loss.retransmits; where == "sender" && n != int64(out.info.Retransmits) {
				t.Errorf("%s: %d retransmissions, the kernel counted %d", s.String(), n, out.info.Retransmits)
			}
		}
	}
	// One stray case in a dozen may be a disturbed machine's; more is a rule's.
	if allowed := 1 + total/12; wrong["sender"] > allowed || wrong["middle"] > allowed || wrong["receiver"] > allowed+1 {
		t.Errorf("wrong verdicts %v of %d cases", wrong, total)
	}
}

// TestOwnQueue shapes the sender's own interface, with segmentation offload on:
// the queue is above the capture point, and the timestamps show it.
func TestOwnQueue(t *testing.T) {
	testnet.NeedRoot(t)
	l := testnet.NewPair(t, testnet.LinkOptions{})
	if out, err := l.A.Namespace.Run(t.Context(), "tc", "qdisc", "add", "dev", l.A.Interface, "root", "tbf", "rate", "20mbit", "burst", "16k", "limit", "200k"); err != nil {
		t.Fatal(out, err)
	}
	stop := record(t, l.A.Namespace, l.A.Interface)
	if _, err := (testnet.Traffic{Duration: 1500 * time.Millisecond}).Run(t.Context(), l.A.Namespace, l.B.Namespace, l.B.IPv4.Addr()); err != nil {
		t.Fatal(err)
	}
	if x := verdictOf(t, stop()); x.Verdict != "tcp.bandwidth" {
		t.Errorf("%s: %s", x.Verdict, x.Findings[0].Text)
	}
}
