package main

import (
	"os"
	"testing"
)

// TestMain lets the test binary stand in for linerate where a test needs a
// server in a process of its own.
func TestMain(m *testing.M) {
	if len(os.Args) > 1 && os.Args[1] == "serve" {
		main()
		return
	}
	os.Exit(m.Run())
}
