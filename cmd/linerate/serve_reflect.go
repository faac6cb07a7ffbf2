package main

import (
	"context"
	"errors"
	"fmt"
	"net"
	"time"

	"github.com/spf13/cobra"

	"github.com/linerate/linerate/internal/port"
	"github.com/linerate/linerate/internal/serve/reflect"
)

func newServeReflect(c cli) *cobra.Command {
	o := &reflectOptions{}
	cmd := &cobra.Command{
		Use:   "reflect",
		Short: "Send test frames back to the tester",
		Long: `reflect turns test frames round at the driver: addresses and ports change places. All other traffic
goes to the stack as before, which also answers ARP for the addresses the interface has.`,
		Example: `  linerate serve reflect -i eth0
  linerate serve reflect -i eth0 --out eth1 --next-hop 02:00:5e:10:00:01     # two arms`,
		Args: noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return runReflect(cmd.Context(), c, o) },
	}
	f := cmd.Flags()
	f.StringVarP(&o.in, "interface", "i", "", "reflect on interface `IF`")
	f.StringVar(&o.out, "out", "", "send back out of `IF` instead")
	f.StringVar(&o.hop, "next-hop", "", "`MAC` to send to with --out")
	f.BoolVar(&o.any, "any", false, "also reflect UDP to the echo port without our signature, as other testers send")
	f.StringVar(&o.port, "port", "auto", "auto, live (in the driver or stack by XDP) or packet (AF_PACKET)")
	return cmd
}

type reflectOptions struct {
	in, out, hop, port string
	any                bool
}

func runReflect(ctx context.Context, c cli, o *reflectOptions) error {
	if o.in == "" {
		return usagef("which interface? -i IF")
	}
	opts := reflect.Options{Any: o.any, Out: o.out}
	if o.hop != "" {
		mac, err := net.ParseMAC(o.hop)
		if err != nil {
			return usagef("--next-hop: %v", err)
		}
		opts.NextHop = mac
	}
	switch o.port {
	case "auto", "live":
		r, err := reflect.Attach(o.in, opts)
		if err == nil {
			return reflectXDP(ctx, c, o.in, r)
		}
		if o.port == "live" || o.out != "" {
			return err
		}
		fmt.Fprintf(c.err, "%v; reflecting in user space instead\n", err)
	case "packet":
	default:
		return usagef("--port %s: want auto, live or packet", o.port)
	}
	return reflectPort(ctx, c, o)
}

// reflectXDP shows what is reflected once a second until ctx ends.
func reflectXDP(ctx context.Context, c cli, ifname string, r *reflect.Reflector) (err error) {
	defer func() { err = errors.Join(err, r.Close()) }()
	fmt.Fprintf(c.out, "reflecting on %s, XDP in the %s; Ctrl-C stops\n", ifname, r.Mode)
	tick := time.NewTicker(time.Second)
	defer tick.Stop()
	var last reflect.Counts
	for {
		select {
		case <-ctx.Done():
			n, err := r.Counts()
			fmt.Fprintf(c.out, "%d frames, %d bytes sent back; %d others passed to the stack\n", n.Frames, n.Bytes, n.Foreign)
			return err
		case <-tick.C:
			n, err := r.Counts()
			if err != nil {
				return err
			}
			if n.Frames != last.Frames {
				fmt.Fprintf(c.out, "%d frame/s\n", n.Frames-last.Frames)
			}
			last = n
		}
	}
}

func reflectPort(ctx context.Context, c cli, o *reflectOptions) error {
	p, err := port.OpenRaw(o.in)
	if err != nil {
		return err
	}
	defer p.Close()
	fmt.Fprintf(c.out, "reflecting on %s in user space; Ctrl-C stops\n", p.Info().Name)
	n, err := reflect.Serve(ctx, p, o.any)
	fmt.Fprintf(c.out, "%d frames, %d bytes sent back; %d others passed to the stack\n", n.Frames, n.Bytes, n.Foreign)
	return err
}
