package main

import (
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/linerate/linerate/internal/testnet"
	"github.com/linerate/linerate/result"
)

func TestInspectRefusesWhatHurts(t *testing.T) {
	for _, c := range []struct {
		args []string
		want string
	}{
		{[]string{"inspect"}, "which interface?"},
		{[]string{"inspect", "-i", "lo", "tcp", "port"}, "column 9: want an address, number or name, have the end\n  tcp port\n          ^"},
		{[]string{"inspect", "-i", "lo", "--headers", "3"}, "want 14 to 512"},
		{[]string{"inspect", "-i", "lo", "--mode", "half"}, "want split, full or count"},
		{[]string{"inspect", "-i", "lo", "--mode", "count", "-w", "x"}, "count mode takes nothing"},
		{[]string{"inspect", "-i", "lo", "--place", "driver", "--direction", "out"}, "the driver sees only what comes in"},
		{[]string{"inspect", "compare", "192.0.2.1", "-i", "lo", "tcp["}, "want a number"},
		{[]string{"inspect", "compare", "192.0.2.1", "-i", "lo", "--modes", "off,half"}, "want off, split, full or count"},
	} {
		status, _, stderr := call(t, c.args...)
		if status != exitUsage || !strings.Contains(stderr, c.want) {
			t.Errorf("%v: status %d, %q, want %q", c.args, status, stderr, c.want)
		}
	}
}

// TestInspectWrites has tshark read what was taken.
func TestInspectWrites(t *testing.T) {
	tshark := testnet.NeedTool(t, "tshark")
	l := testnet.NewPair(t, testnet.LinkOptions{})
	file := filepath.Join(t.TempDir(), "x.pcapng")
	c, err := l.A.Namespace.DialContext(t.Context(), "udp", net.JoinHostPort(l.B.IPv4.Addr().String(), "9999"))
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	stop := make(chan struct{})
	defer close(stop)
	go func() {
		for tick := time.NewTicker(time.Millisecond); ; {
			select {
			case <-stop:
				return
			case <-tick.C:
				_, _ = c.Write(make([]byte, 700)) // nobody listens there
			}
		}
	}()
	r := process(t, l.B.Namespace, "inspect", "-i", l.B.Interface, "--time", "1s", "-w", file, "udp", "port", "9999")
	taken, _ := result.Get(r.Totals, result.InspectFrames, "outcome", "taken")
	if taken < 50 {
		t.Errorf("%.0f frames taken", taken)
	}
	out, err := exec.CommandContext(t.Context(), tshark, "-r", file, "-Y", "udp.dstport == 9999 && frame.len == 742 && frame.cap_len == 64", "-T", "fields", "-e", "frame.number").Output()
	if n := strings.Count(string(out), "\n"); err != nil || float64(n) != taken {
		t.Errorf("tshark reads %d of %.0f frames, %v", n, taken, err)
	}
	if flow, ok := result.Get(r.Totals, result.InspectFlow); !ok || flow != taken*742 {
		t.Errorf("%.0f bytes in the flow, %v", flow, r.Totals)
	}
}

func TestInspectCompare(t *testing.T) {
	l := testnet.NewPair(t, testnet.LinkOptions{Offload: testnet.OffloadSegments})
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	peer := l.B.IPv4.Addr().String()
	if _, err := l.B.Namespace.Start(t.Context(), self, "serve", "stream", "--bind", peer); err != nil {
		t.Fatal(err)
	}
	for deadline := time.Now().Add(10 * time.Second); ; time.Sleep(20 * time.Millisecond) {
		c, err := l.A.Namespace.DialContext(t.Context(), "tcp", net.JoinHostPort(peer, "5201"))
		if err == nil {
			c.Close()
			break
		}
		if time.Now().After(deadline) {
			t.Fatal(err)
		}
	}
	r := process(t, l.A.Namespace, "inspect", "compare", peer, "-i", l.A.Interface, "--sweep", "512,1500", "--time", "300ms")
	if len(r.Trials) != 12 {
		t.Fatalf("%d trials", len(r.Trials))
	}
	for _, trial := range r.Trials {
		what := fmt.Sprint(trial.Params)
		if g, _ := result.Get(trial.Values, result.Goodput); g <= 0 {
			t.Errorf("%s: goodput %g", what, g)
		}
		n := map[string]float64{}
		for _, v := range trial.Values {
			if v.Metric == result.InspectFrames.Name {
				n[v.Labels["outcome"]] = v.V
			}
		}
		if off := trial.Params[inspectionParam] == "off"; off != (len(n) == 0) || !off && (n["matched"] < 100 || n["matched"] != n["taken"]+n["lost"]) {
			t.Errorf("%s: %v", what, n)
		}
	}
	for _, way := range []string{"tx", "rx"} {
		for _, mode := range []string{"split", "full"} {
			if v, ok := result.Get(r.Totals, result.InspectShare, directionParam, way, inspectionParam, mode, messageParam, "1500"); !ok || v <= 0 {
				t.Errorf("%s %s keeps %g of the goodput", way, mode, v)
			}
		}
	}
}
