package probe

import (
	"io/fs"
	"maps"
	"os"
	"strings"
	"testing"

	"github.com/linerate/linerate/internal/host"
	"github.com/linerate/linerate/internal/testnet"
)

// TestProbingLeavesNothing compares modules, descriptors, interfaces and
// settings before and after.
func TestProbingLeavesNothing(t *testing.T) {
	link := testnet.NewPair(t, testnet.LinkOptions{})
	h, err := host.LiveIn(link.A.Namespace.Do)
	if err != nil {
		t.Fatal(err)
	}
	defer h.Close()
	state := func() map[string]string {
		modules, _ := os.ReadFile("/proc/modules") // a kernel without modules loads none
		var names []string
		for line := range strings.Lines(string(modules)) {
			names = append(names, strings.Fields(line)[0])
		}
		fds, err := os.ReadDir("/proc/self/fd")
		if err != nil {
			t.Fatal(err)
		}
		links, err := fs.ReadDir(h, "link")
		if err != nil {
			t.Fatal(err)
		}
		_, settings := host.Describe(h, "eth0")
		settings["modules"] = strings.Join(names, " ")
		settings["descriptors"] = strings.Repeat("|", len(fds))
		settings["links"] = strings.Repeat("|", len(links))
		return settings
	}
	before := state()
	as := Host(h, true, []string{"eth0"})
	if after := state(); !maps.Equal(before, after) {
		t.Errorf("before %v\nafter %v", before, after)
	}
	for _, name := range []string{"capabilities", "network namespaces", "sendfile", "splice", "offloads"} {
		if a := find(t, as, name); a.Verdict != Yes {
			t.Errorf("%s: %s, %s", name, a.Verdict, a.Detail)
		}
	}
	if a := find(t, as, "ring sizes"); a.Verdict != No || a.Detail == "" {
		t.Errorf("ring sizes of a veth: %+v", a)
	}
}
