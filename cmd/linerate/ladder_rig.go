package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"net/netip"
	"runtime"
	"sync/atomic"

	"github.com/linerate/linerate/internal/host"
	"github.com/linerate/linerate/internal/serve/ftp/data"
	"github.com/linerate/linerate/internal/serve/ftp/users"
	"github.com/linerate/linerate/internal/testnet"
	"github.com/linerate/linerate/internal/wire/frame"
)

// ladderRig is where the climb takes place: two namespaces joined by a link,
// or this host's loopback.
type ladderRig struct {
	self           string // the program that serves
	login          string // a line of its users file; empty over loopback, where the server needs none
	client, server *testnet.Namespace
	link           *testnet.Link // client at A, server at B; nil over loopback
	host           host.Host     // as the server's network sees it; nil where this system has no meters
	address        netip.Addr    // of the server
	rate           float64       // of the link in bit/s; 0: it has none of its own
	why            string        // there are no namespaces; empty: there are
	closers        []func()
}

// newLadderRig joins two namespaces by a link of the rate asked for, or falls
// back to loopback where it may not and no rate is.
func newLadderRig(o ladderOptions) (*ladderRig, error) {
	r := &ladderRig{self: o.self}
	err := errors.New("loopback was asked for")
	if !o.loopback {
		if err = r.join(o.rate); err == nil && o.user {
			err = r.pin()
		}
		if err == nil {
			return r, nil
		}
		r.Close()
	}
	switch {
	case !errors.Is(err, fs.ErrPermission) && !errors.Is(err, errors.ErrUnsupported) && !o.loopback:
		return nil, err
	case o.user:
		return nil, fmt.Errorf("--stack user needs network namespaces: %w here: %w; run as root on Linux", errors.ErrUnsupported, err)
	case o.rate > 0:
		return nil, fmt.Errorf("--rate shapes a link between network namespaces: %w here: %w; run as root on Linux", errors.ErrUnsupported, err)
	}
	here := testnet.Host()
	r = &ladderRig{self: o.self, client: here, server: here, address: netip.AddrFrom4([4]byte{127, 0, 0, 1}), why: err.Error(), closers: []func(){here.Close}}
	if h, err := host.Live(); err == nil {
		r.host = h
	}
	return r, nil
}

func (r *ladderRig) join(rate float64) (err error) {
	for _, n := range []struct {
		name string
		to   **testnet.Namespace
	}{{"client", &r.client}, {"server", &r.server}} {
		if *n.to, err = testnet.New(n.name); err != nil {
			return err
		}
		r.closers = append(r.closers, (*n.to).Close)
	}
	if r.link, err = testnet.Connect(r.client, r.server, testnet.LinkOptions{}); err != nil {
		return err
	}
	r.address = r.link.B.IPv4.Addr()
	r.login = ladderUser + ":" + users.Hash(ladderPassword)
	inside, err := host.LiveIn(r.server.Do)
	if err != nil {
		return err
	}
	r.host = inside
	r.closers = append(r.closers, func() { inside.Close() })
	if rate > 0 {
		r.rate = rate
		return errors.Join(r.link.A.Shape(rate), r.link.B.Shape(rate))
	}
	return nil
}

// pin gives server and client a core each, where there are two.
func (r *ladderRig) pin() error {
	if runtime.NumCPU() < 2 {
		return nil
	}
	undo, err := testnet.PinSelf(0)
	if err != nil {
		return err
	}
	r.closers = append(r.closers, func() { undo() }) // where that fails, the process ends soon
	return r.server.Pin(1)
}

// setUser sets what a step of the user-space stack changes at both ends, and
// chooses an address for that stack: the interface's own is the kernel's.
func (r *ladderRig) setUser(u userStep) error {
	r.address = r.link.B.IPv4.Addr().Next()
	mtu := cmp.Or(u.mtu, testnet.StandardMTU)
	return errors.Join(r.link.A.SetMTU(mtu), r.link.B.SetMTU(mtu), r.link.A.Coalesce(u.coalesce))
}

// Close ends the server and frees the namespaces; nothing else was changed.
func (r *ladderRig) Close() {
	for i := len(r.closers) - 1; i >= 0; i-- {
		r.closers[i]()
	}
	r.closers = nil
}

// set gives both ends the offloads and the TCP of a step; loopback keeps what
// the host has.
func (r *ladderRig) set(step ladderStep) error {
	if r.link == nil {
		return nil
	}
	rfc7323 := "0"
	if step.scaled {
		rfc7323 = "1"
	}
	var failed error
	for _, e := range []testnet.End{r.link.A, r.link.B} {
		failed = errors.Join(failed, e.SetOffload(step.offload), e.Namespace.SetSysctl("net.ipv4.tcp_window_scaling", rfc7323),
			e.Namespace.SetSysctl("net.ipv4.tcp_timestamps", rfc7323))
	}
	if step.user != nil {
		failed = errors.Join(failed, r.setUser(*step.user))
	}
	return failed
}

// lineLimit is the greatest goodput of a step in bit/s, 0 where the link has no
// rate.
func (r *ladderRig) lineLimit(step ladderStep) float64 {
	return frame.Stack{Timestamps: step.scaled}.Goodput(r.rate, testnet.StandardMTU)
}

// tap is the client's network. It remembers the latest connection, which is
// the data connection once a transfer runs.
type tap struct {
	*testnet.Namespace
	knobs data.Knobs
	last  atomic.Pointer[net.TCPConn]
}

// DialContext connects with the client's buffers.
func (t *tap) DialContext(ctx context.Context, network, address string) (c net.Conn, err error) {
	err = t.Do(func() (err error) {
		c, err = (&net.Dialer{Control: t.knobs.Control}).DialContext(ctx, network, address)
		return err
	})
	if tcp, ok := c.(*net.TCPConn); ok {
		t.last.Store(tcp)
	}
	return c, err
}
