package explain

import (
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/linerate/linerate/internal/explain/facts"
	"github.com/linerate/linerate/result"
)

// settings turns what is known of the end under test, its facts and its
// settings in force, into values that rules can judge.
func settings(r *result.Result) []result.Value {
	i := slices.IndexFunc(r.Ends, func(e result.End) bool { return e.Role == "dut" })
	if i < 0 {
		i = 0
	}
	if len(r.Ends) == 0 || len(r.Ends[i].Facts)+len(r.Ends[i].Settings) == 0 {
		return nil
	}
	e := endReader{end: r.Ends[i]}
	e.at = e.port()
	e.link()
	e.box()
	return e.values
}

// endReader reads the settings of one interface, "link.mtu@eth0".
type endReader struct {
	end    result.End
	at     string // "@eth0", or nothing
	values []result.Value
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
	e.number("ring.rx", set("ethtool.rings.rx"), 1)
	e.number("irq.coalesce", set("ethtool.coalesce.rx-usecs"), 1e-6)
	e.number("irq.flush-timeout", set("link.gro_flush_timeout"), 1e-9)
	for _, f := range []struct{ key, feature string }{{"offload.checksum", "tx"}, {"offload.tso", "tso"}, {"offload.gro", "gro"}, {"offload.sg", "sg"}} {
		if v := set("ethtool.features." + f.feature); v == "on" || v == "off" { // "[fixed]" cannot be changed
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
	e.number("conntrack.max", e.end.Settings["sysctl.net.netfilter.nf_conntrack_max"], 1)
	e.number("conntrack.buckets", e.end.Settings["sysctl.net.netfilter.nf_conntrack_buckets"], 1)
}
