package main

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"slices"

	"github.com/spf13/cobra"

	"github.com/linerate/linerate/internal/fleet"
	"github.com/linerate/linerate/internal/host"
	"github.com/linerate/linerate/internal/host/probe"
	"github.com/linerate/linerate/internal/meter/nic"
)

type doctorOptions struct {
	interfaces  []string
	host, netns string
	json        bool
	far         *farFlags
}

// diagnosis is what doctor prints with --json.
type diagnosis struct {
	Schema    string            `json:"schema"` // "linerate.doctor/1"
	Facts     map[string]string `json:"facts"`
	Abilities []probe.Ability   `json:"abilities"`
}

func newDoctor(c cli) *cobra.Command {
	var o doctorOptions
	cmd := &cobra.Command{
		Use:   "doctor",
		Short: "Tell what this box can do, and why not what it cannot",
		Long: "doctor tries what measuring, forwarding and tuning need: privileges, kernel features,\n" +
			"and which settings each interface has. It changes nothing and loads no module.",
		Example: "  linerate doctor\n  linerate doctor -i eth0 --json\n  linerate doctor --host board.tar\n  linerate doctor --agent 192.0.2.1",
		Args:    noArgs,
		RunE:    func(cmd *cobra.Command, _ []string) error { return runDoctor(cmd.Context(), c, o) },
	}
	o.far = addFar(cmd, "diagnose")
	f := cmd.Flags()
	f.StringSliceVarP(&o.interfaces, "interface", "i", nil, "look at interface `IF` only; may be repeated")
	f.StringVar(&o.host, "host", "", "judge a recorded host: the directory or tar `FILE` that collect wrote")
	f.StringVar(&o.netns, "netns", "", "look at the network namespace `NAME`")
	f.BoolVar(&o.json, "json", false, "print JSON")
	return cmd
}

func runDoctor(ctx context.Context, c cli, o doctorOptions) error {
	if o.far.given() {
		if o.host != "" || o.netns != "" {
			return usagef("--agent asks another box: leave --host and --netns out")
		}
		f, err := o.far.open(ctx)
		if err != nil {
			return err
		}
		defer f.Close()
		d, err := fleet.Call[diagnosis](ctx, f.Client, "doctor", doctorAsk{o.interfaces})
		if err != nil {
			return err
		}
		return o.show(c, d)
	}
	h, done, err := openHost(o.host, o.netns)
	if err != nil {
		return err
	}
	defer done()
	d, err := diagnose(h, o.host == "", o.interfaces)
	if err != nil {
		return err
	}
	return o.show(c, d)
}

// diagnose probes the interfaces named, or all but loopback; live says that h
// is this box.
func diagnose(h host.Host, live bool, interfaces []string) (diagnosis, error) {
	all, err := nic.Interfaces(h)
	if err != nil {
		return diagnosis{}, err
	}
	for _, name := range interfaces {
		if !slices.Contains(all, name) {
			return diagnosis{}, fmt.Errorf("no interface %s; there are %v", name, all)
		}
	}
	if len(interfaces) == 0 {
		interfaces = slices.DeleteFunc(all, func(name string) bool { return name == "lo" })
	}
	facts, _ := host.Describe(h, interfaces...)
	return diagnosis{"linerate.doctor/1", facts, probe.Host(h, live, interfaces)}, nil
}

func (o doctorOptions) show(c cli, d diagnosis) error {
	if o.json {
		enc := json.NewEncoder(c.out)
		enc.SetIndent("", "  ")
		enc.SetEscapeHTML(false)
		return enc.Encode(d)
	}
	return showDiagnosis(c.out, d)
}

// showDiagnosis groups abilities under headings, in order of appearance.
func showDiagnosis(w io.Writer, d diagnosis) error {
	fmt.Fprintf(w, "Linux %s on %s, %s\n", cmp.Or(d.Facts["kernel"], "?"), cmp.Or(d.Facts["board"], d.Facts["architecture"], "an unnamed machine"), cmp.Or(d.Facts["cpu"], "unknown CPU"))
	width := 0
	var groups []string
	for _, a := range d.Abilities {
		width = max(width, len(a.Name))
		if !slices.Contains(groups, a.Group) {
			groups = append(groups, a.Group)
		}
	}
	counts := map[probe.Verdict]int{}
	for _, g := range groups {
		fmt.Fprintf(w, "\n%s\n", g)
		for _, a := range d.Abilities {
			if a.Group != g {
				continue
			}
			counts[a.Verdict]++
			fmt.Fprintf(w, "  %-7s  %-*s  %s\n", a.Verdict, width, a.Name, cmp.Or(a.Detail, a.For))
			if a.Verdict != probe.Yes && a.Do != "" {
				fmt.Fprintf(w, "  %-7s  %-*s  -> %s\n", "", width, "", a.Do)
			}
		}
	}
	_, err := fmt.Fprintf(w, "\n%d yes, %d no, %d unknown\n", counts[probe.Yes], counts[probe.No], counts[probe.Unknown])
	return err
}
