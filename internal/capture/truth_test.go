package capture

import (
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// answers are the verdicts that are right for a capture's true limit, by the
// first letters of its file name; those of a receiver's capture may be others.
var answers = []struct {
	file     string
	verdicts []string
	receiver []string
}{
	{"a1_", []string{"tcp.receive-window"}, nil},
	{"a3_", []string{"tcp.sender-host"}, nil},
	{"b1_", []string{"tcp.loss"}, nil},
	{"b3_", []string{"tcp.rto-stall"}, []string{"tcp.silence-upstream"}},
	{"b4_", []string{"tcp.slow-start"}, nil},
	{"c1_", []string{"tcp.application"}, nil},
	{"c3_", []string{"tcp.request-response"}, nil},
	{"d1_", []string{"tcp.nagle-delayed-ack"}, nil},
	{"d2_", []string{"tcp.request-response"}, nil},
	{"e1_", []string{"tcp.zero-window"}, nil},
	{"f_", []string{"tcp.small-segments"}, nil},
	{"g1_", []string{"tcp.bandwidth"}, nil},
	{"h", []string{"tcp.sender-host"}, nil},
	{"i", []string{"tcp.bandwidth"}, nil},
	{"j1_", []string{"tcp.mtu-black-hole"}, nil},
	{"k_", []string{"tcp.slow-start"}, nil},
}

// verdictOfFile analyses a capture and returns its largest direction.
func verdictOfFile(t *testing.T, name string) (*Engine, *Connection) {
	t.Helper()
	f, err := os.Open(name)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	e, err := analyze(t, f, Options{Series: true})
	if err != nil {
		t.Fatalf("%s: %v", name, err)
	}
	cs := e.Connections()
	if len(cs) == 0 {
		t.Fatalf("%s: no connection", name)
	}
	return e, cs[0]
}

// TestTruth holds every capture with a known limit against its verdict, and the
// sender's count of retransmissions against the kernel's.
func TestTruth(t *testing.T) {
	table, err := os.ReadFile("testdata/truth.tsv")
	if err != nil {
		t.Fatal(err)
	}
	seen := 0
	for line := range strings.Lines(string(table)) {
		f := strings.Split(line, "\t")
		if f[0] == "file" {
			continue
		}
		_, x := verdictOfFile(t, "testdata/"+f[0]+".zst")
		seen++
		if n, err := strconv.Atoi(f[7]); err == nil && strings.Contains(f[0], ".snd.") && x.e.s.loss.retransmits != int64(n) {
			t.Errorf("%s: %d retransmissions, the kernel counted %d", f[0], x.e.s.loss.retransmits, n)
		}
		if strings.HasPrefix(f[0], "a4_") { // three limits at once
			if x.v.confidence > 0.5 {
				t.Errorf("%s: %s with confidence %.1f, want doubt", f[0], x.Verdict, x.v.confidence)
			}
			continue
		}
		i := slices.IndexFunc(answers, func(a struct {
			file     string
			verdicts []string
			receiver []string
		}) bool {
			return strings.HasPrefix(f[0], a.file)
		})
		if i < 0 {
			t.Errorf("%s: no answer known", f[0])
			continue
		}
		right := slices.Contains(answers[i].verdicts, x.Verdict) || strings.Contains(f[0], ".rcv.") && slices.Contains(answers[i].receiver, x.Verdict)
		if !right {
			t.Errorf("%s (%s): %s, %s", f[0], f[1], x.Verdict, x.Findings[0].Text)
		}
		want := map[string]vantage{".snd.": atSender, ".mid.": midPath, ".rcv.": atReceiver}[f[0][len(f[0])-9:len(f[0])-4]]
		if got := x.e.vantage; got != want && got != local {
			t.Errorf("%s: vantage %s, want %s", f[0], got, want)
		}
	}
	if seen < 40 {
		t.Errorf("only %d captures", seen)
	}
}

// TestFaults wants the capture's own faults told from the network's.
func TestFaults(t *testing.T) {
	const dir = "../wire/pcap/testdata/formats/"
	for name, check := range map[string]func(*Engine, *Connection) bool{
		"art_capdrop1pct": func(_ *Engine, x *Connection) bool {
			return x.e.s.loss.retransmits == 15 && x.e.unseen > 0.005 && x.e.unseen < 0.02
		},
		"art_capdropburst": func(_ *Engine, x *Connection) bool { return x.e.unseen > 0.02 && x.v.confidence <= 0.4 },
		"art_spandup": func(_ *Engine, x *Connection) bool {
			return x.e.s.loss.retransmits == 0 && x.e.c.duplicates > 2900 && x.e.s.loss.dupAckTotal == 0
		},
		"art_clockback": func(e *Engine, x *Connection) bool {
			return e.timebase.steps == 1 && x.e.duration < 1.1 && x.Verdict == "tcp.receive-window"
		},
		"art_clockfwd": func(e *Engine, x *Connection) bool {
			return e.timebase.steps == 1 && x.e.duration < 1.1 && x.Verdict == "tcp.receive-window"
		},
		"art_oneway": func(_ *Engine, x *Connection) bool { return x.Verdict == unclear },
		"art_seqwrap": func(_ *Engine, x *Connection) bool {
			return x.e.s.loss.retransmits == 0 && x.Verdict == "tcp.receive-window"
		},
		"art_iplen0":          func(_ *Engine, x *Connection) bool { return x.e.s.superMax == 65160 && x.e.unseen == 0 },
		"art_nohandshake_ws1": func(_ *Engine, x *Connection) bool { return x.e.s.unscaled == 1 && x.Verdict == "tcp.receive-window" },
		"art_nohandshake_ws8": func(_ *Engine, x *Connection) bool { return x.e.s.unscaled <= 8 && x.Verdict == "tcp.bandwidth" },
		"fmt_snap54": func(_ *Engine, x *Connection) bool {
			return x.e.c.optionsCut && x.Verdict == "tcp.receive-window" && x.v.confidence <= 0.6
		},
		"fmt_ng2if": func(_ *Engine, x *Connection) bool { return x.Verdict == "tcp.receive-window" },
	} {
		file := dir + name + ".pcap.zst"
		if name == "fmt_ng2if" {
			file = dir + name + ".pcapng.zst"
		}
		if e, x := verdictOfFile(t, file); !check(e, x) {
			l := x.e.s.loss
			t.Errorf("%s: %s (%.1f), duration %.2f, unseen %.4f, shift %d, steps %d, duplicates %d, losses %+v", name, x.Verdict, x.v.confidence,
				x.e.duration, x.e.unseen, x.e.s.unscaled, e.timebase.steps, x.e.c.duplicates, l)
		}
	}
}
