package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"

	"github.com/linerate/linerate/internal/serve/ftp"
	"github.com/linerate/linerate/internal/serve/netstack"
)

// openStack makes the user-space stack, if it was asked for. The buffers of the
// FTP server's knobs are the stack's there.
func (s *ftpService) openStack(c cli, cfg *ftp.Config) error {
	used, err := s.o.user.used()
	if err != nil || !used {
		return err
	}
	if s.o.users == "" && s.o.dir != "" {
		return usagef(`everyone on %s could log in and read %s. Make a login:
  linerate serve ftp passwd alice >> users, and add --users users`, s.o.user.port, s.o.dir)
	}
	s.o.user.knobs.TransmitBuffer, s.o.user.knobs.ReceiveBuffer = cfg.Knobs.SendBuffer, cfg.Knobs.ReceiveBuffer
	if s.stack, err = s.o.user.open(); err != nil {
		return err
	}
	cfg.Network = stackNetwork{s.stack}
	fmt.Fprintf(c.err, "user stack %s on %s\n", s.stack.Addresses(), s.stack.Card().Info().Name)
	if s.o.users == "" {
		fmt.Fprintln(c.err, "no --users: login user/password, for everyone on that wire")
	}
	return nil
}

// listenOnStack listens on port 21 of every address of the stack unless
// --listen names others.
func (o *serveFTPOptions) listenOnStack(user *netstack.Stack) (all []ftpListener, err error) {
	addresses := o.listen
	if !o.listenSet {
		addresses = []string{":21"}
	}
	for implicit, list := range map[bool][]string{false: addresses, true: o.implicit} {
		for _, a := range list {
			l, err := user.Listen(context.Background(), "tcp", a)
			if err != nil {
				return all, fmt.Errorf("--listen %s: %w", a, err)
			}
			all = append(all, ftpListener{l, implicit})
		}
	}
	return all, nil
}

// runStack drives the stack until stop is called, which closes it and prints
// what its card did.
func (s *ftpService) runStack(ctx context.Context, c cli, log *slog.Logger) (stop func()) {
	ctx, cancel := context.WithCancel(ctx)
	done := make(chan struct{})
	go func() {
		defer close(done)
		if err := s.stack.Run(ctx); err != nil {
			log.Error("user stack", "err", err)
		}
	}()
	return func() {
		cancel()
		<-done
		err := writeCard(context.WithoutCancel(ctx), c.err, s.stack)
		if err := errors.Join(err, s.stack.Close()); err != nil {
			log.Error("user stack", "err", err)
		}
	}
}
