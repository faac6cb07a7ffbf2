package main

import (
	"os"
	"testing"
)

// TestMain lets the test binary stand in for linerate where a test needs it as
// a process of its own: a server, a dead-man timer.
func TestMain(m *testing.M) {
	if len(os.Args) > 1 && (os.Args[1] == "serve" || os.Args[1] == "tune") {
		main()
		return
	}
	os.Exit(m.Run())
}
