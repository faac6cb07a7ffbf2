package gateway

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"time"

	"golang.org/x/sys/unix"
)

// errDown is the cause of the context of a gateway that was told to end.
var errDown = errors.New("told to go down")

// Serve runs the gateway and answers Show, Renew and Down, until ctx ends.
func (g *Gateway) Serve(ctx context.Context) error {
	l, err := (&net.ListenConfig{}).Listen(ctx, "unix", controlName)
	if err != nil {
		return fmt.Errorf("ipsec: another gateway is up in this network namespace: %w", err)
	}
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	go func() {
		<-ctx.Done()
		l.Close()
	}()
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			if g.answer(ctx, c) {
				cancel(errDown)
			}
		}
	}()
	err = g.Run(ctx)
	if errors.Is(err, errDown) {
		return nil
	}
	return err
}

// answer answers one request and reports whether it was to go down.
func (g *Gateway) answer(ctx context.Context, c net.Conn) (down bool) {
	defer c.Close()
	_ = c.SetDeadline(time.Now().Add(controlTime))
	var q request
	var a answer
	if err := allowed(c); err != nil {
		a.Error = err.Error()
	} else if err := json.NewDecoder(io.LimitReader(c, 64<<10)).Decode(&q); err != nil {
		a.Error = fmt.Sprintf("ipsec: request: %v", err)
	} else {
		switch q.Do {
		case "show":
			s := g.Status(ctx)
			a.Status = &s
		case "replace":
			if err := g.Replace(q.File); err != nil {
				a.Error = err.Error()
			}
		case "down":
			down = true
		default:
			a.Error = "ipsec: unknown request"
		}
	}
	_ = json.NewEncoder(c).Encode(a)
	return down
}

// allowed lets root in, and whoever runs the gateway.
func allowed(c net.Conn) error {
	u, ok := c.(*net.UnixConn)
	if !ok {
		return errors.New("ipsec: not a local socket")
	}
	raw, err := u.SyscallConn()
	if err != nil {
		return err
	}
	var peer *unix.Ucred
	if cerr := raw.Control(func(fd uintptr) { peer, err = unix.GetsockoptUcred(int(fd), unix.SOL_SOCKET, unix.SO_PEERCRED) }); cerr != nil || err != nil {
		return errors.Join(cerr, err)
	}
	if peer.Uid != 0 && int(peer.Uid) != os.Geteuid() {
		return errors.New("ipsec: only root may ask the gateway")
	}
	return nil
}
