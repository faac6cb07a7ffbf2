package main

import (
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"slices"

	"github.com/spf13/cobra"

	"github.com/linerate/linerate/internal/host"
	"github.com/linerate/linerate/internal/host/probe"
	"github.com/linerate/linerate/internal/meter/nic"
)

type doctorOptions struct {
	interfaces  []string
	host, netns string
	json        bool
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
		Example: "  linerate doctor\n  linerate doctor -i eth0 --json\n  linerate doctor --host board.tar",
		Args:    noArgs,
		RunE:    func(*cobra.Command, []string) error { return runDoctor(c, o) },
	}
	f := cmd.Flags()
	f.StringSliceVarP(&o.interfaces, "interface", "i", nil, "look at interface `IF` only; may be repeated")
	f.StringVar(&o.host, "host", "", "judge a recorded host: the directory or tar `FILE` that collect wrote")
	f.StringVar(&o.netns, "netns", "", "look at the network namespace `NAME`")
	f.BoolVar(&o.json, "json", false, "print JSON")
	return cmd
}

func runDoctor(c cli, o doctorOptions) error {
	h, done, err := openHost(o.host, o.netns)
	if err != nil {
		return err
	}
	defer done()
	if len(o.interfaces) == 0 {
		all, err := nic.Interfaces(h)
		if err != nil {
			return err
		}
		o.interfaces = slices.DeleteFunc(all, func(name string) bool { return name == "lo" })
	}
	facts, _ := host.Describe(h, o.interfaces...)
	d := diagnosis{"linerate.doctor/1", facts, probe.Host(h, o.host == "", o.interfaces)}
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
