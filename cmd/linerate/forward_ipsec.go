package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"path/filepath"
	"runtime"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/linerate/linerate/internal/lever"
	gate "github.com/linerate/linerate/internal/serve/fastpath/ipsec/gateway"
)

// newForwardIPsec groups the verbs of IPsec.
func newForwardIPsec(c cli) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "ipsec",
		Short: "Protect forwarded packets with ESP and AH, without the kernel's IPsec",
		Long: `ipsec seals packets on their way to another gateway and opens what comes from there: ESP (RFC 4303)
and AH (RFC 4302), tunnel and transport mode, in UDP behind NAT (RFC 3948). It works on kernels that
have no IPsec. Which packets, with whom and with what keys is said by a file; making and changing
keys (IKE) is another program's business.

The stack sends what is to be protected into a TUN device, and gets what was opened from there, so
that its routes, rules and counters see every packet as it is inside. With --xdp, packets that come
by the interfaces named go past the stack, several times as fast, while no rule of nftables or
iptables could see them: rules that come later are followed within a tenth of a second. What is
not simple (options, fragments, unknown neighbours, packets too long) goes by the stack there too.`,
		Args: noArgs,
	}
	cmd.AddCommand(newIPsecUp(c), newIPsecShow(c), newIPsecDown(c), newIPsecCheck(c))
	return cmd
}

type ipsecOptions struct {
	gate.Options
	foreground bool
}

func newIPsecUp(c cli) *cobra.Command {
	o := &ipsecOptions{}
	cmd := &cobra.Command{
		Use:   "up --file RULES",
		Short: "Start the gateway, or have it take new rules and keys",
		Long: `up starts a process that protects what the rules of a file name. Run again, the process takes the new
file: associations that are in both go on with their counters, so that keys change without loss: list
the new inbound keys beside the old ones at both ends, then change the outbound ones, then drop the
old. The file is YAML or JSON, and nobody but its owner may read it:

  rules:                          # the first that matches decides
  - name: site b
    local: 10.1.0.0/16            # behind us
    remote: 10.2.0.0/16           # behind the peer
    with:
      local: 198.18.0.1           # outer addresses
      remote: 198.18.0.2
      suite: aes128gcm16          # linerate forward ipsec check lists them
      esn: true                   # extended sequence numbers
      window: 1024                # anti-replay, up to 4096
      port: 4500                  # in UDP; leave out for plain ESP
      out: {spi: 0x1001, key: 00..}   # hexadecimal, salt at the end
      in: [{spi: 0x1002, key: 00..}]

Further keys of a rule: action (protect, bypass, discard), protocol, local_port, remote_port; of
with: protocol (esp, ah), mode (tunnel, transport), remote_port, df (copy, set, clear), dscp, no_ecn,
mtu, soft and hard ({packets, bytes, time}), align8 (AH with Linux over IPv4); of out and in: auth_key.`,
		Example: `  linerate forward ipsec up --file /etc/linerate/ipsec.yaml
  linerate forward ipsec up --file ipsec.yaml --foreground   as a service`,
		Args: noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if o.File == "" {
				return usagef("forward ipsec up wants --file with the rules")
			}
			return o.up(cmd.Context(), c)
		},
	}
	f := cmd.Flags()
	f.StringVar(&o.File, "file", "", "`FILE` of rules and keys")
	f.StringVar(&o.Device, "device", gate.DefaultDevice, "`NAME` of the TUN device to make")
	f.StringVar(&o.Underlay, "underlay", "", "`INTERFACE` that outer packets use, where a rule's remote contains the peer")
	f.BoolVar(&o.NoRoutes, "no-routes", false, "leave the routes into the device to others")
	f.StringSliceVar(&o.XDP, "xdp", nil, "`INTERFACES` whose packets go past the stack (AF_XDP) as long as it filters nothing")
	f.BoolVar(&o.foreground, "foreground", false, "work in this process until interrupted")
	return cmd
}

func (o *ipsecOptions) up(ctx context.Context, c cli) error {
	var err error
	if o.File, err = filepath.Abs(o.File); err != nil {
		return err
	}
	if o.foreground {
		return o.serve(ctx, c)
	}
	if _, err := gate.Check(o.File); err != nil {
		return err
	}
	if err := gate.Renew(ctx, o.File); !errors.Is(err, gate.ErrNone) {
		if err == nil {
			fmt.Fprintln(c.out, "the gateway that was up has taken the rules")
		}
		return err
	}
	exe, err := self()
	if err != nil {
		return err
	}
	args := []string{"forward", "ipsec", "up", "--foreground", "--file", o.File, "--device", o.Device, "--underlay", o.Underlay, fmt.Sprintf("--no-routes=%v", o.NoRoutes), "--xdp", strings.Join(o.XDP, ",")}
	if err := lever.Arm(exe, args...); err != nil {
		return err
	}
	for range 100 {
		if s, err := gate.Show(ctx); err == nil {
			fmt.Fprintf(c.out, "%s is up, MTU %d, %d rules\n", s.Device, s.MTU, len(s.Rules))
			return nil
		}
		time.Sleep(50 * time.Millisecond)
	}
	return errors.New("forward ipsec: the gateway does not come up: with --foreground it says why")
}

// waiting is how many goroutines of a gateway wait for packets: sockets of both
// families, ICMP, the device, two interfaces.
const waiting = 12

func (o *ipsecOptions) serve(ctx context.Context, c cli) error {
	o.Log = slog.New(slog.NewTextHandler(c.err, nil))
	// A goroutine that waits in a system call keeps its processor for up to ten
	// milliseconds. On a box of one core all others would wait with it.
	runtime.GOMAXPROCS(runtime.NumCPU() + waiting)
	g, err := gate.Open(o.Options)
	if err != nil {
		return err
	}
	s := g.Status(ctx)
	fmt.Fprintf(c.err, "%s is up, MTU %d, %d rules\n", s.Device, s.MTU, len(s.Rules))
	return errors.Join(g.Serve(ctx), g.Close())
}

func newIPsecDown(c cli) *cobra.Command {
	return &cobra.Command{
		Use: "down", Short: "End the gateway, with its device, routes and keys", Args: noArgs,
		Example: "  linerate forward ipsec down",
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := gate.Down(cmd.Context()); errors.Is(err, gate.ErrNone) {
				fmt.Fprintln(c.out, "no gateway was up")
				return nil
			} else if err != nil {
				return err
			}
			for range 100 {
				if _, err := gate.Show(cmd.Context()); errors.Is(err, gate.ErrNone) {
					fmt.Fprintln(c.out, "the gateway is down")
					return nil
				}
				time.Sleep(20 * time.Millisecond)
			}
			return errors.New("forward ipsec: the gateway does not end")
		},
	}
}
