package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"github.com/linerate/linerate/internal/serve/fastpath"
	"github.com/linerate/linerate/result"
)

func newForwardShow(c cli) *cobra.Command {
	var flows, asJSON bool
	cmd := &cobra.Command{
		Use: "show", Short: "Show what the fast path does, and why packets went to the stack", Args: noArgs,
		Example: "  linerate forward show\n  linerate forward show --flows",
		RunE: func(*cobra.Command, []string) error {
			p, err := fastpath.Open("")
			if err != nil {
				return err
			}
			defer p.Close()
			s, err := p.State()
			if err != nil {
				return err
			}
			var list []fastpath.Flow
			if flows {
				list = p.Flows()
			}
			if asJSON {
				enc := json.NewEncoder(c.out)
				enc.SetIndent("", "  ")
				return enc.Encode(struct {
					fastpath.State
					Connections []fastpath.Flow `json:",omitempty"`
				}{s, list})
			}
			writeForwardState(c.out, s)
			if flows {
				writeFlows(c.out, list)
			}
			return nil
		},
	}
	cmd.Flags().BoolVar(&flows, "flows", false, "list the connections on the fast path, which tcpdump does not see")
	cmd.Flags().BoolVar(&asJSON, "json", false, "write JSON")
	return cmd
}

func writeForwardState(w io.Writer, s fastpath.State) {
	how := "connections that the stack let through"
	if s.Routed {
		how = "by the routing table: nothing filters"
	}
	fmt.Fprintf(w, "on %s, %s; %d of %d connections; generation %d", strings.Join(s.Interfaces, ", "), how, s.Flows, s.Room, s.Generation)
	if s.Lease <= 0 {
		fmt.Fprint(w, "; OFF: nobody follows the rules, start 'linerate forward up' again")
	}
	fmt.Fprintln(w)
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	for i, r := range s.Reasons {
		if r.Packets == 0 {
			continue
		}
		to := "to the stack: "
		if i < 2 {
			to = ""
		}
		fmt.Fprintf(t, "%d\t%s\t%s%s\n", r.Packets, r.Name, to, r.Help)
	}
	t.Flush()
}

func writeFlows(w io.Writer, flows []fastpath.Flow) {
	slices.SortFunc(flows, func(a, b fastpath.Flow) int {
		return int(min(max(int64(b.Ways[0].Bytes+b.Ways[1].Bytes)-int64(a.Ways[0].Bytes+a.Ways[1].Bytes), -1), 1))
	})
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintln(t, "connection\tstate\tout\tpackets\tbytes\tback\tpackets\tbytes\tidle")
	for _, f := range flows {
		name := fmt.Sprintf("%s %s > %s", map[uint8]string{6: "tcp", 17: "udp"}[f.Original.Protocol], f.Original.Source, f.Original.Target)
		if f.Reply.Source != f.Original.Target || f.Reply.Target != f.Original.Source {
			name += fmt.Sprintf(" as %s > %s", f.Reply.Target, f.Reply.Source)
		}
		there, back := f.Ways[0], f.Ways[1]
		fmt.Fprintf(t, "%s\t%s\t%s\t%d\t%d\t%s\t%d\t%d\t%s\n", name, f.State, there.Out, there.Packets, there.Bytes, back.Out, back.Packets, back.Bytes,
			min(there.Idle, back.Idle).Round(time.Second))
	}
	t.Flush()
}

func newForwardTop(c cli) *cobra.Command {
	var every time.Duration
	var once bool
	cmd := &cobra.Command{
		Use: "top", Short: "Show packet rates by what became of them", Args: noArgs,
		Example: "  linerate forward top --every 2s",
		RunE: func(cmd *cobra.Command, _ []string) error {
			p, err := fastpath.Open("")
			if err != nil {
				return err
			}
			defer p.Close()
			return forwardTop(cmd.Context(), c, p, every, once)
		},
	}
	cmd.Flags().DurationVar(&every, "every", time.Second, "`TIME` between lines")
	cmd.Flags().BoolVar(&once, "once", false, "one line, and end")
	return cmd
}

// forwardTop prints a line of rates for each interval.
func forwardTop(ctx context.Context, c cli, p *fastpath.Path, every time.Duration, once bool) error {
	before, err := p.State()
	if err != nil {
		return err
	}
	at := time.Now()
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-time.After(every):
		}
		s, err := p.State()
		if err != nil {
			return err
		}
		took := time.Since(at).Seconds()
		at = time.Now()
		line := fmt.Sprintf("%d connections", s.Flows)
		for i, r := range s.Reasons {
			if n := r.Packets - before.Reasons[i].Packets; n > 0 {
				line += fmt.Sprintf("  %s %s", r.Name, strings.ReplaceAll(result.FormatBits(float64(n)/took), "bit/s", "packets/s"))
			}
		}
		fmt.Fprintln(c.out, line)
		if before = s; once {
			return nil
		}
	}
}
