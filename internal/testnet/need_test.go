package testnet

import (
	"context"
	"fmt"
	"testing"
)

// fakeTB records how a test would have ended first.
type fakeTB struct{ skipped, failed string }

func (*fakeTB) Helper()                  {}
func (*fakeTB) Name() string             { return "fake" }
func (*fakeTB) Context() context.Context { return context.Background() }
func (*fakeTB) Cleanup(func())           {}
func (*fakeTB) Logf(string, ...any)      {}
func (f *fakeTB) Skipf(s string, a ...any) {
	if f.failed == "" {
		f.skipped = fmt.Sprintf(s, a...)
	}
}
func (f *fakeTB) Fatalf(s string, a ...any) { f.failed = fmt.Sprintf(s, a...) }

// What is missing skips a test, but fails it where everything was promised.
func TestNeedTool(t *testing.T) {
	const tool = "no-such-program-anywhere"
	t.Setenv(LabVariable, "")
	var elsewhere fakeTB
	NeedTool(&elsewhere, tool)
	t.Setenv(LabVariable, "1")
	var lab fakeTB
	NeedTool(&lab, tool)
	if elsewhere.skipped == "" || elsewhere.failed != "" || lab.failed == "" || lab.skipped != "" {
		t.Errorf("elsewhere %+v, in the laboratory %+v", elsewhere, lab)
	}
	var there fakeTB
	if path := NeedTool(&there, "go"); path == "" || there.failed != "" {
		t.Errorf("go is %q: %+v", path, there)
	}
}
