// Package client is the user side of FTP and FTPS: it speaks to servers as
// they are found, on boards too, and moves files at the kernel's pace.
//
// A Conn is one control connection; it runs one command or transfer at a time.
// Jobs that need several (package mirror, the bench) open several.
package client

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/netip"
	"strings"
	"time"

	"github.com/linerate/linerate/internal/serve/ftp/data"
	"github.com/linerate/linerate/internal/wire/ftp"
)

// DefaultTimeout is how long a server may stay silent: connecting, answering
// and moving data.
const DefaultTimeout = 30 * time.Second

// Config says how to reach a server. Only Location is needed.
type Config struct {
	Location
	TLS     *tls.Config   // roots and checks; nil means the system's
	Active  bool          // the server connects to us (PORT, EPRT) instead of we to it
	Timeout time.Duration // 0 means DefaultTimeout
	Network Network       // of control and data connections; nil means the host's
	// Watch, if set, is shown each data connection before it carries payload,
	// beneath TLS; what it returns is called before the connection is closed.
	Watch func(net.Conn) (stop func())
	Log   *slog.Logger // the dialogue at level Debug, oddities at Warn; nil means silence
}

// Network connects to a server and, in active mode, is connected to by it.
type Network interface {
	DialContext(ctx context.Context, network, address string) (net.Conn, error)
	Listen(ctx context.Context, network, address string) (net.Listener, error)
}

// host is the network of the system.
type host struct {
	net.Dialer
	net.ListenConfig
}

// Conn is a logged-in control connection. It isn't safe for concurrent use.
type Conn struct {
	cfg      Config
	tcp      net.Conn // beneath TLS
	ctl      net.Conn
	lines    ftp.LineDecoder
	unread   []byte
	features map[string]string // arguments by name, in upper case
	tls      *tls.Config       // shared by control and data connections, so that sessions are resumed; nil before TLS
	private  bool              // data connections are protected (PROT P)
	odd      oddities
	broken   error // set once the dialogue is out of step; the Conn is of no more use
}

// oddities remembers what a server refused, so that it is asked once.
type oddities struct {
	noEPSV, noPASV, noMLSD, noALLO bool
}

// Dial connects, protects the connection where the URL asks for it, and logs
// in. The account is anonymous where the location names none.
func Dial(ctx context.Context, cfg Config) (*Conn, error) {
	if cfg.Timeout <= 0 {
		cfg.Timeout = DefaultTimeout
	}
	if cfg.Log == nil {
		cfg.Log = slog.New(slog.DiscardHandler)
	}
	if cfg.Network == nil {
		cfg.Network = &host{}
	}
	if cfg.User == "" {
		cfg.User, cfg.Password = "anonymous", "anonymous@" // RFC 1635 2
	}
	tcp, err := cfg.dial(ctx, cfg.Host)
	if err != nil {
		return nil, fmt.Errorf("ftp: %w", err)
	}
	c := &Conn{cfg: cfg, tcp: tcp, ctl: tcp, lines: ftp.LineDecoder{Max: ftp.MaxReplyLine}}
	if err := c.login(ctx); err != nil {
		_ = tcp.Close()
		return nil, fmt.Errorf("ftp: %s: %w", cfg.Host, err)
	}
	return c, nil
}

// dial connects within the timeout.
func (cfg *Config) dial(ctx context.Context, address string) (net.Conn, error) {
	ctx, cancel := context.WithTimeoutCause(ctx, cfg.Timeout, fmt.Errorf("no answer within %v: %w", cfg.Timeout, data.ErrStalled))
	defer cancel()
	conn, err := cfg.Network.DialContext(ctx, "tcp", address)
	if err != nil && ctx.Err() != nil {
		err = fmt.Errorf("connect to %s: %w", address, context.Cause(ctx))
	}
	return conn, err
}

// login brings a new connection to where commands work.
func (c *Conn) login(ctx context.Context) error {
	if c.cfg.Security == Implicit {
		if err := c.protect(ctx); err != nil {
			return err
		}
	}
	if r, err := c.finish(ctx, ftp.Command{Verb: "greeting"}, c.cfg.Timeout); err != nil {
		return err
	} else if !r.Completion() {
		return fmt.Errorf("greeting: %w", &ReplyError{r})
	}
	if c.cfg.Security == Explicit {
		if _, err := c.do(ctx, "AUTH", "TLS"); err != nil {
			return fmt.Errorf("%w; use ftp:// if the network is trusted", err)
		}
		if err := c.protect(ctx); err != nil {
			return err
		}
	}
	r, err := c.exchange(ctx, "USER", c.cfg.User)
	if err == nil && r.Code == 331 {
		r, err = c.exchange(ctx, "PASS", c.cfg.Password)
	}
	if err != nil {
		return err
	}
	if !r.Completion() {
		return fmt.Errorf("log in as %s: %w", c.cfg.User, &ReplyError{r})
	}
	return c.settle(ctx)
}

// settle asks what the server can do and sets what every transfer needs.
func (c *Conn) settle(ctx context.Context) error {
	r, err := c.exchange(ctx, "FEAT", "")
	if err != nil {
		return err
	}
	c.features = map[string]string{}
	for _, l := range r.Lines {
		if r.Code == 211 {
			name, arg, _ := strings.Cut(strings.TrimSpace(l), " ")
			c.features[strings.ToUpper(name)] = arg
		}
	}
	if c.Has("UTF8") { // RFC 2640; several servers want to be told
		if _, err := c.exchange(ctx, "OPTS", "UTF8 ON"); err != nil {
			return err
		}
	}
	if c.cfg.Security != Plain { // RFC 4217 9
		if _, err := c.do(ctx, "PBSZ", "0"); err != nil {
			return err
		}
		if _, err := c.do(ctx, "PROT", "P"); err != nil {
			return err
		}
		c.private = true
	}
	r, err = c.exchange(ctx, "TYPE", "I")
	if err == nil && !r.Completion() { // boards whose only type is image
		c.cfg.Log.Warn("server refuses TYPE I; going on", "reply", r.String())
	}
	return err
}

// Has reports whether FEAT named a feature, such as "MDTM".
func (c *Conn) Has(feature string) bool {
	_, ok := c.features[feature]
	return ok
}

// peer is the address of the server.
func (c *Conn) peer() netip.AddrPort { return addrPort(c.tcp.RemoteAddr()) }

func addrPort(a net.Addr) netip.AddrPort {
	if t, ok := a.(*net.TCPAddr); ok {
		p := t.AddrPort()
		return netip.AddrPortFrom(p.Addr().Unmap(), p.Port())
	}
	return netip.AddrPort{}
}

// Close says goodbye without waiting long for the answer.
func (c *Conn) Close() error {
	if c.broken == nil {
		ctx, cancel := context.WithTimeout(context.Background(), min(time.Second, c.cfg.Timeout))
		defer cancel()
		_, _ = c.exchange(ctx, "QUIT", "")
		c.broken = net.ErrClosed
	}
	err := c.ctl.Close()
	if c.ctl != c.tcp { // closing TLS fails where the peer went first
		err = c.tcp.Close()
	}
	if errors.Is(err, net.ErrClosed) {
		return nil
	}
	return err
}
