// Package ftp is an FTP and FTPS server engine: RFC 959 with the extensions of
// RFC 1123, 2228, 2389, 2428, 2640, 3659, 4217 and 7151. A session is one
// goroutine that reads commands; while a transfer runs in it, a second one
// watches the control connection, so that ABOR and STAT are answered at once.
package ftp

import (
	"cmp"
	"context"
	"crypto/tls"
	"log/slog"
	"net/netip"
	"sync"
	"sync/atomic"
	"time"

	"github.com/linerate/linerate/internal/serve/ftp/data"
	"github.com/linerate/linerate/internal/serve/ftp/store"
	"github.com/linerate/linerate/internal/serve/ftp/users"
	"github.com/linerate/linerate/result"
)

// Authenticator decides who may log in. Its errors wrap users.ErrRefused for
// wrong credentials and users.ErrThrottled for too many attempts.
type Authenticator interface {
	Login(ctx context.Context, user, password string, peer netip.Addr) (users.Account, error)
}

// Config says what a Server serves and how. The zero value of every field but
// Users and Store is usable.
type Config struct {
	Users  Authenticator
	Store  func(users.Account) (store.Store, error) // what a user sees; the server doesn't close it
	Banner string                                   // text of the 220 greeting

	TLS          *tls.Config // nil: AUTH is refused
	RequireTLS   bool        // no login and no data in clear
	RequireReuse bool        // a data connection must resume the TLS session of its control connection

	Ports     PortRange  // for passive mode; zero: any
	Advertise netip.Addr // address in the reply to PASV, where NAT hides ours
	NoActive  bool       // refuse PORT and EPRT

	Network  Network // of data connections; nil: this host's
	Timeouts Timeouts
	Limits   Limits
	Knobs    data.Knobs // of the data path; each is shown in the Result

	Log     *slog.Logger         // access log; nil discards
	Xferlog *Xferlog             // nil: none
	Done    func(*result.Result) // gets the Result of every transfer; nil: none
}

// Timeouts bound every wait for the peer. Zero means the default in brackets.
type Timeouts struct {
	Login   time.Duration // from connecting to being logged in (60 s)
	Idle    time.Duration // between commands (5 min)
	Connect time.Duration // until a data connection stands, its TLS included (30 s)
	Stall   time.Duration // without a byte moving on a data connection (60 s)
	Reply   time.Duration // for the peer to take a reply (30 s)
}

func (t Timeouts) orDefault() Timeouts {
	return Timeouts{
		Login: cmp.Or(t.Login, time.Minute), Idle: cmp.Or(t.Idle, 5*time.Minute), Connect: cmp.Or(t.Connect, 30*time.Second),
		Stall: cmp.Or(t.Stall, time.Minute), Reply: cmp.Or(t.Reply, 30*time.Second),
	}
}

// Limits bound what peers can take. Zero means no limit.
type Limits struct {
	Sessions   int // control connections
	PerAddress int // control connections of one peer address
}

// Server serves FTP until it is shut down.
type Server struct {
	cfg      Config
	log      *slog.Logger
	commands map[string]command
	ports    portPool
	counters counters
	buffers  sync.Pool // of *[]byte, for replies
	threads  *data.Threads

	users  atomic.Pointer[Authenticator]
	nextID atomic.Int64

	mu       sync.Mutex
	draining bool
	sessions map[*session]struct{}
	perPeer  map[netip.Addr]int
	perUser  map[string]*userState
	idle     *sync.Cond // signalled when a session ends
}

// waitingThreads is how many transfers at a time may each have a thread: more
// streams than fill any link, and fewer than anybody notices.
const waitingThreads = 64

// New returns a Server for cfg.
func New(cfg Config) *Server {
	cfg.Timeouts = cfg.Timeouts.orDefault()
	cfg.Banner = cmp.Or(cfg.Banner, "linerate FTP server ready")
	if cfg.Log == nil {
		cfg.Log = slog.New(slog.DiscardHandler)
	}
	if cfg.Network == nil {
		cfg.Network = hostNetwork{cfg.Knobs}
	}
	s := &Server{
		cfg: cfg, log: cfg.Log, commands: commandTable(), ports: portPool{PortRange: cfg.Ports, network: cfg.Network},
		buffers: sync.Pool{New: func() any { b := make([]byte, 0, 512); return &b }},
		threads: data.NewThreads(waitingThreads), sessions: map[*session]struct{}{}, perPeer: map[netip.Addr]int{}, perUser: map[string]*userState{},
	}
	s.idle = sync.NewCond(&s.mu)
	s.SetUsers(cfg.Users)
	return s
}

// SetUsers replaces who may log in; sessions that are logged in stay.
func (s *Server) SetUsers(a Authenticator) { s.users.Store(&a) }

// userState is what the sessions of one user share.
type userState struct {
	sessions int
	limit    *data.Limiter // nil: no limit
	rate     int64
}

// admit enters a session, or says with which reason it is refused.
func (s *Server) admit(x *session) (reason string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	l := s.cfg.Limits
	switch {
	case s.draining:
		return refusedDraining
	case l.Sessions > 0 && len(s.sessions) >= l.Sessions:
		return refusedSessions
	case l.PerAddress > 0 && s.perPeer[x.peer] >= l.PerAddress:
		return refusedAddress
	}
	s.sessions[x] = struct{}{}
	s.perPeer[x.peer]++
	return ""
}

// release undoes admit and login.
func (s *Server) release(x *session) {
	s.logout(x)
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.sessions, x)
	if s.perPeer[x.peer]--; s.perPeer[x.peer] == 0 {
		delete(s.perPeer, x.peer)
	}
	s.idle.Broadcast()
}

// login counts a session towards its user's limit and returns the pace that
// all of the user's transfers share.
func (s *Server) login(a users.Account) (limit *data.Limiter, ok bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	u := s.perUser[a.Name]
	if u == nil {
		u = &userState{}
		s.perUser[a.Name] = u
	}
	if a.Sessions > 0 && u.sessions >= a.Sessions {
		return nil, false
	}
	if u.rate != a.Rate {
		u.rate, u.limit = a.Rate, nil
		if a.Rate > 0 {
			u.limit = data.NewLimiter(a.Rate)
		}
	}
	u.sessions++
	return u.limit, true
}

func (s *Server) logout(x *session) {
	if !x.loggedIn {
		return
	}
	x.loggedIn = false
	s.mu.Lock()
	defer s.mu.Unlock()
	u := s.perUser[x.account.Name]
	if u.sessions--; u.sessions == 0 {
		delete(s.perUser, x.account.Name)
	}
}
