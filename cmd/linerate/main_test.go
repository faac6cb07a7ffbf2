package main

import (
	"os"
	"slices"
	"testing"
)

// TestMain lets the test binary stand in for linerate where a test needs it as
// a process of its own: a server, a dead-man timer, a tester all of whose
// threads are in a namespace.
func TestMain(m *testing.M) {
	if len(os.Args) > 1 && slices.Contains([]string{"serve", "tune", "generate", "rfc2544", "forward", "inspect", "bench", "agent", "get", "put"}, os.Args[1]) {
		main()
		return
	}
	os.Exit(m.Run())
}
