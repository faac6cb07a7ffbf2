package probe

import (
	"bytes"
	"compress/gzip"
	"fmt"
	"io"
	"io/fs"
	"strings"

	"github.com/linerate/linerate/internal/host"
)

// feature is an ability that the kernel's configuration decides.
type feature struct {
	group, name, use string
	symbol           string // CONFIG_ is left out
	module           string // where it is one
	do               string // beside a kernel with the symbol
}

const (
	laboratory = "laboratory"
	forwarding = "forwarding"
	shaping    = "traffic control"
	sockets    = "sockets"
)

func featureTable() []feature {
	return []feature{
		{sockets, "kernel TLS", "FTPS without copying through user space", "TLS", "tls", "Go's own TLS is used instead"},
		{shaping, "TBF", "shape a link to a line rate", "NET_SCH_TBF", "sch_tbf", ""},
		{shaping, "HTB", "share a link by class", "NET_SCH_HTB", "sch_htb", ""},
		{shaping, "fq", "pace flows (maxrate)", "NET_SCH_FQ", "sch_fq", "TCP paces by itself where the algorithm wants it"},
		{shaping, "fq_codel", "keep queues short", "NET_SCH_FQ_CODEL", "sch_fq_codel", ""},
		{shaping, "netem", "add delay and loss", "NET_SCH_NETEM", "sch_netem", "linerate's own relay adds delay and loss instead"},
		{shaping, "ingress", "police and redirect what arrives", "NET_SCH_INGRESS", "sch_ingress", ""},
		{shaping, "flower", "classify flows", "NET_CLS_FLOWER", "cls_flower", ""},
		{laboratory, "veth", "links between namespaces", "VETH", "veth", ""},
		{laboratory, "TUN/TAP", "frames to and from a program", "TUN", "tun", ""},
		{laboratory, "VLAN", "tagged frames (IEEE 802.1Q)", "VLAN_8021Q", "8021q", ""},
		{forwarding, "conntrack", "firewall and NAT", "NF_CONNTRACK", "nf_conntrack", ""},
		{forwarding, "nftables", "firewall rules", "NF_TABLES", "nf_tables", ""},
		{forwarding, "flow table", "the kernel's own fast path", "NF_FLOW_TABLE", "nf_flow_table", "linerate's XDP fast path does not need it"},
		{forwarding, "XFRM", "IPsec policies (RFC 4301)", "XFRM_USER", "xfrm_user", ""},
		{forwarding, "ESP over IPv4", "encrypted packets (RFC 4303)", "INET_ESP", "esp4", "linerate's fast path has ESP of its own"},
		{forwarding, "ESP over IPv6", "encrypted packets (RFC 4303)", "INET6_ESP", "esp6", "linerate's fast path has ESP of its own"},
		{forwarding, "AH over IPv4", "authenticated packets (RFC 4302)", "INET_AH", "ah4", "linerate's fast path has AH of its own"},
		{forwarding, "XDP sockets", "frames past the stack (AF_XDP)", "XDP_SOCKETS", "", "AF_PACKET is used instead"},
		{"measuring", "softirq time per core", "true CPU figures under load", "IRQ_TIME_ACCOUNTING", "",
			"without it the kernel samples: trust the time per packet of the NAPI meter more than the CPU columns"},
	}
}

// configured judges the table from the kernel's configuration, and where that
// is not to be had from its lists of modules.
func configured(h host.Host) []Ability {
	config, source := kernelConfig(h)
	release := text(h, "proc/sys/kernel/osrelease")
	builtin := text(h, "lib/modules/"+release+"/modules.builtin")
	loadable := text(h, "lib/modules/"+release+"/modules.dep")
	var out []Ability
	for _, f := range featureTable() {
		a := Ability{Group: f.group, Name: f.name, For: f.use}
		file := "/" + f.module + ".ko"
		loaded := false
		if f.module != "" {
			_, err := fs.Stat(h, "sys/module/"+f.module)
			loaded = err == nil
		}
		switch state := config[f.symbol]; {
		case state == "y" || f.module != "" && strings.Contains(builtin, file):
			a.Verdict, a.Detail = Yes, "built in"
		case loaded:
			a.Verdict, a.Detail = Yes, "module "+f.module+", loaded"
		case f.module != "" && strings.Contains(loadable, file):
			a.Verdict, a.Detail = Yes, "module "+f.module+", loaded when needed"
		case state == "m" && loadable == "":
			a.Verdict, a.Detail, a.Do = No, "built as module "+f.module+", which is not installed", "install the modules of kernel "+release
		case config != nil:
			a.Verdict, a.Detail = No, "CONFIG_"+f.symbol+" is off in "+source
			a.Do = joinDo(f.do, "build the kernel with CONFIG_"+f.symbol)
		default:
			a.Verdict, a.Detail, a.Do = Unknown, "no proc/config.gz, boot/config or list of modules", joinDo(f.do, "look for CONFIG_"+f.symbol+" where the kernel was built")
		}
		out = append(out, a)
	}
	return out
}

func joinDo(instead, build string) string {
	if instead == "" {
		return build
	}
	return instead + "; else " + build
}

// maxConfig bounds a kernel configuration.
const maxConfig = 4 << 20

// kernelConfig finds the configuration of the running kernel: "y", "m" or a
// value by symbol, nil where there is none.
func kernelConfig(h host.Host) (config map[string]string, source string) {
	if b, err := fs.ReadFile(h, "proc/config.gz"); err == nil {
		if z, err := gzip.NewReader(bytes.NewReader(b)); err == nil {
			if plain, err := io.ReadAll(io.LimitReader(z, maxConfig)); err == nil {
				return parseConfig(string(plain)), "proc/config.gz"
			}
		}
	}
	name := fmt.Sprintf("boot/config-%s", text(h, "proc/sys/kernel/osrelease"))
	if b, err := fs.ReadFile(h, name); err == nil {
		return parseConfig(string(b)), name
	}
	return nil, ""
}

// parseConfig reads "CONFIG_NAME=value" lines (kernel's Kconfig format).
func parseConfig(s string) map[string]string {
	config := map[string]string{}
	for line := range strings.Lines(s) {
		if rest, ok := strings.CutPrefix(line, "CONFIG_"); ok {
			name, value, _ := strings.Cut(strings.TrimSpace(rest), "=")
			config[name] = value
		}
	}
	return config
}

// text returns a file without the space around it, "" where there is none.
func text(h host.Host, name string) string {
	b, _ := fs.ReadFile(h, name)
	return strings.TrimSpace(string(b))
}
