package testnet

import (
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

// ThreadNAPI gives the receive work of an interface that has GRO or an XDP
// program a thread of its own, bound to a core, and returns its number: the
// CPU time of the thread is what receiving costs.
func ThreadNAPI(t TB, e End, core int) int {
	t.Helper()
	known := napiThreads()
	err := e.Namespace.Do(func() error {
		return os.WriteFile("/sys/class/net/"+e.Interface+"/threaded", []byte("1"), 0o644)
	})
	if err != nil {
		t.Fatalf("testnet: NAPI thread: %v", err)
	}
	for pid := range napiThreads() {
		if known[pid] {
			continue
		}
		var set unix.CPUSet
		set.Set(core)
		if err := unix.SchedSetaffinity(pid, &set); err != nil {
			t.Fatalf("testnet: bind NAPI thread %d: %v", pid, err)
		}
		return pid
	}
	t.Fatalf("testnet: %s got no NAPI thread", e.Interface)
	return 0
}

// napiThreads are those of the whole box.
func napiThreads() map[int]bool {
	all := map[int]bool{}
	names, _ := filepath.Glob("/proc/[0-9]*/comm")
	for _, name := range names {
		if text, err := os.ReadFile(name); err == nil && strings.HasPrefix(string(text), "napi/") {
			pid, _ := strconv.Atoi(filepath.Base(filepath.Dir(name)))
			all[pid] = true
		}
	}
	return all
}
