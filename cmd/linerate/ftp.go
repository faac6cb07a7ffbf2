package main

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"net"
	"os"
	"path/filepath"
	"runtime"
	"time"

	"github.com/spf13/cobra"
	"golang.org/x/term"

	"github.com/linerate/linerate/internal/serve/ftp/client"
)

// ftpFlags say how to reach an FTP server; get, put, ls and bench have them.
type ftpFlags struct {
	ca               string
	insecure, active bool
	timeout          time.Duration
	verbose          bool
}

func addFTP(cmd *cobra.Command) *ftpFlags {
	o := &ftpFlags{}
	f := cmd.Flags()
	f.StringVar(&o.ca, "ca", "", "trust the certificate authorities in `FILE` (PEM) for TLS")
	f.BoolVar(&o.insecure, "insecure", false, "accept any certificate")
	f.BoolVar(&o.active, "active", false, "let the server connect to us for data (PORT, EPRT)")
	f.DurationVar(&o.timeout, "timeout", client.DefaultTimeout, "give up on a server that is silent for so long")
	f.BoolVarP(&o.verbose, "verbose", "v", false, "show the dialogue with the server")
	return o
}

// config makes the client's configuration for a URL.
func (o *ftpFlags) config(c cli, rawURL string) (client.Config, error) {
	where, err := client.ParseURL(rawURL)
	if err != nil {
		return client.Config{}, usagef("%v", err)
	}
	cfg := client.Config{Location: where, Active: o.active, Timeout: o.timeout, Log: o.logger(c)}
	if err := account(c, &cfg.Location); err != nil {
		return cfg, err
	}
	cfg.TLS, err = o.tls()
	return cfg, err
}

func (o *ftpFlags) logger(c cli) *slog.Logger {
	level := slog.LevelWarn
	if o.verbose {
		level = slog.LevelDebug
	}
	out := c.err
	if isTerminal(out) && !o.verbose {
		out = besideProgress{out}
	}
	return slog.New(slog.NewTextHandler(out, &slog.HandlerOptions{Level: level, ReplaceAttr: func(_ []string, a slog.Attr) slog.Attr {
		if a.Key == slog.TimeKey {
			return slog.Attr{}
		}
		return a
	}}))
}

func (o *ftpFlags) tls() (*tls.Config, error) {
	conf := &tls.Config{InsecureSkipVerify: o.insecure}
	if o.ca == "" {
		return conf, nil
	}
	pem, err := os.ReadFile(o.ca)
	if err != nil {
		return nil, fmt.Errorf("--ca: %w", err)
	}
	conf.RootCAs = x509.NewCertPool()
	if !conf.RootCAs.AppendCertsFromPEM(pem) {
		return nil, usagef("--ca %s: no certificate in PEM found", o.ca)
	}
	return conf, nil
}

// account completes user and password: from .netrc where the URL has no user,
// by asking at the terminal where it has a user but no password.
func account(c cli, l *client.Location) error {
	if l.User == "" {
		return fromNetrc(l)
	}
	in, ok := c.in.(*os.File)
	if l.Password != "" || l.User == "anonymous" || l.User == "ftp" || !ok || !term.IsTerminal(int(in.Fd())) {
		return nil
	}
	fmt.Fprintf(c.err, "Password of %s at %s: ", l.User, l.Host)
	password, err := term.ReadPassword(int(in.Fd()))
	fmt.Fprintln(c.err)
	if err != nil {
		return fmt.Errorf("read the password: %w", err)
	}
	l.Password = string(password)
	return nil
}

func fromNetrc(l *client.Location) error {
	name := os.Getenv("NETRC")
	if name == "" {
		home, err := os.UserHomeDir()
		if err != nil {
			return nil // a system without homes has no .netrc
		}
		name = filepath.Join(home, map[bool]string{true: "_netrc", false: ".netrc"}[runtime.GOOS == "windows"])
	}
	f, err := os.Open(name)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	defer f.Close()
	host, _, err := net.SplitHostPort(l.Host)
	if err != nil {
		return err
	}
	user, password, found, err := client.Netrc(f, host)
	if err == nil && found {
		l.User, l.Password = user, password
	}
	return err
}
