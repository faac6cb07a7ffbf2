package main

import (
	"encoding/json"
	"io"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/linerate/linerate/internal/testnet"
	"github.com/linerate/linerate/result"
)

const captures = "../../internal/capture/testdata/"

func TestAnalyze(t *testing.T) {
	status, out, errs := call(t, "analyze", captures+"a1_rwnd64k_noscale.snd.pcap.zst")
	if status != exitDone || !strings.Contains(out, "tcp.receive-window") || !strings.Contains(out, "sysctl.net.ipv4.tcp_window_scaling=1 at the receiver") {
		t.Errorf("status %d, %s\n%s", status, errs, out)
	}
	page := filepath.Join(t.TempDir(), "x.html")
	status, out, errs = call(t, "analyze", captures+"b1_loss1pct.snd.pcap.zst", captures+"b1_loss1pct.rcv.pcap.zst", "--json", "--out", page)
	var r result.Result
	if err := json.Unmarshal([]byte(out), &r); status != exitDone || err != nil || r.Origin != result.Captured {
		t.Fatalf("status %d, %v, %s", status, err, errs)
	}
	if len(r.Trials) != 2 || len(r.Findings) < 2 || len(r.Readings) < 100 {
		t.Errorf("%d trials, %d findings, %d readings", len(r.Trials), len(r.Findings), len(r.Readings))
	}
	if b, err := os.ReadFile(page); err != nil || !strings.Contains(string(b), "time-sequence") {
		t.Errorf("page of %d bytes, %v", len(b), err)
	}
}

func TestAnalyzeFilterAndFaults(t *testing.T) {
	const file = captures + "c3_reqresp_rttbound.snd.pcap.zst"
	for _, c := range []struct {
		status int
		want   string
		args   []string
	}{
		{exitDone, "left out by the filter", []string{file, "--filter", "udp"}},
		{exitDone, "left out by the filter", []string{file, "--filter", "tcp[13] & 2 != 0"}},
		{exitUsage, "filter", []string{file, "--filter", "tcp[13"}},
		{exitUsage, "FILE", nil},
		{exitUsage, "not both", []string{file, "-i", "lo"}},
		{exitUsage, "--top", []string{file, "--top", "0"}},
		{exitFailed, "no such file", []string{"nowhere.pcap"}},
		{exitFailed, "not a capture", []string{"verbs_test.go"}},
		{exitFailed, "in common", []string{file, captures + "k_slowstart_only.rcv.pcap.zst"}},
	} {
		status, out, errs := call(t, append([]string{"analyze"}, c.args...)...)
		if status != c.status || !strings.Contains(out+errs, c.want) {
			t.Errorf("%q: status %d, want %d and %q\n%s%s", c.args, status, c.status, c.want, out, errs)
		}
	}
}

// TestCaptureBeside watches a transfer over loopback while it runs.
func TestCaptureBeside(t *testing.T) {
	testnet.NeedRoot(t)
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	b, err := watchBeside(l.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	go func() {
		if c, err := l.Accept(); err == nil {
			io.Copy(io.Discard, c)
			c.Close()
		}
	}()
	c, err := net.Dial("tcp", l.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	if _, err := c.Write(make([]byte, 4<<20)); err != nil {
		t.Fatal(err)
	}
	c.Close()
	var r result.Result
	b.into(&r)
	if !slices.ContainsFunc(r.Findings, func(f result.Finding) bool {
		return strings.Contains(f.Trial, "> "+l.Addr().String()) && strings.HasPrefix(f.Rule, "tcp.")
	}) {
		t.Errorf("no finding of the transfer among %d; gaps %v", len(r.Findings), r.Gaps)
	}
}
