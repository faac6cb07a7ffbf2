package main

import (
	"context"
	"crypto/rsa"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"os"
	"strconv"
	"sync"
	"time"

	"github.com/spf13/cobra"

	wire "github.com/linerate/linerate/internal/wire/iperf3"
	"github.com/linerate/linerate/internal/workload/stream/iperf3"
	"github.com/linerate/linerate/internal/workload/stream/netperf"
)

type serveStreamOptions struct {
	bind        string
	port        int
	netperfPort int
	one, quiet  bool
	limit       int
	maxDuration time.Duration
	maxRate     string
	key, users  string
	skew        time.Duration
	passphrase  string
}

func newServeStream(c cli) *cobra.Command {
	o := &serveStreamOptions{}
	cmd := &cobra.Command{
		Use:   "stream",
		Short: "Answer stream benches: linerate's own, iperf3's and netperf's",
		Long: "Answers 'linerate bench tcp|udp', iperf3 -c (3.1 and later) and netperf (2.6 and later), several\n" +
			"clients at once. It runs until interrupted.",
		Example: "  linerate serve stream\n  linerate serve stream --one --limit 1   # as iperf3 -s -1",
		Args:    noArgs,
	}
	f := cmd.Flags()
	f.StringVarP(&o.bind, "bind", "B", "", "listen on `ADDRESS` only")
	f.IntVarP(&o.port, "port", "p", wire.Port, "iperf3 port, TCP and UDP; 0 takes a free one, -1 none")
	f.IntVar(&o.netperfPort, "netperf-port", netperf.Port, "netperf control port; 0 takes a free one, -1 none")
	f.BoolVarP(&o.one, "one", "1", false, "end after one test")
	f.IntVar(&o.limit, "limit", 16, "tests at once; a client beyond it is told that the server is busy")
	f.DurationVar(&o.maxDuration, "max-duration", 0, "refuse longer tests")
	f.StringVar(&o.maxRate, "max-rate", "", "refuse tests that do not stay below `RATE`")
	f.StringVar(&o.key, "rsa-private-key", "", "ask iperf3 clients for authentication; `FILE` has the key, not encrypted")
	f.StringVar(&o.users, "authorized-users", "", "`FILE` with lines user,sha256 of {user}password")
	f.DurationVar(&o.skew, "time-skew", 10*time.Second, "greatest difference of clocks in authentication")
	f.StringVar(&o.passphrase, "passphrase", "", "ask netperf clients for a passphrase (their -Z)")
	f.BoolVarP(&o.quiet, "quiet", "q", false, "do not print what each test measured")
	cmd.RunE = func(cmd *cobra.Command, _ []string) error { return o.run(cmd.Context(), c) }
	return cmd
}

// server is one protocol's listener.
type server interface {
	Listen(ctx context.Context, addr string) (net.Addr, error)
	Serve(ctx context.Context) error
}

func (o *serveStreamOptions) run(ctx context.Context, c cli) error {
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	log := slog.New(slog.NewTextHandler(c.err, nil))
	ip := &iperf3.Server{Limit: o.limit, MaxDuration: o.maxDuration, Skew: o.skew, Log: log}
	np := &netperf.Server{Limit: o.limit, MaxDuration: o.maxDuration, Passphrase: o.passphrase, Log: log}
	if err := rate("--max-rate", o.maxRate, func(v float64) { ip.MaxRate = v }); err != nil {
		return err
	}
	if err := o.authenticate(ip); err != nil {
		return err
	}
	var print sync.Mutex
	ip.Finished = func(f iperf3.Finished) {
		print.Lock()
		defer print.Unlock()
		if !o.quiet && f.Outcome.Group != nil {
			fmt.Fprintf(c.out, "%s iperf3 %s %s\n%s", f.Client, f.Test.Kind(), f.Test.Direction, f.Outcome.Text())
		}
		if o.one {
			stop()
		}
	}
	np.Finished = func(f netperf.Finished) {
		print.Lock()
		defer print.Unlock()
		if !o.quiet {
			fmt.Fprintf(c.out, "%s netperf %s\n", f.Client, f.Text())
		}
		if o.one {
			stop()
		}
	}
	return o.serve(ctx, c, map[string]server{"iperf3": ip, "netperf": np}, map[string]int{"iperf3": o.port, "netperf": o.netperfPort})
}

// serve opens every port before it answers on any.
func (o *serveStreamOptions) serve(ctx context.Context, c cli, servers map[string]server, ports map[string]int) error {
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	var open []server
	for _, name := range []string{"iperf3", "netperf"} {
		if ports[name] < 0 {
			continue
		}
		a, err := servers[name].Listen(ctx, net.JoinHostPort(o.bind, strconv.Itoa(ports[name])))
		if err != nil {
			return err
		}
		fmt.Fprintf(c.out, "listening for %s on %s\n", name, a)
		open = append(open, servers[name])
	}
	if len(open) == 0 {
		return usagef("--port and --netperf-port are both off")
	}
	errs := make(chan error, len(open))
	for _, s := range open {
		go func() { errs <- s.Serve(ctx) }()
	}
	err := <-errs
	stop()
	for range open[1:] {
		err = errors.Join(err, <-errs)
	}
	return err
}

// authenticate reads the key and the users.
func (o *serveStreamOptions) authenticate(s *iperf3.Server) error {
	if (o.key == "") != (o.users == "") {
		return usagef("--rsa-private-key and --authorized-users go together")
	}
	if o.key == "" {
		return nil
	}
	users, err := os.ReadFile(o.users)
	if err != nil {
		return err
	}
	if s.Users, err = wire.ParseUsers(string(users)); err != nil {
		return fmt.Errorf("%s: %w", o.users, err)
	}
	s.Key, err = privateKey(o.key)
	return err
}

// privateKey reads an RSA key in PEM, PKCS #1 or #8.
func privateKey(file string) (*rsa.PrivateKey, error) {
	b, err := os.ReadFile(file)
	if err != nil {
		return nil, err
	}
	block, _ := pem.Decode(b)
	if block == nil {
		return nil, usagef("%s: no PEM block", file)
	}
	if k, err := x509.ParsePKCS1PrivateKey(block.Bytes); err == nil {
		return k, nil
	}
	k, err := x509.ParsePKCS8PrivateKey(block.Bytes)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", file, err)
	}
	key, ok := k.(*rsa.PrivateKey)
	if !ok {
		return nil, usagef("%s: a %T, want an RSA key", file, k)
	}
	return key, nil
}
