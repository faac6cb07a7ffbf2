package main

import (
	"context"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/linerate/linerate/internal/explain"
	"github.com/linerate/linerate/internal/host"
	"github.com/linerate/linerate/internal/lever"
	"github.com/linerate/linerate/internal/lever/auto"
	"github.com/linerate/linerate/internal/lever/byhand"
	"github.com/linerate/linerate/result"
)

func newTuneAdvise(c cli) *cobra.Command {
	o := &explainOptions{}
	var peerOS string
	cmd := &cobra.Command{
		Use:   "advise FILE...",
		Short: "Say which settings of this box a result, capture or facts ask for",
		Long: `advise explains the files as 'linerate explain' does and lists the settings of this box that the
explanations name, as they stand and as they should, with the command that applies them. Nothing is
changed. Settings of other boxes, and advice that is no setting, are listed as such.

With --peer-os the other end is meant, which does not run this program: each piece of advice is written out in the spelling
of that system's own tools (registry values and PowerShell, the NDK's configuration, ethtool and sysctl, device tree).`,
		Example: `  linerate tune advise result.json -i eth0
  linerate tune advise --facts board.yaml
  linerate tune advise --facts board.yaml --peer-os windows`,
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args)+len(o.facts) == 0 {
				return usagef("tune advise wants a FILE or --facts FILE; see 'linerate tune advise --help'")
			}
			if peerOS != "" {
				return advisePeer(cmd.Context(), c, o, byhand.OS(peerOS), args)
			}
			return runTuneAdvise(cmd.Context(), c, o, args)
		},
	}
	f := cmd.Flags()
	f.StringArrayVar(&o.facts, "facts", nil, "read facts in YAML from `FILE`; '-' is the standard input")
	f.StringVar(&peerOS, "peer-os", "", "say what to do by hand at an other end that runs `OS`: "+peerSystems())
	f.StringVarP(&o.iface, "interface", "i", "", "the interface whose settings are meant")
	return cmd
}

func runTuneAdvise(ctx context.Context, c cli, o *explainOptions, args []string) error {
	h, err := host.Live()
	if err != nil {
		return err
	}
	r, err := o.gather(ctx, c, args)
	if err != nil {
		return err
	}
	explainResult(r)
	var apply []string
	told := map[string]bool{}
	for _, f := range explain.Hypotheses(r.Findings) {
		for _, a := range f.Levers {
			if told[a.Lever+a.End] {
				continue
			}
			told[a.Lever+a.End] = true
			if arg := advised(ctx, c, h, o.iface, f, a); arg != "" {
				apply = append(apply, arg)
			}
		}
	}
	if len(told) == 0 {
		fmt.Fprintln(c.out, "nothing to change: no explanation names a setting")
		return nil
	}
	if len(apply) > 0 {
		fmt.Fprintf(c.out, "\nlinerate tune apply %s\n", strings.Join(apply, " "))
	}
	return nil
}

// advised prints one piece of advice and returns its argument for tune apply,
// empty where it is not for this box, no setting of it, or in force already.
func advised(ctx context.Context, c cli, h host.Host, ifname string, f result.Finding, a result.Advice) string {
	id := a.Lever
	s, err := lever.Find(h, id)
	if err != nil && ifname != "" {
		id += "@" + ifname
		s, err = lever.Find(h, id)
	}
	why := fmt.Sprintf("%s, confidence %.0f %%", f.Rule, 100*f.Confidence)
	if err != nil {
		at := ""
		if a.End != "" {
			at = " at the " + a.End
		}
		fmt.Fprintf(c.out, "%s%s: %s (%s; not a setting that tune can turn here)\n", a.Lever, at, a.Value, why)
		return ""
	}
	now, err := s.Get(ctx)
	switch {
	case err != nil:
		fmt.Fprintf(c.out, "%s: %s (%s; %v)\n", id, a.Value, why, err)
		return ""
	case lever.Same(now, a.Value) || auto.Roomier(id, now, a.Value):
		fmt.Fprintf(c.out, "%s: is %q already, which is enough (%s)\n", id, now, why)
		return ""
	}
	fmt.Fprintf(c.out, "%s: %q to %q (%s)\n", id, now, a.Value, why)
	if f.Trade != "" {
		fmt.Fprintf(c.out, "  trade: %s\n", f.Trade)
	}
	return fmt.Sprintf("'%s=%s'", id, a.Value)
}
