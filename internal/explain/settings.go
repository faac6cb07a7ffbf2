package explain

import (
	"maps"
	"math/big"
	"slices"
	"strconv"
	"strings"

	"github.com/linerate/linerate/internal/explain/facts"
	"github.com/linerate/linerate/result"
)

// settings turns what is known of the ends, their facts and their settings in
// force, into values that rules can judge. Where both ends are known, each is
// asked for what its part in the test depends on; else the end under test for
// everything.
func settings(r *result.Result) []result.Value {
	known := slices.DeleteFunc(slices.Clone(r.Ends), func(e result.End) bool { return len(e.Facts)+len(e.Settings) == 0 })
	i := slices.IndexFunc(known, func(e result.End) bool { return e.Role == "dut" })
	var values []result.Value
	switch direction := r.Workload.Params["direction"]; {
	case len(known) == 0:
	case direction != "tx" && direction != "rx":
		values = readEnd(known[max(i, 0)], true, true)
	default:
		for _, e := range known {
			sends := (e.Role == "dut") == (direction == "rx")
			for _, v := range readEnd(e, sends, !sends) {
				j := slices.IndexFunc(values, func(x result.Value) bool { return same(x, v) })
				switch {
				case j < 0:
					values = append(values, v)
				case v.Metric == result.LinkMTU.Name:
					values[j].V = min(values[j].V, v.V) // the segments of both are cut to the smaller
				}
			}
		}
	}
	return values
}

func readEnd(end result.End, sends, receives bool) []result.Value {
	e := endReader{end: end, sends: sends, receives: receives}
	e.at = e.port()
	e.link()
	e.box()
	return e.values
}

// endReader reads the settings of one interface, "link.mtu@eth0".
type endReader struct {
	end             result.End
	sends, receives bool   // its part in the test
	at              string // "@eth0", or nothing
	values          []result.Value
}

// port names the interface that has a speed, where several are described the
// first of them by name.
func (e *endReader) port() string {
	for _, key := range slices.Sorted(maps.Keys(e.end.Facts)) {
		if at := strings.TrimPrefix(key, "speed"); at != key && strings.HasPrefix(at, "@") {
			return at
		}
	}
	for _, key := range slices.Sorted(maps.Keys(e.end.Settings)) {
		if at := strings.TrimPrefix(key, "link.mtu"); at != key && at != "@lo" {
			return at
		}
	}
	return ""
}

func (e *endReader) seen(key, word string) {
	f, _ := facts.Find(key)
	e.values = append(e.values, f.Seen(word, true))
}

// number files a quantity, scale times what the text says.
func (e *endReader) number(key, text string, scale float64) {
	f, _ := facts.Find(key)
	if n, err := strconv.ParseFloat(text, 64); err == nil && n > 0 {
		e.values = append(e.values, f.Of(n*scale))
	}
}

func (e *endReader) link() {
	fact := func(key string) string { return e.end.Facts[key+e.at] }
	set := func(key string) string { return e.end.Settings[key+e.at] }
	driver := fact("driver")
	virtual := slices.Contains([]string{"veth", "tun", "bridge", "virtio_net", "ifb", "dummy"}, driver)
	switch {
	case virtual || slices.Contains([]string{"veth", "tun", "bridge", "vxlan"}, fact("kind")):
		e.seen("link.virtual", "yes") // such interfaces tell a speed that means nothing
	case driver == "bonding" || driver == "team":
		e.seen("link.bond", "yes")
	default:
		if rate, err := result.ParseRate(fact("speed")); err == nil && rate > 0 {
			f, _ := facts.Find("link.speed")
			e.values = append(e.values, f.Of(rate))
		}
		if d := fact("duplex"); d == "full" || d == "half" {
			e.seen("link.duplex", d)
		}
	}
	e.number("link.mtu", set("link.mtu"), 1)
	if e.receives {
		e.number("ring.rx", set("ethtool.rings.rx"), 1)
		e.number("irq.coalesce", set("ethtool.coalesce.rx-usecs"), 1e-6)
		e.number("irq.flush-timeout", set("link.gro_flush_timeout"), 1e-9)
		e.steering()
	}
	for _, f := range []struct {
		key, feature string
		matters      bool
	}{{"offload.checksum", "tx", e.sends}, {"offload.tso", "tso", e.sends}, {"offload.gro", "gro", e.receives}, {"offload.sg", "sg", e.sends}} {
		v := set("ethtool.features." + f.feature)
		if v == "off [requested on]" && set("ethtool.features.tx") == "off" {
			v = "off" // for want of the check sums it rests on
		}
		if f.matters && (v == "on" || v == "off") { // "[fixed]" cannot be changed
			e.seen(f.key, v)
		}
	}
	if set("ethtool.eee.eee") == "on" {
		e.seen("link.eee", "enabled")
	}
	if set("ethtool.pause.rx") == "off" && set("ethtool.pause.tx") == "off" {
		e.seen("link.pause", "off")
	}
	e.pcie(fact("pcie speed"), fact("pcie width"))
}

// steering looks for receive packet steering to a single core of several.
func (e *endReader) steering() {
	if !strings.ContainsAny(e.end.Facts["cpus"], "-,") {
		return
	}
	for key, mask := range e.end.Settings {
		if !strings.HasPrefix(key, "queue.rx-") || !strings.HasSuffix(key, ".rps_cpus"+e.at) {
			continue
		}
		n, ok := new(big.Int).SetString(strings.ReplaceAll(mask, ",", ""), 16)
		if !ok || n.Sign() == 0 {
			continue
		}
		if n.TrailingZeroBits() == uint(n.BitLen()-1) {
			e.seen("irq.steered-one", "yes")
		}
		return
	}
}

// pcie reads "5.0 GT/s PCIe" and a number of lanes.
func (e *endReader) pcie(speed, width string) {
	rate, _, _ := strings.Cut(speed, " ")
	for i, known := range []string{"2.5", "5.0", "8.0", "16.0", "32.0"} {
		if rate == known {
			e.seen("bus.kind", "pcie")
			e.number("bus.pcie-generation", strconv.Itoa(i+1), 1)
			e.number("bus.pcie-lanes", width, 1)
		}
	}
}

func (e *endReader) box() {
	switch e.end.Facts["pcie power saving"] {
	case "powersave", "powersupersave":
		e.seen("bus.aspm", "on")
	case "performance":
		e.seen("bus.aspm", "off")
	}
	governors, _ := facts.Find("cpu.governor")
	for _, key := range slices.Sorted(maps.Keys(e.end.Settings)) {
		if strings.HasSuffix(key, ".scaling_governor") && slices.Contains(governors.Values, e.end.Settings[key]) {
			e.seen("cpu.governor", e.end.Settings[key])
			break
		}
	}
	if e.end.Settings["sysctl.net.ipv4.tcp_window_scaling"] == "0" {
		e.seen("tcp.window-scaling", "off")
	}
	if e.receives {
		e.number("irq.budget", e.end.Settings["sysctl.net.core.netdev_budget"], 1)
	}
	// The last of three numbers is what tuning may reach (ip-sysctl).
	ceiling := func(key, sysctl string, matters bool) {
		if f := strings.Fields(e.end.Settings[sysctl]); matters && len(f) == 3 {
			e.number(key, f[2], 1)
		}
	}
	ceiling("tcp.send-ceiling", "sysctl.net.ipv4.tcp_wmem", e.sends)
	ceiling("tcp.receive-ceiling", "sysctl.net.ipv4.tcp_rmem", e.receives)
	e.number("conntrack.max", e.end.Settings["sysctl.net.netfilter.nf_conntrack_max"], 1)
	e.number("conntrack.buckets", e.end.Settings["sysctl.net.netfilter.nf_conntrack_buckets"], 1)
}
