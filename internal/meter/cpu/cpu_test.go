package cpu

import (
	"errors"
	"os"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/linerate/linerate/internal/host"
	"github.com/linerate/linerate/result"
)

func TestReadCores(t *testing.T) {
	for _, c := range []struct {
		board string // a /proc/stat as such a board writes it
		cores int
		idle1 float64 // of core 1
	}{
		{"zynq", 2, 101935.72},
		{"x86-firecracker", 2, 763.83},
		{"linux-2.4", 1, 0},
	} {
		b, err := os.ReadFile("testdata/" + c.board + ".stat")
		if err != nil {
			t.Fatal(err)
		}
		vs, err := Meter{host.Recorded(fstest.MapFS{"proc/stat": {Data: b}})}.Read(t.Context())
		if err != nil {
			t.Errorf("%s: %v", c.board, err)
			continue
		}
		cores := map[string]bool{}
		for _, v := range vs {
			cores[v.Labels["cpu"]] = true
		}
		if len(cores) != c.cores {
			t.Errorf("%s: cores %v, want %d", c.board, cores, c.cores)
		}
		if got, _ := result.Get(vs, result.CPUSeconds, "cpu", "1", "mode", "idle"); got != c.idle1 {
			t.Errorf("%s: core 1 idle %v s, want %v", c.board, got, c.idle1)
		}
	}
}

func TestReadProcess(t *testing.T) {
	h := host.Recorded(fstest.MapFS{"proc/77/stat": {Data: []byte(
		"77 (ftp) (data) S 1 77 77 0 -1 4194304 9 0 0 0 150 250 50 25 20 0 3 0 85294 3133440 380\n")}})
	vs, err := Process{Host: h, PID: 77}.Read(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	user, _ := result.Get(vs, result.ProcessCPU, "process", "ftp) (data", "mode", "user")
	system, _ := result.Get(vs, result.ProcessCPU, "mode", "system")
	if user != 2 || system != 2.75 {
		t.Errorf("user %v s, system %v s; want 2 and 2.75", user, system)
	}
	if _, err := (Process{Host: h, PID: 78}).Read(t.Context()); err == nil {
		t.Error("a process that is gone reads without error")
	}
}

func TestReadClock(t *testing.T) {
	h := host.Recorded(fstest.MapFS{
		"sys/devices/system/cpu/cpu1/cpufreq/scaling_cur_freq": {Data: []byte("333333\n")},
		"sys/devices/system/cpu/cpu1/cpufreq/cpuinfo_max_freq": {Data: []byte("800000\n")},
	})
	vs, err := Clock{h}.Read(t.Context())
	now, _ := result.Get(vs, result.CPUClock, "cpu", "1")
	most, _ := result.Get(vs, result.CPUClockMax, "cpu", "1")
	if err != nil || now != 333333e3 || most != 800e6 {
		t.Errorf("%v of %v Hz, %v", now, most, err)
	}
	if _, err := (Clock{host.Recorded(fstest.MapFS{"proc/stat": {}})}).Read(t.Context()); !errors.Is(err, errors.ErrUnsupported) {
		t.Errorf("without cpufreq: %v", err)
	}
}

func FuzzParseStat(f *testing.F) {
	f.Add("cpu0 5062 0 1719 78137 55 0 15 29 0 0\n")
	f.Add("cpu1 1 2\n")
	f.Add("cpu\xff 1 2 3 4\n")
	f.Fuzz(func(t *testing.T, s string) {
		vs, err := parseStat(s)
		if (err == nil) != (len(vs) > 0) {
			t.Errorf("%d values with error %v", len(vs), err)
		}
	})
}

func FuzzParseProcess(f *testing.F) {
	f.Add("1 (a) S " + strings.Repeat("1 ", 20))
	f.Add(")(")
	f.Fuzz(func(t *testing.T, s string) {
		if _, user, system, err := parseProcess(s); err == nil && (user < 0 || system < 0) {
			t.Errorf("negative time from %q", s)
		}
	})
}
