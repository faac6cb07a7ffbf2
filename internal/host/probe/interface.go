package probe

import (
	"errors"
	"io/fs"
	"strings"

	"github.com/linerate/linerate/internal/host"
)

// setting is a group of an interface's settings.
type setting struct {
	name, file, use, do string
	keys                []string // the ones worth naming
}

func settingTable() []setting {
	return []setting{
		{"interrupt coalescing", "coalesce", "fewer interrupts per packet",
			"use the kernel's own: gro_flush_timeout with napi_defer_hard_irqs", []string{"rx-usecs", "rx-frames", "tx-usecs", "tx-frames", "adaptive-rx"}},
		{"ring sizes", "rings", "ride out bursts", "some drivers have a module parameter instead", []string{"rx", "rx-max", "tx", "tx-max"}},
		{"channels", "channels", "spread flows over cores", "use RPS: queue.rx-0.rps_cpus", []string{"combined", "combined-max", "rx", "tx"}},
		{"pause frames", "pause", "a slow receiver holds the sender back", "", []string{"autoneg", "rx", "tx"}},
		{"energy-efficient Ethernet", "eee", "switch it off against drops and delay", "", []string{"eee", "active"}},
		{"offloads", "features", "let the NIC segment and checksum", "", []string{"tso", "gso", "gro", "lro", "rx", "tx", "sg"}},
		{"link modes", "link", "speed, duplex and what the peer can do", "", []string{"speed", "duplex", "autoneg"}},
		{"driver statistics", "stats", "see where the NIC drops", "the kernel's totals are read instead", nil},
	}
}

// onInterface tells what the driver of one interface lets us read and set.
func onInterface(h host.Host, ifname string) []Ability {
	group := "interface " + ifname
	var out []Ability
	if _, err := fs.Stat(h, "sys/class/net/"+ifname); err != nil {
		if _, err := fs.Stat(h, "link/"+ifname); err != nil {
			return []Ability{{Group: group, Name: "present", Verdict: No, Detail: reason(err), Do: "see 'ip link' for the names there are"}}
		}
	}
	for _, s := range settingTable() {
		b, err := fs.ReadFile(h, "ethtool/"+ifname+"/"+s.file)
		detail := summary(string(b), s.keys)
		if err == nil && strings.TrimSpace(string(b)) == "" {
			err = errors.New("the driver names none")
		}
		if errors.Is(err, fs.ErrNotExist) {
			if err = gap(h, "ethtool/"+ifname+"/"+s.file); err == nil {
				out = append(out, Ability{Group: group, Name: s.name, For: s.use, Verdict: Unknown, Detail: "not recorded",
					Do: "install ethtool on the box and record it again"})
				continue
			}
		}
		out = append(out, outcome(group, s.name, s.use, driverLacks(err), detail, s.do))
	}
	out = append(out, xdp(h, group, ifname))
	const napi = "gro_flush_timeout"
	detail := text(h, "sys/class/net/"+ifname+"/"+napi)
	_, err := fs.Stat(h, "sys/class/net/"+ifname+"/"+napi)
	return append(out, outcome(group, "software coalescing", "fewer interrupts on any NAPI driver", err, napi+" "+detail, "a kernel since 3.19 has it"))
}

// gap returns why a recording lacks a file, nil where it does not say.
func gap(h host.Host, name string) error {
	for line := range strings.Lines(text(h, "gaps")) {
		if why, ok := strings.CutPrefix(strings.TrimSpace(line), name+": "); ok {
			if strings.HasPrefix(why, "operation not supported") || why == "nothing to read" {
				return errors.ErrUnsupported
			}
			return errors.New(why)
		}
	}
	return nil
}

// driverLacks words the commonest refusal for the reader.
func driverLacks(err error) error {
	if errors.Is(err, errors.ErrUnsupported) {
		return errors.New("the driver has none")
	}
	return err
}

// summary picks keys out of "key: value" lines.
func summary(lines string, keys []string) string {
	var out []string
	for _, k := range keys {
		for line := range strings.Lines(lines) {
			if key, v, ok := strings.Cut(line, ": "); ok && key == k {
				out = append(out, k+" "+strings.TrimSpace(v))
			}
		}
	}
	return strings.Join(out, ", ")
}

// xdp tells whether XDP programs run in the driver. Without that they run in
// the stack, at half the rate or less.
func xdp(h host.Host, group, ifname string) Ability {
	a := Ability{Group: group, Name: "native XDP", For: "the fast path at the driver's rate"}
	b, err := fs.ReadFile(h, "link/"+ifname+"/xdp_features")
	switch has := strings.TrimSpace(string(b)); {
	case err != nil:
		a.Verdict, a.Detail, a.Do = Unknown, "the kernel does not tell (since 6.3 it does): "+reason(err), "try it: generic XDP is used where native is refused"
	case strings.Contains(has, "basic"):
		a.Verdict, a.Detail = Yes, has
	default:
		a.Verdict, a.Detail, a.Do = No, "the driver has none", "generic XDP is used instead, in the stack"
	}
	return a
}
