package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"os/signal"
	"sync"
	"syscall"
	"time"

	"github.com/spf13/cobra"

	"github.com/linerate/linerate/internal/serve/ftp"
	"github.com/linerate/linerate/internal/serve/ftp/data"
	"github.com/linerate/linerate/result"
)

func newServeFTP(c cli) *cobra.Command {
	o := &serveFTPOptions{}
	cmd := &cobra.Command{
		Use:   "ftp [DIR]",
		Short: "Serve files by FTP and FTPS",
		Long: `ftp serves directory DIR, or without one a store in memory, until it is interrupted.
Running transfers may then finish; SIGHUP reads the users file and the certificate again.

Without --users the login is user/password and only this host can reach it.
For measuring, every root also has /zero, whose files have the length that their
name says (get /zero/292MB), and /sink, which counts what is put there and drops
it (and hashes it below /sink/sha256). Listings of a DIR do not show them.`,
		Example: `  linerate serve ftp                                         memory, on 127.0.0.1:2121, user/password
  linerate serve ftp passwd alice >> users                   make a login
  linerate serve ftp /srv/files --users users --listen :21 --tls auto
  linerate serve ftp --data-buffer 512 --yield --send-buffer 8192   as a board is shipped
  linerate serve ftp --stack user --port tap:board0 --address 192.168.1.4/24   our own TCP/IP stack, as a board has`,
		Args: atMostOne("DIR"),
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) == 1 {
				o.dir = args[0]
			}
			o.listenSet = cmd.Flags().Changed("listen")
			return o.run(cmd.Context(), c)
		},
	}
	o.flags(cmd)
	cmd.AddCommand(newServeFTPPasswd(c))
	return cmd
}

// serveFTPOptions are the flags of serve ftp.
type serveFTPOptions struct {
	dir, users, memory string
	populate, readOnly bool

	listen, implicit, proxies []string
	listenSet                 bool // --listen was given
	ports, advertise          string

	tls, cert, key string

	server ftp.Config
	user   userStackOptions
	noCopy bool
	drain  time.Duration

	metrics, xferlog, results string
	verbose, jsonLog          bool
}

func (o *serveFTPOptions) flags(cmd *cobra.Command) {
	f := cmd.Flags()
	f.StringVar(&o.users, "users", "", "`FILE` of logins; see 'linerate serve ftp passwd --help'")
	f.StringVar(&o.memory, "memory", "512MiB", "`SIZE` of the store in memory")
	f.BoolVar(&o.populate, "populate", false, "take the store's memory from the system at the start, so that the first uploads are as fast as later ones")
	f.BoolVar(&o.readOnly, "read-only", false, "refuse everything that changes files")

	f.StringArrayVar(&o.listen, "listen", []string{"127.0.0.1:2121"}, "`ADDRESS` to listen on; may be repeated; systemd's sockets go first (user stack: :21)")
	f.StringArrayVar(&o.implicit, "implicit", nil, "`ADDRESS` to listen on with TLS from the start (port 990)")
	f.StringVar(&o.ports, "passive-ports", "", "`FIRST-LAST` port of passive data connections")
	f.StringVar(&o.advertise, "advertise", "", "`ADDRESS` told to passive clients, where NAT hides ours")
	f.BoolVar(&o.server.NoActive, "no-active", false, "refuse active mode")
	f.StringArrayVar(&o.proxies, "proxy-protocol", nil, "`NETWORK` of proxies whose PROXY header is believed and required")

	f.StringVar(&o.tls, "tls", "", "auto: make a self-signed certificate; off: even with --cert")
	f.StringVar(&o.cert, "cert", "", "`FILE` with the certificate chain (PEM)")
	f.StringVar(&o.key, "key", "", "`FILE` with its private key (PEM)")
	f.BoolVar(&o.server.RequireTLS, "require-tls", false, "refuse logins and data in clear")
	f.BoolVar(&o.server.RequireReuse, "tls-require-reuse", false, "data connections must resume the control connection's TLS session")

	t := &o.server.Timeouts
	f.DurationVar(&t.Login, "login-timeout", time.Minute, "from connecting to being logged in")
	f.DurationVar(&t.Idle, "idle-timeout", 5*time.Minute, "between commands")
	f.DurationVar(&t.Connect, "connect-timeout", 30*time.Second, "until a data connection stands")
	f.DurationVar(&t.Stall, "stall-timeout", time.Minute, "without a byte moving in a transfer")
	f.DurationVar(&o.drain, "drain", 30*time.Second, "for running transfers to finish at the end")
	f.IntVar(&o.server.Limits.Sessions, "max-sessions", 0, "sessions at a time (0: no limit)")
	f.IntVar(&o.server.Limits.PerAddress, "max-per-address", 0, "sessions at a time of one address (0: no limit)")

	k := &o.server.Knobs
	f.Var(sizeFlag{&k.SendSize}, "data-buffer", "`BYTES` per send")
	f.BoolVar(&k.Yield, "yield", false, "give up the processor after every send")
	f.Var(sizeFlag{&k.SendBuffer}, "send-buffer", "`BYTES` of the TCP send buffer (default: tuned by the kernel)")
	f.Var(sizeFlag{&k.ReceiveBuffer}, "receive-buffer", "`BYTES` of the TCP receive buffer (default: tuned by the kernel)")
	f.Var(sizeFlag{&k.ReceiveLimit}, "receive-limit", "most `BYTES` taken by one receive")
	f.BoolVar(&o.noCopy, "no-copy", true, "let the kernel move data without a copy where it can")
	f.StringVar(&k.Congestion, "congestion", "", "congestion control `ALGORITHM` (default: the host's)")

	f.StringVar(&o.metrics, "metrics", "", "`ADDRESS` to serve Prometheus /metrics on")
	f.StringVar(&o.xferlog, "xferlog", "", "`FILE` to append a line a transfer to, as wu-ftpd does")
	f.StringVar(&o.results, "results", "", "`DIR` to write the result of each transfer to")
	f.BoolVarP(&o.verbose, "verbose", "v", false, "log every command")
	f.BoolVar(&o.jsonLog, "log-json", false, "log in JSON")
	o.user.flags(cmd)
}

// sizeFlag is a flag of bytes, "65536" or "64KiB".
type sizeFlag struct{ n *int }

func (f sizeFlag) String() string {
	if f.n == nil || *f.n == 0 {
		return ""
	}
	return fmt.Sprint(*f.n)
}
func (f sizeFlag) Type() string { return "bytes" }
func (f sizeFlag) Set(s string) error {
	v, err := result.ParseSize(s)
	if err == nil && v > 1<<30 {
		err = errors.New("more than 1 GiB")
	}
	*f.n = int(v)
	return err
}

// run serves until ctx ends, and then drains.
func (o *serveFTPOptions) run(ctx context.Context, c cli) error {
	log := o.logger(c)
	s, err := o.open(c, log)
	if err != nil {
		return err
	}
	defer s.close()

	serving := context.WithoutCancel(ctx) // sessions outlive the signal, for Shutdown to end
	var listeners sync.WaitGroup
	if s.stack != nil {
		stop := s.runStack(serving, c, log)
		defer stop()
	}
	for _, l := range s.listeners {
		fmt.Fprintln(c.err, "serving", l)
		listeners.Go(func() {
			if err := s.server.Serve(serving, l.Listener, l.implicit); err != nil {
				log.Error("serve", "listener", l.Addr(), "err", err)
			}
		})
	}
	hup := make(chan os.Signal, 1)
	signal.Notify(hup, syscall.SIGHUP)
	defer signal.Stop(hup)
	for {
		select {
		case <-hup:
			if err := s.reload(); err != nil {
				log.Error("reload; the old settings stay", "err", err)
			} else {
				log.Info("reloaded")
			}
			continue
		case <-ctx.Done():
		}
		break
	}
	for _, l := range s.listeners {
		l.Close()
	}
	// A second signal ends the wait.
	drain, stop := signal.NotifyContext(serving, os.Interrupt, syscall.SIGTERM)
	defer stop()
	drain, cancel := context.WithTimeout(drain, o.drain)
	defer cancel()
	if err := s.server.Shutdown(drain); err != nil {
		log.Warn("transfers were cut off", "err", err)
	}
	listeners.Wait()
	return nil
}

func (o *serveFTPOptions) logger(c cli) *slog.Logger {
	level := slog.LevelInfo
	if o.verbose {
		level = slog.LevelDebug
	}
	opt := &slog.HandlerOptions{Level: level}
	if o.jsonLog {
		return slog.New(slog.NewJSONHandler(c.err, opt))
	}
	return slog.New(slog.NewTextHandler(c.err, opt))
}

// knobs returns the settings of the data path.
func (o *serveFTPOptions) knobs() data.Knobs {
	k := o.server.Knobs
	k.Copy = !o.noCopy
	return k
}

// atMostOne takes no argument or one.
func atMostOne(name string) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		if len(args) > 1 {
			return usagef("%s takes one %s; see '%s --help'", cmd.CommandPath(), name, cmd.CommandPath())
		}
		return nil
	}
}
