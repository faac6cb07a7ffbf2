package main

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"os"
	"strconv"
	"strings"
	"time"

	"github.com/linerate/linerate/internal/serve/ftp/client"
	"github.com/linerate/linerate/internal/testnet"
)

// What the server serves for measuring: a generated file that lasts longer
// than any trial, and a place where uploads as long are counted and dropped.
const (
	ladderSource = "/zero/100TB"
	ladderSink   = "/sink/ladder"
	ladderLength = 100e12
)

// serverFlags are the knobs of "linerate serve ftp" that a step sets: bytes per
// send (0: as many as go), a yield after each, the bytes of both socket
// buffers and of one receive (0: tuned by the kernel), and no-copy.
func serverFlags(send int, yield bool, buffers int, noCopy bool) []string {
	return []string{
		"--data-buffer=" + strconv.Itoa(send), "--yield=" + strconv.FormatBool(yield), "--send-buffer=" + strconv.Itoa(buffers),
		"--receive-buffer=" + strconv.Itoa(buffers), "--receive-limit=" + strconv.Itoa(buffers), "--no-copy=" + strconv.FormatBool(noCopy),
	}
}

// The login of the server, which only this machine can reach.
const ladderUser, ladderPassword = "user", "password"

// ladderServer is "linerate serve ftp" as a process of its own, so that its
// CPU time can be told from the client's.
type ladderServer struct {
	*testnet.Process
	location client.Location
	page     string // of the user-space stack; empty: it runs on the kernel's
}

const ftpPort = 21 // of an address that nothing else serves

// serve starts the server of a step.
func (r *ladderRig) serve(ctx context.Context, step ladderStep) (*ladderServer, error) {
	argv := []string{r.self, "serve", "ftp", "--memory", "1MiB", "--listen", netip.AddrPortFrom(r.address, 0).String()}
	if step.user != nil {
		argv = append(argv[:len(argv)-1], netip.AddrPortFrom(r.address, ftpPort).String(), "--metrics", "127.0.0.1:0",
			"--stack", "user", "--port", "packet:"+r.link.B.Interface, "--address", netip.PrefixFrom(r.address, 24).String())
	}
	if r.login != "" {
		file, err := usersFile(r.login)
		if err != nil {
			return nil, err
		}
		defer os.Remove(file) // it is read before the server listens
		argv = append(argv, "--users", file)
	}
	p, err := r.server.Start(ctx, append(argv, step.server...)...)
	if err != nil {
		return nil, err
	}
	s := &ladderServer{Process: p, location: client.Location{User: ladderUser, Password: ladderPassword}}
	if s.location.Host, err = serverAddress(ctx, p); err != nil {
		p.Stop()
		return nil, err
	}
	if step.user != nil {
		page, err := awaitLine(ctx, p, "serving http://")
		if err != nil {
			p.Stop()
			return nil, err
		}
		s.page = "http://" + strings.TrimSuffix(page, "/metrics") + "/stack"
	}
	return s, nil
}

func usersFile(line string) (name string, err error) {
	f, err := os.CreateTemp("", "linerate-users-")
	if err != nil {
		return "", err
	}
	_, err = fmt.Fprintln(f, line)
	if err = errors.Join(err, f.Close()); err != nil {
		os.Remove(f.Name())
	}
	return f.Name(), err
}

// serverAddress waits until the server says where it listens.
func serverAddress(ctx context.Context, p *testnet.Process) (string, error) {
	line, err := awaitLine(ctx, p, "serving ftp://")
	if err != nil {
		return "", err
	}
	at, err := netip.ParseAddrPort(strings.Trim(line, "/"))
	if err != nil {
		return "", fmt.Errorf("server says %q: %w", line, err)
	}
	return at.String(), nil
}

// awaitLine waits for a line that says so, and returns what follows in it.
func awaitLine(ctx context.Context, p *testnet.Process, says string) (string, error) {
	const most = 10 * time.Second
	ctx, cancel := context.WithTimeoutCause(ctx, most, fmt.Errorf("not within %s", most))
	defer cancel()
	line, err := p.Await(ctx, says)
	return strings.TrimPrefix(line, says), err
}
