//go:build linux

package main

import (
	"net"
	"os"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/linerate/linerate/internal/testnet"
)

// TestAgentDrivesTheOtherEnd pairs a seat with an agent over a real link and
// drives it: benches show both ends, a change that nobody confirms goes back
// when its seat dies, and a stranger is refused.
func TestAgentDrivesTheOtherEnd(t *testing.T) {
	l := testnet.NewPair(t, testnet.LinkOptions{})
	dir := t.TempDir()
	agent, err := l.B.Namespace.Start(t.Context(), os.Args[0], "agent", "--identity", dir+"/agent", "--state", dir+"/state", "--listen", net.JoinHostPort(l.B.IPv4.Addr().String(), "5311"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(agent.Stop)
	said, err := agent.Await(t.Context(), "agent trust")
	if err != nil {
		t.Fatal(err)
	}
	code := regexp.MustCompile(`[0-9A-Z]{5}-[0-9A-Z]{5}`).FindString(said + agent.Output())
	address := l.B.IPv4.Addr().String()
	seat := func(identity string, argv ...string) (string, error) {
		return l.A.Namespace.Run(t.Context(), append(append([]string{os.Args[0]}, argv...), "--identity", dir+"/"+identity)...)
	}
	must := func(argv ...string) string {
		t.Helper()
		out, err := seat("seat", argv...)
		if err != nil {
			t.Fatalf("%v: %v\n%s", argv, err, out)
		}
		return out
	}
	if out, err := seat("stranger", "agent", "trust", address, "AAAAA-AAAAA"); err == nil {
		t.Fatalf("a wrong code pairs: %s", out)
	}
	must("agent", "trust", address, code)
	if out, err := seat("stranger", "bench", "tcp", address, "--agent", address, "--time", "200ms"); err == nil || !strings.Contains(out, "not trusted") {
		t.Errorf("a seat that was never paired: %v\n%s", err, out)
	}
	if out := must("bench", "tcp", address, "--agent", address, "--time", "500ms", "--json"); !strings.Contains(out, `"dut"`) || !strings.Contains(out, `"end": "dut"`) {
		t.Errorf("the far end's counters are not in the result:\n%.2000s", out)
	}

	const name = "net.ipv4.tcp_rmem"
	before, err := l.B.Namespace.Sysctl(name)
	if err != nil {
		t.Fatal(err)
	}
	waiting, err := l.A.Namespace.Start(t.Context(), os.Args[0], "tune", "apply", "sysctl."+name+"=4096 131072 4194304", "--agent", address, "--confirm-within", "4s", "--identity", dir+"/seat")
	if err != nil {
		t.Fatal(err)
	}
	changed := false
	for range 100 {
		now, err := l.B.Namespace.Sysctl(name)
		if err != nil {
			t.Fatal(err)
		}
		if changed = strings.HasSuffix(now, "4194304"); changed {
			break
		}
		time.Sleep(50 * time.Millisecond)
	}
	if !changed {
		t.Fatalf("nothing was changed: %s", waiting.Output())
	}
	agent.Signal(os.Kill)
	for range 200 {
		now, err := l.B.Namespace.Sysctl(name)
		if err != nil {
			t.Fatal(err)
		}
		if now == before {
			return
		}
		time.Sleep(100 * time.Millisecond)
	}
	t.Error("an agent that was killed left its seat's change in place")
}
