package explain

import (
	"slices"
	"testing"
	"time"

	"github.com/linerate/linerate/result"
)

// What a recorded box tells by its settings and counters must reach the rules
// as if a person had told it.
func TestRecordedBox(t *testing.T) {
	r := &result.Result{
		Duration: 10 * time.Second,
		Ends: []result.End{{Role: "dut",
			Facts: map[string]string{"speed@eth0": "1000Mbit/s", "duplex@eth0": "full", "driver@eth0": "r8169", "pcie speed@eth0": "5.0 GT/s PCIe", "pcie width@eth0": "1",
				"pcie power saving": "powersave"},
			Settings: map[string]string{"link.mtu@eth0": "1500", "ethtool.rings.rx@eth0": "256", "ethtool.features.tso@eth0": "off", "ethtool.features.gro@eth0": "off [fixed]",
				"link.gro_flush_timeout@eth0": "10000", "cpu.0.scaling_governor": "ondemand", "ethtool.eee.eee@eth0": "on",
				"sysctl.net.ipv4.tcp_window_scaling": "0", "sysctl.net.netfilter.nf_conntrack_max": "1000"}}},
		Totals: []result.Value{
			result.Goodput.Of(60e6),
			result.NICStat.Of(500, "interface", "eth0", "stat", "rx_missed"), result.NICStat.Of(7, "interface", "eth0", "stat", "rx_pause_frames"),
			result.NICStat.Of(3, "interface", "eth0", "stat", "tx_late_collision"), result.NICStat.Of(0, "interface", "eth0", "stat", "rx_crc_errors"),
			result.Softirqs.Of(50000, "softirq", "NET_RX", "cpu", "0"), result.Softirqs.Of(20, "softirq", "NET_RX", "cpu", "1"),
			result.CPUSeconds.Of(9.7, "cpu", "0", "mode", "softirq"), result.CPUSeconds.Of(0.2, "cpu", "1", "mode", "user"), result.CPUSeconds.Of(9.8, "cpu", "1", "mode", "idle"),
			result.NAPIPolls.Of(100000), result.NAPIPackets.Of(110000),
			result.ConntrackEntries.Of(990, "bound", "now"),
		},
	}
	v := Views(r)[0]
	v.Values = append(v.Values, settings(r)...)
	v = observe(v)
	for key, want := range map[string]float64{"link.speed": 1e9, "link.mtu": 1500, "ring.rx": 256, "irq.flush-timeout": 10e-6, "bus.pcie-generation": 2, "bus.pcie-lanes": 1,
		"drops.ring": 500, "pause.rx": 7, "errors.late-collisions": 3, "cpu.busiest": 0.97, "cpu.others": 0.02, "cpu.softirq": 0.97, "irq.packets-per-poll": 1.1, "conntrack.max": 1000} {
		if got, ok := v.Number(key); !ok || got < 0.999*want || got > 1.001*want {
			t.Errorf("%s: %v, %v, want %v", key, got, ok, want)
		}
	}
	for key, word := range map[string]string{"link.duplex": "full", "offload.tso": "off", "bus.aspm": "on", "cpu.governor": "ondemand", "link.eee": "enabled",
		"tcp.window-scaling": "off", "irq.one-core": "yes", "bus.kind": "pcie"} {
		if holds, _ := v.Seen(key, word); !holds {
			t.Errorf("%s: not seen %s", key, word)
		}
	}
	if _, known := v.Seen("offload.gro", "off"); known {
		t.Error("a fixed offload is told as one that could be switched")
	}
	if _, known := v.Number("errors.crc"); known {
		t.Error("a statistic of nothing is told as errors")
	}
	fired := codes(Hypotheses(Explain(r)))
	for _, code := range []string{"R-CPU-1", "R-DROP-2", "R-PCI-1", "R-DROP-7", "R-DROP-8", "R-LINK-2"} {
		if !slices.Contains(fired, code) {
			t.Errorf("%v fired, want %s", fired, code)
		}
	}
}

// A virtual interface tells a speed that means nothing.
func TestVirtualInterface(t *testing.T) {
	v := View{Values: settings(&result.Result{Ends: []result.End{{Facts: map[string]string{"speed@veth0": "10000Mbit/s", "driver@veth0": "veth"}}}})}
	if _, known := v.Number("link.speed"); known {
		t.Error("veth has a speed")
	}
	if virtual, _ := v.Seen("link.virtual", "yes"); !virtual {
		t.Error("veth is not virtual")
	}
}

func TestUndecidedAsksForMore(t *testing.T) {
	f := Undecided(View{Values: []result.Value{result.LineRate.Of(1e9), result.Goodput.Of(3e8)}})
	if f.Verdict != result.Unknown || f.Next != "tell protocol, cpu.busiest, tcp.retransmits, tcp.window" || len(f.Evidence) == 0 {
		t.Errorf("%+v", f)
	}
}

func TestRankDampsWhatIsExplained(t *testing.T) {
	fs := Rank([]result.Finding{
		{Rule: "app.waits", Verdict: result.Limits, Confidence: 0.7},
		{Rule: "link.peer", Verdict: result.Limits, Confidence: 0.8},
		{Rule: "tcp.serial", Verdict: result.Limits, Confidence: 0.55},
		{Rule: "line.at-rate", Verdict: result.DoesNotLimit, Confidence: 0.95},
	})
	var order []string
	for _, f := range fs {
		order = append(order, f.Rule)
	}
	if !slices.Equal(order, []string{"link.peer", "app.waits", "tcp.serial", "line.at-rate"}) {
		t.Errorf("order %v", order)
	}
	if fs[0].Confidence != 0.8 || fs[1].Confidence >= 0.7 || fs[2].Verdict != result.Unknown {
		t.Errorf("findings %+v", fs)
	}
}
