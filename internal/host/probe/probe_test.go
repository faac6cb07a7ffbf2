package probe

import (
	"bytes"
	"compress/gzip"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/linerate/linerate/internal/host"
)

func find(t *testing.T, as []Ability, name string) Ability {
	t.Helper()
	for _, a := range as {
		if a.Name == name {
			return a
		}
	}
	t.Fatalf("no ability %q", name)
	return Ability{}
}

func TestRecordedBoard(t *testing.T) {
	h, err := host.Open("../../../examples/hosts/zynq-zc706.txtar")
	if err != nil {
		t.Fatal(err)
	}
	as := Host(h, false, []string{"eth0", "eth9"})
	for name, want := range map[string]Verdict{
		"ring sizes": Yes, "interrupt coalescing": No, "offloads": Yes, "netem": Unknown, "native XDP": Unknown,
		"fast clock": Yes, "kernel types (BTF)": No, "software coalescing": Yes, "CPU clock control": Yes, "present": No,
	} {
		if a := find(t, as, name); a.Verdict != want {
			t.Errorf("%s: %s (%s), want %s", name, a.Verdict, a.Detail, want)
		}
	}
	if a := find(t, as, "interrupt coalescing"); a.Detail != "the driver has none" {
		t.Errorf("coalescing: %q, want the reason that the recording gives", a.Detail)
	}
}

// TestNotRecorded wants what a recording lacks unknown, not missing.
func TestNotRecorded(t *testing.T) {
	h := host.Recorded(fstest.MapFS{"sys/class/net/eth0/mtu": {Data: []byte("1500\n")}, "gaps": {Data: []byte("ethtool/eth0: no ethtool on this box\n")}})
	if a := find(t, Host(h, false, []string{"eth0"}), "ring sizes"); a.Verdict != Unknown || a.Do == "" {
		t.Errorf("%+v", a)
	}
}

// TestEveryNoHelps wants a reason with each no, and what to do where a feature
// is missing.
func TestEveryNoHelps(t *testing.T) {
	h, err := host.Open("../../../examples/hosts/zynq-zc706.txtar")
	if err != nil {
		t.Fatal(err)
	}
	for _, a := range Host(h, false, []string{"eth0"}) {
		if a.Verdict != Yes && a.Detail == "" {
			t.Errorf("%s: %s without a reason", a.Name, a.Verdict)
		}
		if a.For == "" {
			t.Errorf("%s: what for?", a.Name)
		}
	}
}

func TestConfigured(t *testing.T) {
	var config bytes.Buffer
	z := gzip.NewWriter(&config)
	z.Write([]byte("# a comment\nCONFIG_NET_SCH_TBF=y\nCONFIG_NET_SCH_NETEM=m\nCONFIG_TUN=m\nCONFIG_VETH=m\n# CONFIG_TLS is not set\n"))
	z.Close()
	as := configured(host.Recorded(fstest.MapFS{
		"proc/config.gz":                  {Data: config.Bytes()},
		"proc/sys/kernel/osrelease":       {Data: []byte("6.1.0\n")},
		"lib/modules/6.1.0/modules.dep":   {Data: []byte("kernel/net/sched/sch_netem.ko: \nkernel/net/foo.ko.xz: x\n")},
		"sys/module/tun/refcnt":           {Data: []byte("0\n")},
		"lib/modules/6.1.0/modules.order": {},
	}))
	for name, want := range map[string]struct {
		verdict Verdict
		detail  string
	}{
		"TBF": {Yes, "built in"}, "netem": {Yes, "when needed"}, "TUN/TAP": {Yes, "loaded"}, "kernel TLS": {No, "CONFIG_TLS is off"},
	} {
		if a := find(t, as, name); a.Verdict != want.verdict || !strings.Contains(a.Detail, want.detail) {
			t.Errorf("%s: %s, %q; want %s, %q", name, a.Verdict, a.Detail, want.verdict, want.detail)
		}
	}
}

func FuzzParseConfig(f *testing.F) {
	f.Add("CONFIG_TUN=m\n# CONFIG_TLS is not set\n")
	f.Fuzz(func(t *testing.T, s string) {
		for name := range parseConfig(s) {
			if strings.ContainsAny(name, "=\n") {
				t.Errorf("symbol %q", name)
			}
		}
	})
}
