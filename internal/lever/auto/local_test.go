package auto

import (
	"errors"
	"slices"
	"testing"
	"testing/fstest"

	"github.com/linerate/linerate/internal/host"
	"github.com/linerate/linerate/internal/lever"
	"github.com/linerate/linerate/result"
)

func box() Local {
	tree := fstest.MapFS{}
	for name, v := range map[string]string{
		"sys/devices/system/cpu/online":                        "0-3",
		"sys/devices/system/cpu/cpu0/cpufreq/scaling_governor": "ondemand",
		"sys/devices/system/cpu/cpu1/cpufreq/scaling_governor": "ondemand",
		"sys/class/net/eth0/queues/rx-0/rps_cpus":              "1",
		"proc/sys/net/ipv4/tcp_rmem":                           "4096 131072 6291456",
		"proc/sys/net/core/netdev_budget":                      "300",
		"ethtool/eth0/coalesce":                                "rx-usecs: 40\n",
		"ethtool/eth0/channels":                                "combined: 1\ncombined-max: 2\n",
		"ethtool/eth0/features":                                "tso: off [fixed]\ngro: on\n",
		"link/eth0/mtu":                                        "1500",
	} {
		tree[name] = &fstest.MapFile{Data: []byte(v + "\n")}
	}
	return Local{Host: host.Recorded(tree), Interface: "eth0", As: "receiver"}
}

func TestFindsWhatAdviceMeans(t *testing.T) {
	for _, c := range []struct {
		lever, value string
		want         []Move
		err          error
	}{
		{"sysctl.net.ipv4.tcp_rmem", "4096 131072 16777216", []Move{{"sysctl.net.ipv4.tcp_rmem", "4096 131072 6291456", "4096 131072 16777216"}}, nil},
		{"sysctl.net.ipv4.tcp_rmem", "4096 131072 65536", nil, ErrInForce}, // advice to enlarge never shrinks
		{"sysctl.net.core.netdev_budget", "300", nil, ErrInForce},
		{"ethtool.coalesce.rx-usecs", "half the present", []Move{{"ethtool.coalesce.rx-usecs@eth0", "40", "20"}}, nil},
		{"ethtool.channels.combined", "one for each core", []Move{{"ethtool.channels.combined@eth0", "1", "2"}}, nil},
		{"ethtool.features.tso", "on", nil, lever.ErrNoLever},
		{"queue.rx-0.rps_cpus", "every other core", []Move{{"queue.rx-0.rps_cpus@eth0", "1", "e"}}, nil},
		{"queue.rx-0.rps_cpus", "every core", []Move{{"queue.rx-0.rps_cpus@eth0", "1", "f"}}, nil},
		{"cpu.0.scaling_governor", "performance", []Move{{"cpu.0.scaling_governor", "ondemand", "performance"}, {"cpu.1.scaling_governor", "ondemand", "performance"}}, nil},
		{"stack.receive-window", "64KiB or more", nil, lever.ErrNoLever},
		{"link.mtu", "what the path takes", nil, lever.ErrNoLever},
	} {
		got, err := box().Find(t.Context(), result.Advice{Lever: c.lever, Value: c.value})
		if !slices.Equal(got, c.want) || !errors.Is(err, c.err) || (err == nil) != (c.err == nil) {
			t.Errorf("%s=%s: %v, %v; want %v, %v", c.lever, c.value, got, err, c.want, c.err)
		}
	}
}

// Settings that mean something only together are one step; advice nobody here
// can follow is told as such.
func TestPlan(t *testing.T) {
	fs := []result.Finding{
		{Rule: "a", Levers: []result.Advice{{Lever: "windows.TcpAckFrequency", Value: "10", End: "peer"}, {Lever: "ethtool.coalesce.rx-usecs", Value: "80"}}},
		{Rule: "b", Levers: []result.Advice{{Lever: "sysctl.net.ipv4.tcp_rmem", Value: "4096 131072 16777216", End: "sender"}}},
		{Rule: "c", Levers: []result.Advice{{Lever: "sysctl.net.core.netdev_budget", Value: "600"}, {Lever: "sysctl.net.core.netdev_budget_usecs", Value: "16000"}}},
		{Rule: "d", Levers: []result.Advice{{Lever: "ethtool.features.gro", Value: "on", End: "receiver"}}},
	}
	p := Plan(t.Context(), fs, []Box{Journalled{Local: box()}})
	var steps []string
	for _, s := range p.Steps {
		steps = append(steps, s.Name)
	}
	if want := []string{"ethtool.coalesce.rx-usecs@eth0=80", "sysctl.net.core.netdev_budget=600"}; !slices.Equal(steps, want) {
		t.Errorf("steps %v, want %v", steps, want)
	}
	if len(p.Instructions) != 2 || len(p.InForce) != 1 {
		t.Errorf("instructions %+v, in force %+v", p.Instructions, p.InForce)
	}
}

// What is roomy enough is not made smaller.
func TestAdviceNeverShrinksBuffers(t *testing.T) {
	for _, c := range []struct {
		id, now, want string
		enough        bool
	}{
		{"sysctl.net.ipv4.tcp_rmem", "4096 131072 33554432", "4096 65536 262144", true},
		{"sysctl.net.ipv4.tcp_rmem", "4096 8192 8192", "4096 65536 262144", false},
		{"sysctl.net.core.netdev_budget", "600", "300", true},
		{"ethtool.coalesce.rx-usecs@eth0", "600", "300", false},
		{"sysctl.net.core.rmem_max", "212992", "one for each core", false},
	} {
		if got := Roomier(c.id, c.now, c.want); got != c.enough {
			t.Errorf("%s at %q against %q: %v, want %v", c.id, c.now, c.want, got, c.enough)
		}
	}
}
