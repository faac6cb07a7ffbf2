package main

import (
	"crypto/tls"
	"fmt"
	"log/slog"
	"net/http"
	"os"
	"path/filepath"

	measure "github.com/linerate/linerate/internal/run"
	"github.com/linerate/linerate/internal/serve/ftp"
	"github.com/linerate/linerate/internal/serve/ftp/users"
	"github.com/linerate/linerate/internal/serve/netstack"
	"github.com/linerate/linerate/result"
)

// ftpService is a server with all that belongs to it.
type ftpService struct {
	o         *serveFTPOptions
	server    *ftp.Server
	listeners []ftpListener
	cert      *certificate // nil: no TLS
	throttle  *users.Throttle
	stores    *ftpStores
	stack     *netstack.Stack // nil: the kernel's
	closers   []func() error
}

func (s *ftpService) close() {
	for _, l := range s.listeners {
		l.Close()
	}
	for _, f := range s.closers {
		f()
	}
}

// open makes the service and opens its listeners, but serves nothing yet.
func (o *serveFTPOptions) open(c cli, log *slog.Logger) (_ *ftpService, err error) {
	s := &ftpService{o: o, throttle: users.NewThrottle()}
	defer func() {
		if err != nil {
			s.close()
		}
	}()
	cfg := o.server
	cfg.Log, cfg.Knobs = log, o.knobs()
	if cfg.Ports, err = o.portRange(); err != nil {
		return nil, err
	}
	if cfg.Advertise, err = o.advertised(); err != nil {
		return nil, err
	}
	if s.cert, err = o.certificate(c); err != nil {
		return nil, err
	}
	if s.cert != nil {
		cfg.TLS = &tls.Config{GetCertificate: s.cert.get, MinVersion: tls.VersionTLS12}
	} else if cfg.RequireTLS || cfg.RequireReuse || len(o.implicit) > 0 {
		return nil, usagef("TLS needs a certificate: --tls auto, or --cert and --key")
	}
	if cfg.Users, err = s.authenticator(c); err != nil {
		return nil, err
	}
	if s.stores, err = o.openStores(); err != nil {
		return nil, err
	}
	s.closers = append(s.closers, s.stores.close)
	cfg.Store = s.stores.of
	if err := s.openLogs(&cfg); err != nil {
		return nil, err
	}
	if err := s.openStack(c, &cfg); err != nil {
		return nil, err
	}
	if s.listeners, err = o.listenAll(s.stack); err != nil {
		return nil, err
	}
	s.server = ftp.New(cfg)
	return s, s.serveMetrics(c)
}

// authenticator returns who may log in.
func (s *ftpService) authenticator(c cli) (ftp.Authenticator, error) {
	if s.o.users == "" {
		if s.o.user.stack == "kernel" {
			fmt.Fprintln(c.err, "no --users: login user/password, from this host only")
		}
		return users.Fixed{Account: users.Account{Name: "user"}, Password: "password"}, nil
	}
	return s.loadUsers()
}

// loadUsers reads the users file.
func (s *ftpService) loadUsers() (*users.Directory, error) {
	d, err := users.Load(s.o.users, s.throttle)
	if err != nil {
		return nil, err
	}
	if s.o.dir != "" {
		return d, nil
	}
	for _, a := range d.Accounts() {
		if a.Root != "" || a.Quota != 0 {
			return nil, usagef("user %s has root= or quota=, which needs a DIR to serve", a.Name)
		}
	}
	return d, nil
}

// reload reads the users file and the certificate again.
func (s *ftpService) reload() error {
	if s.cert != nil {
		if err := s.cert.load(); err != nil {
			return err
		}
	}
	if s.o.users == "" {
		return nil
	}
	d, err := s.loadUsers()
	if err != nil {
		return err
	}
	s.server.SetUsers(d)
	return nil
}

// openLogs opens what each transfer is written to.
func (s *ftpService) openLogs(cfg *ftp.Config) error {
	if s.o.xferlog != "" {
		f, err := os.OpenFile(s.o.xferlog, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o640)
		if err != nil {
			return fmt.Errorf("--xferlog: %w", err)
		}
		s.closers = append(s.closers, f.Close)
		cfg.Xferlog = ftp.NewXferlog(f)
	}
	if dir := s.o.results; dir != "" {
		if err := os.MkdirAll(dir, 0o755); err != nil {
			return fmt.Errorf("--results: %w", err)
		}
		cfg.Done = func(r *result.Result) {
			if err := writeResult(filepath.Join(dir, r.ID+".json"), r); err != nil {
				cfg.Log.Error("--results", "err", err)
			}
		}
	}
	return nil
}

// serveMetrics serves /metrics beside the FTP server.
func (s *ftpService) serveMetrics(c cli) error {
	if s.o.metrics == "" {
		return nil
	}
	meters := []measure.Meter{s.server}
	var pages map[string]http.Handler
	if s.stack != nil {
		meters = append(meters, s.stack)
		pages = map[string]http.Handler{"/stack": stackPage{s.stack}}
	}
	l, err := listenMetrics(s.o.metrics, pages, meters...)
	if err != nil {
		return err
	}
	fmt.Fprintf(c.err, "serving http://%s/metrics\n", l.Addr())
	s.closers = append(s.closers, l.Close)
	return nil
}
