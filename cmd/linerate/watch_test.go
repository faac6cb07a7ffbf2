package main

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	tea "charm.land/bubbletea/v2"
	"github.com/charmbracelet/x/ansi"

	"github.com/linerate/linerate/result"
)

// readings are two a second apart: 1,000 frames of 1,500 bytes in, of which 3
// dropped; core 0 half in softirq, core 10 idle.
func readings() (before, after result.Reading) {
	at := func(n float64) []result.Value {
		return []result.Value{
			result.NICFrames.Of(1000*n, "interface", "eth0", "direction", "rx"),
			result.NICBytes.Of(1500_000*n, "interface", "eth0", "direction", "rx"),
			result.NICDropped.Of(1*n, "interface", "eth0", "direction", "rx", "reason", "dropped"),
			result.NICDropped.Of(2*n, "interface", "eth0", "direction", "rx", "reason", "missed"),
			result.NICFrames.Of(0, "interface", "idle0", "direction", "rx"),
			result.CPUSeconds.Of(0.5*n, "cpu", "0", "mode", "softirq"),
			result.CPUSeconds.Of(0.25*n, "cpu", "0", "mode", "user"),
			result.CPUSeconds.Of(0.25*n, "cpu", "0", "mode", "idle"),
			result.CPUSeconds.Of(n, "cpu", "10", "mode", "idle"),
			result.SoftnetSqueezed.Of(7*n, "cpu", "0"),
			result.Interrupts.Of(5000*n, "irq", "LOC", "device", "Local timer interrupts", "cpu", "0"),
			result.Interrupts.Of(400*n, "irq", "54", "device", "eth0", "cpu", "0"),
			result.NetworkCounter.Of(9*n, "counter", "TcpRetransSegs"),
		}
	}
	return result.Reading{At: time.Second, Values: at(1)}, result.Reading{At: 2 * time.Second, Values: at(2)}
}

func TestIntervalRenders(t *testing.T) {
	v := newInterval(readings())
	text := ansi.Strip(v.render(&watcher{speed: map[string]float64{"eth0": 100e6}}, map[string][]float64{"eth0rx": {0, 6e6, 12e6}}))
	for _, want := range []string{
		"eth0      rx    12.0 Mbit/s        1000   1500        3        0     12.2 %  ▁▄█",
		"0    ██████▒▒▒▒▒▒▒▒▒▒▒▒······   25%    0%    0%   50%    0%      5400         0         7        0",
		"10   ························",
		"54     eth0                                 core 0          400/s\nLOC ",
		"retransmitted 9/s",
	} {
		if !strings.Contains(text, want) {
			t.Errorf("no %q in\n%s", want, text)
		}
	}
	if strings.Contains(text, "idle0") {
		t.Error("an interface that never carried anything is shown")
	}
	if strings.Index(text, "\n0  ") > strings.Index(text, "\n10 ") {
		t.Error("core 10 stands before core 0")
	}
}

func TestWatchModel(t *testing.T) {
	var m tea.Model = &watchModel{ctx: t.Context(), watcher: &watcher{start: time.Now(), title: "Linux 6.1"}, history: map[string][]float64{}, width: 40}
	m, cmd := m.Update(tickMsg(time.Now()))
	if cmd == nil {
		t.Error("no reading follows the first")
	}
	m, _ = m.Update(tea.KeyPressMsg{Code: tea.KeySpace, Text: " "})
	view := m.View()
	if !m.(*watchModel).paused || !view.AltScreen || !strings.Contains(view.Content, "linerate watch") {
		t.Errorf("view %q", view.Content)
	}
	for line := range strings.Lines(view.Content) {
		if w := ansi.StringWidth(strings.TrimRight(line, "\n")); w > 40 {
			t.Errorf("line of %d columns on a terminal of 40: %q", w, line)
		}
	}
	if _, cmd = m.Update(tea.KeyPressMsg{Code: 'q', Text: "q"}); cmd == nil {
		t.Error("q does not quit")
	}
}

func TestWatchVerb(t *testing.T) {
	status, out, errs := call(t, "watch", "--once", "--json", "-i", "lo")
	var r result.Reading
	if err := json.Unmarshal([]byte(out), &r); status != exitDone || err != nil {
		t.Fatalf("status %d, %v, %s", status, err, errs)
	}
	if _, ok := result.Get(r.Values, result.NICFrames, "interface", "lo"); !ok {
		t.Error("no frames of lo in the reading")
	}
	if status, out, errs := call(t, "watch", "--once", "--every", "20ms", "-i", "lo"); status != exitDone || !strings.Contains(out, "lo        rx") || strings.Contains(out, "\x1b") {
		t.Errorf("status %d, %s\n%s", status, errs, out)
	}
	for _, args := range [][]string{{"watch"}, {"watch", "--once", "--every", "1us"}, {"watch", "x"}, {"doctor", "--host", "x", "--netns", "y"}} {
		if status, _, errs := call(t, args...); status != exitUsage {
			t.Errorf("%v: status %d, %s; want %d", args, status, errs, exitUsage)
		}
	}
	if status, _, errs := call(t, "watch", "--once", "-i", "no-such0"); status != exitFailed || !strings.Contains(errs, "there are") {
		t.Errorf("status %d, %s", status, errs)
	}
}
