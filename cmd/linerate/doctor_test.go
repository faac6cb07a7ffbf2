package main

import (
	"encoding/json"
	"path/filepath"
	"strings"
	"testing"

	"github.com/linerate/linerate/internal/host/probe"
)

func TestDoctorOnRecordedBoard(t *testing.T) {
	const board = "../../examples/hosts/zynq-zc706.txtar"
	status, out, errs := call(t, "doctor", "--host", board)
	for _, want := range []string{"Linux 4.19.0-xilinx on Xilinx ZC706 board", "no       interrupt coalescing", "-> use the kernel's own: gro_flush_timeout"} {
		if status != exitDone || !strings.Contains(out, want) {
			t.Errorf("status %d, no %q in\n%s%s", status, want, out, errs)
		}
	}
	_, out, _ = call(t, "doctor", "--host", board, "--json")
	var d diagnosis
	if err := json.Unmarshal([]byte(out), &d); err != nil || d.Facts["driver@eth0"] != "macb" || len(d.Abilities) < 20 {
		t.Errorf("%v, facts %v, %d abilities", err, d.Facts, len(d.Abilities))
	}
}

// TestCollectAndDoctor records this box and judges the recording.
func TestCollectAndDoctor(t *testing.T) {
	name := filepath.Join(t.TempDir(), "box.tar.gz")
	if status, _, errs := call(t, "collect", "--out", name); status != exitDone {
		t.Fatalf("status %d, %s", status, errs)
	}
	status, out, errs := call(t, "doctor", "--host", name, "--json")
	var d diagnosis
	if err := json.Unmarshal([]byte(out), &d); status != exitDone || err != nil {
		t.Fatalf("status %d, %v, %s", status, err, errs)
	}
	for _, a := range d.Abilities {
		if a.Name == "softnet counters" && a.Verdict != probe.Yes {
			t.Errorf("%s: %s, %s", a.Name, a.Verdict, a.Detail)
		}
	}
	if status, out, _ := call(t, "collect", "--script"); status != exitDone || !strings.HasPrefix(out, "#!/bin/sh") || strings.Contains(out, "@") {
		t.Errorf("script: status %d", status)
	}
	if status, _, errs := call(t, "collect", "--out", "/no/such/dir/x.tar"); status != exitFailed || !strings.Contains(errs, "/no/such/dir") {
		t.Errorf("status %d, %s", status, errs)
	}
}
