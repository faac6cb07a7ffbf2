package main

import (
	"errors"
	"fmt"
	"net/netip"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"github.com/linerate/linerate/internal/workload/generator"
	"github.com/linerate/linerate/result"
)

// testerOptions say where a tester of frames is connected and what it sends.
type testerOptions struct {
	out, in        string // interfaces
	port           string
	line           string
	sizes          string
	imix           bool
	src, dst       string
	via, viaIn     string
	dstMAC         string
	vlan           int
	flows, hosts   int
	shuffle, both  bool
	modifier       string
	filters        int
	preset         string
	iKnow          bool
	lineRate       float64 // bit/s, from line or the interface
	frameSizes     []int
	source, target netip.Addr
	modify         generator.Modifier
}

func addTester(cmd *cobra.Command) *testerOptions {
	o := &testerOptions{}
	f := cmd.Flags()
	f.StringVarP(&o.out, "interface", "i", "", "send out of interface `IF`")
	f.StringVar(&o.in, "in", "", "count what comes in at `IF` (default: the same, for a reflector)")
	f.StringVar(&o.port, "port", "auto", "how to send and count: auto, "+wayNames())
	f.StringVar(&o.line, "line", "", "`RATE` of the line where the interface does not tell, such as 1Gbit")
	f.StringVar(&o.sizes, "size", "64,128,256,512,1024,1280,1518", "frame `SIZES` in bytes with FCS")
	f.BoolVar(&o.imix, "imix", false, "a mix of 64, 594 and 1518 bytes, 7:4:1, instead of --size")
	f.StringVar(&o.src, "src", "198.18.1.2", "source `ADDRESS`")
	f.StringVar(&o.dst, "dst", "198.19.1.2", "destination `ADDRESS`, the first of --hosts")
	f.StringVar(&o.via, "via", "", "`ADDRESS` of the device under test on the sending side (default: the destination)")
	f.StringVar(&o.viaIn, "via-in", "", "`ADDRESS` of the device on the other side, for --both (default: the source)")
	f.StringVar(&o.dstMAC, "dst-mac", "", "`MAC` to send to, instead of asking for --via")
	f.IntVar(&o.vlan, "vlan", 0, "VLAN `TAG`")
	f.IntVar(&o.flows, "flows", 1, "number of flows, a power of two up to 65536")
	f.IntVar(&o.hosts, "hosts", 1, "number of destination addresses, a power of two; 256 is RFC 2544 section 12")
	f.BoolVar(&o.shuffle, "shuffle", false, "flows, their addresses and ports in pseudo-random order (RFC 4814)")
	f.BoolVar(&o.both, "both", false, "also send from --in to --interface, at the same rate (RFC 2544 section 14)")
	f.StringVar(&o.modifier, "modifier", "none", "broadcast, management or routing: other frames in the stream (RFC 2544 section 11)")
	f.IntVar(&o.filters, "filters", 0, "say which `N` filters the device is to have, 1 or 25, and note them (section 11.4)")
	f.StringVar(&o.preset, "preset", "", "a known set-up: "+strings.Join(presetNames(), ", "))
	f.BoolVar(&o.iKnow, "i-know", false, "send to addresses outside the benchmark ranges (RFC 6815)")
	return o
}

// preset is a set-up with a name: flags and their values.
type preset struct{ flag, value string }

func presets() map[string][]preset {
	return map[string][]preset{
		// The field report's: 1,500-byte frames on Gigabit Ethernet, 1,024 flows.
		"p1020": {{"size", "1500"}, {"flows", "1024"}, {"line", "1Gbit"}},
		"imix":  {{"imix", "true"}},
		// The goals of FD.io CSIT, see search.NDRPDR, and RFC 2544 as a goal.
		"ndr-pdr": {{"goals", "ndr-pdr"}},
		"rfc2544": {{"goals", "rfc2544"}},
	}
}

func presetNames() []string {
	names := []string{}
	for n := range presets() {
		names = append(names, n)
	}
	slices.Sort(names)
	return names
}

// usePreset fills in a set-up where the user said nothing else.
func (o *testerOptions) usePreset(cmd *cobra.Command) error {
	flags, ok := presets()[o.preset]
	if o.preset != "" && !ok {
		return usagef("--preset %s: want %s", o.preset, strings.Join(presetNames(), ", "))
	}
	for _, p := range flags {
		if cmd.Flags().Lookup(p.flag) == nil {
			return usagef("--preset %s is one of 'linerate mlr'", o.preset)
		}
		if cmd.Flags().Changed(p.flag) {
			continue
		}
		if err := cmd.Flags().Set(p.flag, p.value); err != nil {
			return err
		}
	}
	return nil
}

// check completes the options, before anything is sent.
func (o *testerOptions) check(cmd *cobra.Command) error {
	if err := o.usePreset(cmd); err != nil {
		return err
	}
	var err1, err2 error
	o.source, err1 = netip.ParseAddr(o.src)
	o.target, err2 = netip.ParseAddr(o.dst)
	if err := errors.Join(err1, err2); err != nil {
		return usagef("--src, --dst: %v", err)
	}
	if o.out == "" && o.port != "memory" {
		return usagef("which interface? -i IF sends, --in IF counts; 'linerate doctor' lists what each can do")
	}
	if o.port == "memory" {
		o.out, o.in = "memory", "memory"
	}
	if o.port != "auto" && wayNamed(o.port) == nil {
		return usagef("--port %s: want auto, %s", o.port, wayNames())
	}
	if o.in == "" {
		o.in = o.out
	}
	// RFC 6815: such tests have no place in a production network.
	for _, a := range []netip.Addr{o.source, o.target} {
		if !o.iKnow && !benchmark(a) {
			return usagef("%v is not an address for benchmarks (198.18.0.0/15, 2001:2::/48): test traffic at line rate stops a network that others use (RFC 6815); --i-know sends it all the same", a)
		}
	}
	if o.both && o.in == o.out {
		return usagef("--both: want two interfaces, -i and --in")
	}
	return errors.Join(o.parseModifier(), o.parseSizes(), o.parseLine())
}

func benchmark(a netip.Addr) bool {
	return slices.ContainsFunc(benchmarkRanges(), func(p netip.Prefix) bool { return p.Contains(a) })
}

// benchmarkRanges are those of RFC 2544 appendix C.2.2 and RFC 5180 section 8,
// the latter as corrected by erratum 1752.
func benchmarkRanges() []netip.Prefix {
	return []netip.Prefix{netip.MustParsePrefix("198.18.0.0/15"), netip.MustParsePrefix("2001:2::/48")}
}

func (o *testerOptions) parseModifier() error {
	modifiers := map[string]generator.Modifier{"none": generator.Unmodified, "broadcast": generator.Broadcast, "management": generator.Management, "routing": generator.Unmodified}
	m, ok := modifiers[o.modifier]
	if !ok {
		return usagef("--modifier %s: want none, broadcast, management or routing", o.modifier)
	}
	if o.filters != 0 && o.filters != 1 && o.filters != 25 {
		return usagef("--filters %d: RFC 2544 section 11.4 has 1 and 25", o.filters)
	}
	o.modify = m
	return nil
}

func (o *testerOptions) parseSizes() error {
	if o.imix {
		return nil
	}
	for s := range strings.SplitSeq(o.sizes, ",") {
		n, err := strconv.Atoi(strings.TrimSpace(s))
		if err != nil {
			return usagef("--size %q: want bytes with FCS, such as 64,512,1518", o.sizes)
		}
		o.frameSizes = append(o.frameSizes, n)
	}
	return nil
}

func (o *testerOptions) parseLine() error {
	if o.line != "" {
		v, err := result.ParseRate(o.line)
		if err != nil || v <= 0 {
			return usagef("--line: %v", err)
		}
		o.lineRate = v
		return nil
	}
	rate, _, ok := lineOf(o.out)
	if !ok {
		return usagef("%s does not tell its line rate: give --line, such as --line 1Gbit", o.out)
	}
	o.lineRate = rate
	return nil
}

// sizesInTurn lists what is tested one after another: each size alone, or the
// mix.
func (o *testerOptions) sizesInTurn() [][]int {
	if o.imix {
		return [][]int{generator.IMIX()}
	}
	var out [][]int
	for _, n := range o.frameSizes {
		out = append(out, []int{n})
	}
	return out
}

// params are what repeats the run.
func (o *testerOptions) params() map[string]string {
	p := map[string]string{"out": o.out, "in": o.in, "src": o.src, "dst": o.dst, "flows": fmt.Sprint(o.flows), "hosts": fmt.Sprint(o.hosts),
		"line": result.FormatBits(o.lineRate)}
	for name, v := range map[string]struct {
		set   bool
		value any
	}{
		"preset": {o.preset != "", o.preset}, "order": {o.shuffle, "pseudo-random"}, "directions": {o.both, "both, load per direction"},
		"modifier": {o.modifier != "none", o.modifier}, "filters": {o.filters > 0, o.filters}, "vlan": {o.vlan > 0, o.vlan},
	} {
		if v.set {
			p[name] = fmt.Sprint(v.value)
		}
	}
	return p
}
