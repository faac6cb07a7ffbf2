package main

import (
	"bufio"
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"github.com/linerate/linerate/internal/fleet"
)

func newAgentTrust(c cli, o *agentOptions) *cobra.Command {
	return &cobra.Command{
		Use:   "trust HOST[:PORT] [CODE]",
		Short: "Pair this seat with the agent that shows a code",
		Long: "Proves to the agent that its code is known here, and has it prove the same: nobody in between can be\n" +
			"taken for either. Without CODE it is asked for.",
		Example: "  linerate agent trust 192.0.2.1 ABCDE-FGHIJ",
		Args: func(cmd *cobra.Command, args []string) error {
			if len(args) < 1 || len(args) > 2 {
				return usagef("agent trust wants HOST[:PORT] and the CODE that 'linerate agent' shows there")
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			code := ""
			if len(args) > 1 {
				code = args[1]
			} else {
				fmt.Fprint(c.err, "code: ")
				line, err := bufio.NewReader(c.in).ReadString('\n')
				if code = strings.TrimSpace(line); code == "" {
					return errors.Join(usagef("agent trust wants the CODE that 'linerate agent' shows there"), err)
				}
			}
			opts, err := seatOptions(o.identity)
			if err != nil {
				return err
			}
			peer, err := fleet.Pair(cmd.Context(), withPort(args[0], fleet.Port), hostname(), code, opts)
			if err != nil {
				return err
			}
			fmt.Fprintf(c.out, "paired with %s, key %s\n", peer.Name, peer.Fingerprint.Short())
			return nil
		},
	}
}

func newAgentCode(c cli, o *agentOptions) *cobra.Command {
	return &cobra.Command{
		Use: "code", Short: "Show a new code that pairs one more seat with this agent", Args: noArgs,
		Example: "  linerate agent code",
		RunE: func(*cobra.Command, []string) error {
			return invite(c, fleet.OpenStore(o.identity), fmt.Sprintf(":%d", fleet.Port))
		},
	}
}

func newAgentPeers(c cli, o *agentOptions) *cobra.Command {
	return &cobra.Command{
		Use: "peers", Short: "List the seats and agents that this end trusts", Args: noArgs,
		Example: "  linerate agent peers",
		RunE: func(*cobra.Command, []string) error {
			peers, err := fleet.OpenStore(o.identity).Peers()
			if err != nil {
				return err
			}
			w := tabwriter.NewWriter(c.out, 0, 0, 2, ' ', 0)
			for _, p := range peers {
				fmt.Fprintf(w, "%s\t%s\t%s\t%s\tsince %s\n", p.Name, p.Role, p.Fingerprint.Short(), cmp.Or(p.Address, "-"), p.Since.Format(time.DateOnly))
			}
			return w.Flush()
		},
	}
}

func newAgentForget(c cli, o *agentOptions) *cobra.Command {
	return &cobra.Command{
		Use: "forget NAME|KEY|HOST:PORT", Short: "Trust a peer no longer, from its next request on", Args: nArgs("NAME|KEY|HOST:PORT"),
		Example: "  linerate agent forget desk",
		RunE: func(_ *cobra.Command, args []string) error {
			gone, err := fleet.OpenStore(o.identity).Forget(args[0])
			if errors.Is(err, fs.ErrNotExist) {
				return usagef("no peer %q; 'linerate agent peers' lists them", args[0])
			}
			for _, p := range gone {
				fmt.Fprintf(c.out, "forgot the %s %s, key %s\n", p.Role, p.Name, p.Fingerprint.Short())
			}
			return err
		},
	}
}
