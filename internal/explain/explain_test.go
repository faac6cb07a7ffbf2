package explain

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/linerate/linerate/result"
)

const megabytes = 8e6 // MB/s in bit/s

// gigabit is TCP's limit on Gigabit Ethernet at MTU 1500 without timestamps,
// as the board's stack sends.
var gigabit = result.LineLimit.Of(949.285e6)

// The climb of the 66AK2H board: what was seen at each step, and the rule that
// must have said what to do next.
func TestBoardLadder(t *testing.T) {
	for _, c := range []struct {
		name   string
		values []result.Value
		limits string   // first rule that limits; "" for none
		clears []string // rules that must say "does not limit"
	}{
		{"as shipped: 566-byte frames, 8 KiB window, 11 MB/s",
			[]result.Value{gigabit, result.Goodput.Of(11 * megabytes), result.FrameSize.Of(566), result.TCPMSS.Of(1460)},
			"app.small-segments", []string{"line.at-rate"}},
		{"1,460-byte sends: 23 MB/s both ways with 8,192-byte buffers, 356 us",
			[]result.Value{gigabit, result.Goodput.Of(23 * megabytes), result.FrameSize.Of(1514), result.TCPMSS.Of(1460),
				result.TCPWindow.Of(8192), result.TCPRTT.Of(356e-6)},
			"tcp.window-limited", []string{"line.at-rate", "app.small-segments"}},
		{"64 KiB window over 0.60 ms, 45 MB/s, CPU 55 %: neither window nor CPU",
			[]result.Value{gigabit, result.Goodput.Of(45 * megabytes), result.FrameSize.Of(1514), result.TCPMSS.Of(1460),
				result.TCPWindow.Of(65536), result.TCPRTT.Of(0.60e-3), result.CPUSeconds.Of(5.5, "cpu", "0", "mode", "user"),
				result.CPUSeconds.Of(4.5, "cpu", "0", "mode", "idle")},
			"app.limited", []string{"line.at-rate", "app.small-segments", "tcp.window-limited", "cpu.one-core"}},
		{"header and payload both coherent: 933.24 Mbit/s with timestamps",
			[]result.Value{result.LineLimit.Of(941.482e6), result.Goodput.Of(933.24e6)},
			"line.at-rate", nil},
		{"forwarding: 956.569 Mbit/s of UDP payload in 1,500-byte frames",
			[]result.Value{result.LineLimit.Of(956.579e6), result.Goodput.Of(956.569e6)},
			"line.at-rate", nil},
	} {
		fs := Judge(View{Duration: 10 * time.Second, Values: c.values}, Rules())
		f, _ := Bound(fs)
		if f.Rule != c.limits {
			t.Errorf("%s: bound by %q, want %q\n%+v", c.name, f.Rule, c.limits, fs)
		}
		for _, id := range c.clears {
			if v := verdict(fs, id); v != result.DoesNotLimit {
				t.Errorf("%s: %s says %q, want that it does not limit", c.name, id, v)
			}
		}
	}
}

func verdict(fs []result.Finding, rule string) string {
	i := slices.IndexFunc(fs, func(f result.Finding) bool { return f.Rule == rule })
	if i < 0 {
		return "nothing"
	}
	return fs[i].Verdict
}

func TestRules(t *testing.T) {
	busy, fast := result.TCPBusy.Of(2), result.Goodput.Of(900e6)
	for _, c := range []struct {
		name, rule, want string
		values           []result.Value
	}{
		{"above the line", "line.at-rate", result.Unknown, []result.Value{gigabit, result.Goodput.Of(1e9)}},
		{"no line", "line.at-rate", "nothing", []result.Value{fast}},
		{"kernel says window", "tcp.window-limited", result.Limits, []result.Value{fast, busy, result.TCPRwndLimited.Of(0.5)}},
		{"kernel clears window in spite of the form", "tcp.window-limited", result.DoesNotLimit,
			[]result.Value{fast, busy, result.TCPRwndLimited.Of(0.1), result.TCPWindow.Of(65536), result.TCPRTT.Of(0.6e-3)}},
		{"closed though ample: not the window's fault", "tcp.window-limited", result.DoesNotLimit,
			[]result.Value{fast, busy, result.TCPRwndLimited.Of(1), result.TCPWindow.Of(4e6), result.TCPRTT.Of(4e-3), result.TCPMinRTT.Of(20e-6)}},
		{"closed though ample: the receiver's", "tcp.receiver-limited", result.Limits,
			[]result.Value{fast, busy, result.TCPRwndLimited.Of(1), result.TCPWindow.Of(4e6), result.TCPMinRTT.Of(20e-6)}},
		{"small window: not the receiver's", "tcp.receiver-limited", result.DoesNotLimit,
			[]result.Value{fast, busy, result.TCPRwndLimited.Of(1), result.TCPWindow.Of(65536), result.TCPMinRTT.Of(20e-6)}},
		{"the sender's view of the window counts", "tcp.window-limited", result.Limits,
			[]result.Value{fast, result.TCPRTT.Of(0.6e-3), result.TCPWindow.Of(1e9, "window", "receive"), result.TCPWindow.Of(65536, "window", "send")}},
		{"send buffer", "tcp.send-buffer-limited", result.Limits, []result.Value{busy, result.TCPSndbufLimited.Of(1), result.TCPSendBuffer.Of(16384)}},
		{"send buffer free", "tcp.send-buffer-limited", result.DoesNotLimit, []result.Value{busy, result.TCPSndbufLimited.Of(0.1)}},
		{"no busy time", "tcp.send-buffer-limited", "nothing", []result.Value{result.TCPSndbufLimited.Of(0.1)}},
		{"stack counts small segments", "app.small-segments", result.Limits,
			[]result.Value{result.Bytes.Of(5120000), result.DataSegmentsOut.Of(10000), result.TCPMSS.Of(1448)}},
		{"large enough for any frame", "app.small-segments", result.DoesNotLimit,
			[]result.Value{result.Bytes.Of(20e6), result.DataSegmentsOut.Of(1000), result.TCPMSS.Of(65483)}},
		{"too short to tell", "app.small-segments", "nothing", []result.Value{result.Bytes.Of(1), result.DataSegmentsOut.Of(1)}},
		{"full process", "cpu.one-core", result.Limits, []result.Value{result.ProcessCPU.Of(0.95, "process", "server", "mode", "system")}},
		{"nearly full process", "cpu.one-core", result.Unknown, []result.Value{result.ProcessCPU.Of(0.85, "process", "server", "mode", "system")}},
		{"two half-busy modes of a core add up", "cpu.one-core", result.Limits,
			[]result.Value{result.CPUSeconds.Of(0.5, "cpu", "1", "mode", "softirq"), result.CPUSeconds.Of(0.45, "cpu", "1", "mode", "user"), result.CPUSeconds.Of(1, "cpu", "0", "mode", "idle")}},
		{"lost segments are not the application's", "app.limited", result.DoesNotLimit,
			[]result.Value{result.Goodput.Of(1e6), result.TCPWindow.Of(65536), result.TCPRTT.Of(1e-3), result.TCPRetransmits.Of(5), result.DataSegmentsOut.Of(1000)}},
	} {
		fs := Judge(View{Duration: time.Second, Values: c.values}, Rules())
		if got := verdict(fs, c.rule); got != c.want {
			t.Errorf("%s: %s says %q, want %q: %+v", c.name, c.rule, got, c.want, fs)
		}
	}
}

// Every finding must let its reader check it and act on it.
func TestFindingsAreComplete(t *testing.T) {
	seen := map[string]bool{}
	for _, r := range Rules() {
		if r.ID == "" || !strings.HasPrefix(r.Code, "R-") || r.Title == "" || r.Ref == "" || seen[r.ID] {
			t.Errorf("rule %+v: incomplete or twice", r)
		}
		seen[r.ID] = true
		// All evidence there can be, in the range that makes the rule speak.
		v := View{Duration: time.Second, Values: []result.Value{
			result.Goodput.Of(949e6), gigabit, result.TCPWindow.Of(65536), result.TCPRTT.Of(0.6e-3), result.TCPBusy.Of(1), result.TCPRwndLimited.Of(1),
			result.TCPSndbufLimited.Of(1), result.FrameSize.Of(566), result.CPUSeconds.Of(1, "cpu", "0", "mode", "user"),
		}}
		switch r.ID { // these speak where the others are silent
		case "app.limited":
			v.Values = []result.Value{result.Goodput.Of(1e6), result.TCPWindow.Of(65536), result.TCPRTT.Of(1e-3)}
		case "tcp.receiver-limited":
			v.Values[2] = result.TCPWindow.Of(1e6)
		case "tcp.unscaled":
			v.Values = []result.Value{result.Goodput.Of(50e6), result.TCPWindow.Of(65535), result.TCPRTT.Of(10e-3)}
		case "test.too-short":
			if f, ok := r.judge(View{Duration: time.Millisecond}); !ok || f.Verdict != result.Unknown || f.Next == "" {
				t.Errorf("%s: %v %+v", r.ID, ok, f)
			}
			continue
		}
		if r.Check == nil {
			complete(t, r)
			continue
		}
		f, ok := r.judge(v)
		if !ok || f.Verdict != result.Limits || f.Text == "" || len(f.Evidence) == 0 || f.Trade == "" || len(f.Levers) == 0 || f.Confidence <= 0 {
			t.Errorf("%s: %v %+v", r.ID, ok, f)
		}
	}
}

func TestExplainTakesRepeatsTogether(t *testing.T) {
	trial := func(direction, repeat string, goodput float64) result.Trial {
		return result.Trial{Name: "as shipped", Params: map[string]string{"direction": direction, "repeat": repeat}, Duration: time.Second,
			Values: []result.Value{result.Goodput.Of(goodput), result.LineLimit.Of(941e6)}}
	}
	fs := Explain(&result.Result{Trials: []result.Trial{
		trial("get", "1", 100e6), trial("put", "1", 940e6), trial("get", "2", 940e6), trial("get", "3", 939e6),
	}})
	if len(fs) != 2 {
		t.Fatalf("%d findings, want one for each direction: %+v", len(fs), fs)
	}
	for i, direction := range []string{"get", "put"} {
		f := fs[i]
		if f.Trial != "as shipped" || !strings.HasPrefix(f.Text, direction+": ") || f.Verdict != result.Limits || f.Evidence[0].Labels["direction"] != direction {
			t.Errorf("finding %+v", f)
		}
	}
	if fs[0].Evidence[0].V != 939e6 {
		t.Errorf("evidence %v, want the median of the repeats", fs[0].Evidence[0])
	}
}
