package main

import (
	"context"
	"fmt"
	"net"
	"net/netip"
	"os"
	"strconv"
	"strings"
	"time"

	"github.com/pires/go-proxyproto"

	"github.com/linerate/linerate/internal/serve/ftp"
	"github.com/linerate/linerate/internal/serve/netstack"
)

// ftpListener is where control connections come in.
type ftpListener struct {
	net.Listener
	implicit bool
}

func (l ftpListener) String() string {
	scheme := "ftp"
	if l.implicit {
		scheme = "ftps"
	}
	return fmt.Sprintf("%s://%s/", scheme, l.Addr())
}

// listenAll opens every listener: systemd's, or else those of --listen, and
// those of --implicit; on the user-space stack if there is one.
func (o *serveFTPOptions) listenAll(user *netstack.Stack) (all []ftpListener, err error) {
	defer func() {
		if err != nil {
			for _, l := range all {
				l.Close()
			}
		}
	}()
	if user != nil {
		return o.listenOnStack(user)
	}
	if all, err = activated(); err != nil {
		return all, err
	}
	if len(all) == 0 {
		for _, a := range o.listen {
			if all, err = listenOn(all, a, false); err != nil {
				return all, err
			}
		}
	}
	for _, a := range o.implicit {
		if all, err = listenOn(all, a, true); err != nil {
			return all, err
		}
	}
	if err := o.checkExposure(all); err != nil {
		return all, err
	}
	return o.behindProxies(all)
}

func listenOn(all []ftpListener, address string, implicit bool) ([]ftpListener, error) {
	// The server sets keep-alive its own way, and no FTP client asks for MPTCP:
	// both would cost each login system calls.
	lc := net.ListenConfig{KeepAlive: -1}
	lc.SetMultipathTCP(false)
	l, err := lc.Listen(context.Background(), "tcp", address)
	if err != nil {
		return all, fmt.Errorf("--listen %s: %w", address, err)
	}
	return append(all, ftpListener{l, implicit}), nil
}

// checkExposure refuses to serve the public login of the default user to
// anyone but this host.
func (o *serveFTPOptions) checkExposure(all []ftpListener) error {
	if o.users != "" {
		return nil
	}
	for _, l := range all {
		if a, ok := l.Addr().(*net.TCPAddr); !ok || !a.IP.IsLoopback() {
			return usagef(`%s can be reached from elsewhere, and without --users everyone knows the login. Make one:
  linerate serve ftp passwd alice >> users && linerate serve ftp --users users --listen %s`, l.Addr(), l.Addr())
		}
	}
	return nil
}

// behindProxies makes listeners read the PROXY header that trusted proxies
// send; connections from elsewhere are refused.
func (o *serveFTPOptions) behindProxies(all []ftpListener) ([]ftpListener, error) {
	if len(o.proxies) == 0 {
		return all, nil
	}
	policy, err := proxyproto.PolicyFromRanges(o.proxies, proxyproto.REQUIRE, proxyproto.REJECT)
	if err != nil {
		return all, usagef("--proxy-protocol: %v", err)
	}
	for i := range all {
		all[i].Listener = &proxyproto.Listener{Listener: all[i].Listener, ConnPolicy: policy, ReadHeaderTimeout: 10 * time.Second}
	}
	return all, nil
}

// activated returns the sockets that systemd opened for this process
// (sd_listen_fds(3)); one named "ftps" speaks TLS from the start.
func activated() ([]ftpListener, error) {
	if os.Getenv("LISTEN_PID") != strconv.Itoa(os.Getpid()) {
		return nil, nil
	}
	n, err := strconv.Atoi(os.Getenv("LISTEN_FDS"))
	if err != nil || n < 0 || n > 64 {
		return nil, fmt.Errorf("LISTEN_FDS=%q: want a small number", os.Getenv("LISTEN_FDS"))
	}
	names := strings.Split(os.Getenv("LISTEN_FDNAMES"), ":")
	var all []ftpListener
	for i := range n {
		const first = 3 // SD_LISTEN_FDS_START
		f := os.NewFile(uintptr(first+i), "systemd socket")
		l, err := net.FileListener(f)
		f.Close()
		if err != nil {
			return all, fmt.Errorf("systemd socket %d: %w", i, err)
		}
		all = append(all, ftpListener{l, i < len(names) && names[i] == "ftps"})
	}
	return all, nil
}

// portRange reads --passive-ports.
func (o *serveFTPOptions) portRange() (r ftp.PortRange, err error) {
	if o.ports == "" {
		return r, nil
	}
	a, b, _ := strings.Cut(o.ports, "-")
	first, err1 := strconv.ParseUint(a, 10, 16)
	last, err2 := strconv.ParseUint(b, 10, 16)
	if err1 != nil || err2 != nil || first == 0 || last < first {
		return r, usagef("--passive-ports %s: want FIRST-LAST, such as 50000-50099", o.ports)
	}
	return ftp.PortRange{First: uint16(first), Last: uint16(last)}, nil
}

// advertised reads --advertise.
func (o *serveFTPOptions) advertised() (netip.Addr, error) {
	if o.advertise == "" {
		return netip.Addr{}, nil
	}
	a, err := netip.ParseAddr(o.advertise)
	if err != nil || !a.Is4() {
		return a, usagef("--advertise %s: want an IPv4 address; EPSV needs none", o.advertise)
	}
	return a, nil
}
