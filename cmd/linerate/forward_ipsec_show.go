package main

import (
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"net/netip"
	"slices"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"github.com/linerate/linerate/internal/serve/fastpath/ipsec"
	gate "github.com/linerate/linerate/internal/serve/fastpath/ipsec/gateway"
	"github.com/linerate/linerate/internal/serve/fastpath/ipsec/sa"
	"github.com/linerate/linerate/internal/serve/fastpath/ipsec/transform"
)

func newIPsecShow(c cli) *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use: "show", Short: "Show rules, associations and why packets were dropped; never keys", Args: noArgs,
		Example: "  linerate forward ipsec show\n  linerate forward ipsec show --json",
		RunE: func(cmd *cobra.Command, _ []string) error {
			s, err := gate.Show(cmd.Context())
			if err != nil {
				return err
			}
			if asJSON {
				enc := json.NewEncoder(c.out)
				enc.SetIndent("", "  ")
				return enc.Encode(s)
			}
			writeIPsec(c.out, s)
			return nil
		},
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "write JSON")
	return cmd
}

func newIPsecCheck(c cli) *cobra.Command {
	return &cobra.Command{
		Use: "check [FILE]", Short: "Check a file of rules without using it, or list the suites", Args: func(cmd *cobra.Command, args []string) error {
			if len(args) > 1 {
				return usagef("forward ipsec check wants one file at most")
			}
			return nil
		},
		Example: "  linerate forward ipsec check ipsec.yaml",
		RunE: func(_ *cobra.Command, args []string) error {
			if len(args) == 0 {
				t := tabwriter.NewWriter(c.out, 0, 0, 2, ' ', 0)
				fmt.Fprintln(t, "suite\tkey, bytes with salt\tauth_key, bytes")
				for _, name := range transform.Names() {
					s, _ := transform.Lookup(name)
					fmt.Fprintf(t, "%s\t%d\t%d\n", name, s.Key, s.AuthKey)
				}
				fmt.Fprint(t, "of AH: sha256\t\t32\nsha384\t\t48\nsha512\t\t64\nsha1\t\t20\n")
				return t.Flush()
			}
			s, err := gate.Check(args[0])
			if err == nil {
				writeRules(c.out, s)
			}
			return err
		},
	}
}

func writeIPsec(w io.Writer, s gate.Status) {
	fmt.Fprintf(w, "%s, MTU %d, rules of %s; %d packets out, %d in by %d writes, %d keep-alives\n", s.Device, s.MTU, s.Source, s.Out, s.In, s.Super, s.KeepAlives)
	for _, f := range []struct {
		n    uint64
		what string
	}{{s.Unsent, "not sent: the link refused them"}, {s.Refused, "not delivered: the stack refused them"}, {s.Malformed, "from the device: malformed"}} {
		if f.n > 0 {
			fmt.Fprintf(w, "%d packets %s\n", f.n, f.what)
		}
	}
	if len(s.XDP) > 0 {
		how := "off, since the stack has rules for forwarded packets"
		if s.PastStack {
			how = "on"
		}
		fmt.Fprintf(w, "past the stack on %s: %s; %d packets\n", strings.Join(s.XDP, ", "), how, s.Past)
	}
	if s.Error != "" {
		fmt.Fprintf(w, "the last rules were not taken: %s\n", s.Error)
	}
	writeRules(w, s.Status)
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	for _, r := range slices.Sorted(maps.Keys(s.Drops)) {
		fmt.Fprintf(t, "%d\t%s\t%s\n", s.Drops[r], r, r.Help())
	}
	t.Flush()
}

func writeRules(w io.Writer, s ipsec.Status) {
	side := func(p netip.Prefix) string {
		if !p.IsValid() {
			return "any"
		}
		return p.String()
	}
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	for _, r := range s.Rules {
		fmt.Fprintf(t, "%s\t%s\t%s - %s\n", r.Name, r.Action, side(r.Local), side(r.Remote))
		if r.Out != nil {
			writeAssociation(t, "out", *r.Out)
		}
		for _, a := range r.In {
			writeAssociation(t, "in", a)
		}
	}
	t.Flush()
}

func writeAssociation(w io.Writer, way string, a ipsec.Association) {
	var more []string
	if a.Expired {
		more = append(more, "EXPIRED")
	} else if a.Soft {
		more = append(more, "time for new keys")
	}
	for _, r := range slices.Sorted(maps.Keys(a.Drops)) {
		more = append(more, fmt.Sprintf("%s %d", sa.Reason(r), a.Drops[r]))
	}
	fmt.Fprintf(w, "  %s %#x\t%s %s %s\t%v > %v\t%d packets, %d bytes, sequence %d, %s old\t%s\n", way, a.SPI, a.Protocol, a.Mode, a.Suite, a.Source, a.Target,
		a.Packets, a.Bytes, a.Sequence, a.Age.Round(time.Second), strings.Join(more, ", "))
}
