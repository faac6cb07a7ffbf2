package main

import (
	"bytes"
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"io"
	"net"

	"github.com/spf13/cobra"

	"github.com/linerate/linerate/internal/fleet"
	"github.com/linerate/linerate/result"
)

// farFlags say which agent is the other end.
type farFlags struct{ agent, identity string }

// addFar gives cmd the flags that reach the other end; what names what happens
// there.
func addFar(cmd *cobra.Command, what string) *farFlags {
	o := &farFlags{}
	f := cmd.Flags()
	f.StringVar(&o.agent, "agent", "", what+" the other end through the 'linerate agent' at `HOST[:PORT]`")
	f.StringVar(&o.identity, "identity", identityDir(), "`DIR` of this end's key and the peers it trusts")
	return o
}

func (o *farFlags) given() bool { return o != nil && o.agent != "" }

// farEnd is the other end of the link, through its agent.
type farEnd struct{ *fleet.Client }

// open begins a session; nothing at the other end outlives it unless asked to.
func (o *farFlags) open(ctx context.Context) (*farEnd, error) {
	opts, err := seatOptions(o.identity)
	if err != nil {
		return nil, err
	}
	c, err := fleet.Dial(ctx, withPort(o.agent, fleet.Port), opts)
	if err != nil {
		return nil, err
	}
	return &farEnd{c}, nil
}

func seatOptions(identity string) (fleet.Options, error) {
	id, err := fleet.LoadIdentity(identity)
	return fleet.Options{Identity: id, Store: fleet.OpenStore(identity)}, err
}

// snapshot writes the tar of the other end to w.
func (f *farEnd) snapshot(ctx context.Context, w io.Writer) (gaps int, err error) {
	s, err := fleet.Call[recording](ctx, f.Client, "snapshot", fleet.Nothing{})
	if err != nil {
		return 0, err
	}
	z, err := gzip.NewReader(bytes.NewReader(s.Archive))
	if err != nil {
		return 0, fmt.Errorf("%s: snapshot: %w", f.Peer.Name, err)
	}
	const most = 256 << 20 // as host.Read takes
	n, err := io.Copy(w, io.LimitReader(z, most+1))
	if err == nil && n > most {
		err = errors.New("too large")
	}
	return s.Gaps, err
}

// describe makes an end of a Result of the other end. address is one of its
// own, or "" for the one this session runs to.
func (f *farEnd) describe(ctx context.Context, role, address string, interfaces ...string) (result.End, description, error) {
	if address == "" && len(interfaces) == 0 {
		address, _ = addressOf(f.Local) // by the route towards us
	}
	d, err := fleet.Call[description](ctx, f.Client, "describe", describeAsk{Interfaces: interfaces, Address: address})
	return result.End{Role: role, Host: d.Host, Facts: d.Facts, Settings: d.Settings}, d, err
}

// streams has the other end serve benches for as long as the session lasts, and
// returns the address of each dialect's server at host.
func (f *farEnd) streams(ctx context.Context, host string) (map[string]string, error) {
	p, err := fleet.Call[streamPorts](ctx, f.Client, "stream", fleet.Nothing{})
	if err != nil {
		return nil, err
	}
	at := func(port uint16) string { return net.JoinHostPort(host, fmt.Sprint(port)) }
	return map[string]string{"iperf3": at(p.IPerf3), "netperf": at(p.Netperf)}, nil
}
