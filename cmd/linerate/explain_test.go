package main

import (
	"bytes"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/linerate/linerate/internal/explain"
	"github.com/linerate/linerate/internal/host"
	"github.com/linerate/linerate/internal/lever"
	"github.com/linerate/linerate/result"
)

// explainRun runs explain and returns its exit status and what it printed.
func explainRun(t *testing.T, in string, args ...string) (code int, out, errs string) {
	t.Helper()
	var o, e bytes.Buffer
	code = run(t.Context(), cli{strings.NewReader(in), &o, &e}, append([]string{"explain"}, args...))
	return code, o.String(), e.String()
}

func TestExplainFacts(t *testing.T) {
	board := "board: a Pi\nlink: {speed: 1Gbit/s, pause: off}\nprotocol: tcp\ngoodput.rx: 40Mbit/s\nworks: [tx]\n"
	code, out, errs := explainRun(t, board, "--facts", "-")
	if code != exitDone || !strings.Contains(out, "a Pi\n") || !strings.Contains(out, "1. link.host-slower  R-LINK-4  (limits,") ||
		!strings.Contains(out, "turn      ethtool.pause.rx=on") || !strings.Contains(out, "link.pause off") {
		t.Errorf("exit status %d\n%s%s", code, out, errs)
	}
	name := filepath.Join(t.TempDir(), "board.yaml")
	if err := os.WriteFile(name, []byte(board), 0o600); err != nil {
		t.Fatal(err)
	}
	code, out, errs = explainRun(t, "", name, "--json", "--expect", "100Mbit/s")
	if code != exitMissed {
		t.Errorf("exit status %d, want %d for a target missed: %s", code, exitMissed, errs)
	}
	r, err := result.Decode(strings.NewReader(out))
	if err != nil {
		t.Fatal(err)
	}
	if len(r.Findings) == 0 || r.Findings[0].Code != "R-LINK-4" || r.Origin != result.Imported {
		t.Errorf("result %+v", r)
	}
	// What explain wrote, explain reads, and says the same once.
	file := filepath.Join(t.TempDir(), "board.json")
	if err := os.WriteFile(file, []byte(out), 0o600); err != nil {
		t.Fatal(err)
	}
	_, again, _ := explainRun(t, "", file)
	if strings.Count(again, "link.host-slower") != 1 {
		t.Errorf("read again:\n%s", again)
	}
}

func TestExplainStopsAndDoesNotKnow(t *testing.T) {
	for facts, want := range map[string]string{
		"link.speed: 1Gbit/s\nprotocol: udp\ngoodput: 956.569Mbit/s": "At line rate: stop.",
		"link.speed: 1Gbit/s\ngoodput: 167Mbit/s":                    "don't know",
	} {
		if code, out, errs := explainRun(t, facts, "--facts", "-"); code != exitDone || !strings.Contains(out, want) {
			t.Errorf("%q: exit status %d, want %q in\n%s%s", facts, code, want, out, errs)
		}
	}
}

func TestExplainRecordings(t *testing.T) {
	// A box between two recordings: 600 frames missed.
	record := func(name, uptime, missed string) string {
		file := filepath.Join(t.TempDir(), name)
		tree := "-- proc/uptime --\n" + uptime + " 1.0\n-- link/eth0/stats64 --\nrx_packets: 1000\nrx_missed_errors: " + missed +
			"\n-- sys/class/net/eth0/speed --\n1000\n-- sys/class/net/eth0/duplex --\nfull\n-- ethtool/eth0/rings --\nrx: 256\nrx-max: 4096\n" +
			"-- proc/sys/net/netfilter/nf_conntrack_count --\n5\n"
		if err := os.WriteFile(file, []byte(tree), 0o600); err != nil {
			t.Fatal(err)
		}
		return file
	}
	before, after := record("before.txtar", "100.0", "400"), record("after.txtar", "110.0", "1000")
	code, out, errs := explainRun(t, "", before, after)
	if code != exitDone || !strings.Contains(out, "drop.ring") || !strings.Contains(out, "drops.ring 600") || !strings.Contains(out, "ethtool.rings.rx=512") {
		t.Errorf("exit status %d\n%s%s", code, out, errs)
	}
	if code, _, errs := explainRun(t, "", after, before); code != exitFailed || !strings.Contains(errs, "give the earlier first") {
		t.Errorf("later recording first: exit status %d, %s", code, errs)
	}
	if code, out, _ := explainRun(t, "", after); code != exitDone || !strings.Contains(out, "counters since") {
		t.Errorf("one recording: exit status %d\n%s", code, out)
	}
	if code, _, errs := explainRun(t, "", after, "-i", "eth7"); code != exitUsage || !strings.Contains(errs, "it has eth0") {
		t.Errorf("unknown interface: exit status %d, %s", code, errs)
	}
}

func TestExplainMistakes(t *testing.T) {
	for _, c := range []struct {
		args []string
		code int
		want string
	}{
		{nil, exitUsage, "wants a FILE"},
		{[]string{"none.json"}, exitFailed, "none.json"},
		{[]string{"none.yaml"}, exitFailed, "none.yaml"},
		{[]string{"--top", "0", "x.json"}, exitUsage, "--top"},
		{[]string{"--rules", "R-NONE"}, exitUsage, "no rule R-NONE"},
		{[]string{"--facts", "-"}, exitFailed, "no such fact"},
	} {
		if code, out, errs := explainRun(t, "speeed: 1", c.args...); code != c.code || !strings.Contains(errs, c.want) {
			t.Errorf("%v: exit status %d, want %d and %q: %s%s", c.args, code, c.code, c.want, out, errs)
		}
	}
	if code, out, _ := explainRun(t, "", "--rules", "r-tcp-1"); code != exitDone || !strings.Contains(out, "tcp.window-limited") {
		t.Errorf("--rules: exit status %d\n%s", code, out)
	}
	if code, out, _ := explainRun(t, "", "--facts-help"); code != exitDone || !strings.Contains(out, "link.speed-max") {
		t.Errorf("--facts-help: exit status %d\n%s", code, out)
	}
}

// Advice in the spelling of a setting must be one that tune knows.
func TestExplainAdvisesSettings(t *testing.T) {
	h := host.Recorded(fstest.MapFS{})
	for _, r := range explain.Rules() {
		for _, a := range r.Levers {
			kind, _, _ := strings.Cut(a.Lever, ".")
			if !slices.Contains([]string{"sysctl", "link", "queue", "irq", "cpu", "ethtool"}, kind) {
				continue
			}
			id := strings.Replace(a.Lever, "irq.N.", "irq.1.", 1)
			_, ofBox := lever.Find(h, id)
			if _, ofPort := lever.Find(h, id+"@eth0"); ofBox != nil && ofPort != nil {
				t.Errorf("%s advises %s: %v", r.ID, a.Lever, ofBox)
			}
		}
	}
}

// tune advise turns the same explanations into settings of this box and the
// command that applies them.
func TestTuneAdvise(t *testing.T) {
	file := filepath.Join(t.TempDir(), "board.yaml")
	board := "protocol: tcp\nlink.speed: 1Gbit/s\ngoodput: 23MB/s\ntcp.window: 8192\ntcp.rtt: 356us\n"
	if err := os.WriteFile(file, []byte(board), 0o644); err != nil {
		t.Fatal(err)
	}
	var out, errs bytes.Buffer
	code := run(t.Context(), cli{strings.NewReader(""), &out, &errs}, []string{"tune", "advise", "--facts", file})
	if runtime.GOOS != "linux" {
		if code != exitUnsupported {
			t.Fatalf("exit status %d: %s", code, errs.String())
		}
		return
	}
	if code != exitDone || !strings.Contains(out.String(), "sysctl.net.ipv4.tcp_rmem") || !strings.Contains(out.String(), "tcp.window-limited") {
		t.Errorf("exit status %d\n%s%s", code, out.String(), errs.String())
	}
	if code := run(t.Context(), cli{strings.NewReader(""), &out, &errs}, []string{"tune", "advise"}); code != exitUsage {
		t.Errorf("without files: exit status %d, want %d", code, exitUsage)
	}
}
