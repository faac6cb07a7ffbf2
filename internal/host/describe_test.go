package host_test

import (
	"testing"

	"github.com/linerate/linerate/internal/host"
	"github.com/linerate/linerate/internal/meter/cpu"
	"github.com/linerate/linerate/internal/meter/irq"
	"github.com/linerate/linerate/internal/meter/nic"
	"github.com/linerate/linerate/internal/meter/nstat"
	"github.com/linerate/linerate/internal/meter/softnet"
	"github.com/linerate/linerate/result"
)

func TestDescribe(t *testing.T) {
	for _, c := range []struct {
		board           string
		facts, settings map[string]string
	}{
		{
			"zynq-zc706",
			map[string]string{
				"kernel": "4.19.0-xilinx", "board": "Xilinx ZC706 board", "cpu": "ARMv7 Processor rev 0 (v7l)", "cpus": "0-1",
				"driver@eth0": "macb", "speed@eth0": "1000Mbit/s", "duplex@eth0": "full", "virtual machine": "",
			},
			map[string]string{
				"sysctl.net.ipv4.tcp_rmem": "4096 87380 4194304", "link.mtu@eth0": "1500", "ethtool.rings.rx@eth0": "512",
				"ethtool.features.tso@eth0": "off [fixed]", "irq.22.smp_affinity_list": "0-1", "cpu.0.scaling_governor": "ondemand",
				"queue.rx-0.rps_cpus@eth0": "0", "ethtool.rings.rx-max@eth0": "", "ethtool.coalesce.rx-usecs@eth0": "",
			},
		},
		{
			"x86-virtio",
			map[string]string{"kernel": "6.18.44", "driver@eth0": "virtio_net", "speed@eth0": "", "virtual machine": "yes", "clocksource": "tsc", "pcie power saving": "default"},
			map[string]string{"ethtool.coalesce.rx-frames@eth0": "1", "irq.38.smp_affinity_list": "0-1", "link.mtu@eth0": "1400"},
		},
	} {
		h, err := host.Open("../../examples/hosts/" + c.board + ".txtar")
		if err != nil {
			t.Fatal(err)
		}
		facts, settings := host.Describe(h, "eth0")
		for got, want := range map[*map[string]string]map[string]string{&facts: c.facts, &settings: c.settings} {
			for k, v := range want {
				if (*got)[k] != v {
					t.Errorf("%s: %s = %q, want %q", c.board, k, (*got)[k], v)
				}
			}
		}
	}
}

// TestMetersReadBoards wants every meter to read every recorded board.
func TestMetersReadBoards(t *testing.T) {
	for board, dropped := range map[string]float64{"zynq-zc706": 11, "x86-virtio": 0} {
		h, err := host.Open("../../examples/hosts/" + board + ".txtar")
		if err != nil {
			t.Fatal(err)
		}
		var all []result.Value
		for _, read := range []func() ([]result.Value, error){
			func() ([]result.Value, error) { return cpu.Meter{Host: h}.Read(t.Context()) },
			func() ([]result.Value, error) { return irq.Meter{Host: h}.Read(t.Context()) },
			func() ([]result.Value, error) { return softnet.Meter{Host: h}.Read(t.Context()) },
			func() ([]result.Value, error) { return nstat.Meter{Host: h}.Read(t.Context()) },
			func() ([]result.Value, error) { return nic.Meter{Host: h}.Read(t.Context()) },
			func() ([]result.Value, error) {
				return nic.Driver{Host: h, Interfaces: []string{"eth0"}}.Read(t.Context())
			},
		} {
			vs, err := read()
			if err != nil {
				t.Errorf("%s: %v", board, err)
			}
			all = append(all, vs...)
		}
		if n, ok := result.Sum(all, result.NICDropped, "interface", "eth0", "direction", "rx"); !ok || n != dropped {
			t.Errorf("%s: %v frames dropped, %v; want %v", board, n, ok, dropped)
		}
	}
}
