package testnet

import (
	"context"
	"os"
	"os/exec"
)

// TB is what this package uses of a testing.TB.
type TB interface {
	Helper()
	Name() string
	Context() context.Context
	Cleanup(func())
	Logf(format string, args ...any)
	Skipf(format string, args ...any)
	Fatalf(format string, args ...any)
}

// LabVariable names the environment variable that says this machine is meant
// to have everything: what is missing there fails a test instead of skipping
// it.
const LabVariable = "LINERATE_LAB"

// Missing ends a test that cannot run here: it skips, or fails in a laboratory.
func Missing(t TB, format string, args ...any) {
	t.Helper()
	if os.Getenv(LabVariable) == "1" {
		t.Fatalf(format, args...)
	}
	t.Skipf(format, args...)
}

// NeedRoot skips a test that changes the network where it may not.
func NeedRoot(t TB) {
	t.Helper()
	if os.Geteuid() != 0 {
		Missing(t, "needs root on Linux to make network namespaces")
	}
}

// NeedTool returns the path of a program, or skips a test where it is missing.
func NeedTool(t TB, name string) string {
	t.Helper()
	path, err := exec.LookPath(name)
	if err != nil {
		Missing(t, "needs %s: install the package that has it: %v", name, err)
	}
	return path
}

// NewPair returns two namespaces joined by a link for the length of a test.
func NewPair(t TB, o LinkOptions) *Link {
	t.Helper()
	a, b := NewNamespace(t, "a"), NewNamespace(t, "b")
	l, err := Connect(a, b, o)
	if err != nil {
		t.Fatalf("%v", err)
	}
	return l
}

// NewNamespace returns a namespace for the length of a test.
func NewNamespace(t TB, name string) *Namespace {
	t.Helper()
	NeedRoot(t)
	n, err := New(t.Name() + "/" + name)
	if err != nil {
		t.Fatalf("%v", err)
	}
	t.Cleanup(n.Close)
	return n
}
