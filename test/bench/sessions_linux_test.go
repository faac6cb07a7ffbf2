package bench

import (
	"bufio"
	"context"
	"fmt"
	"math"
	"net"
	"net/textproto"
	"time"

	"github.com/linerate/linerate/internal/serve/ftp/client"
)

const (
	idleSessions = 1000 // of ours
	peerSessions = 40   // of a peer: each is a process, and pure-ftpd takes 50
	serialLogins = 1000
)

// sessionFigure is what sessions cost a server.
type sessionFigure struct {
	idle, idleTLS float64 // bytes of each
	logins        float64 // each second, one after another
}

type sessionFigures map[string]sessionFigure

// sessions measures and prints what sessions cost. Ours starts anew for each
// figure, for a heap that has grown before hides what sessions add.
func (r *rig) sessions(peers []*server) sessionFigures {
	all := sessionFigures{}
	fmt.Printf("\n%-16s  %18s  %18s  %12s\n", "sessions", "idle KiB each", "idle TLS KiB each", "logins/s")
	show := func(name string, n int, f sessionFigure) {
		all[name] = f
		fmt.Printf("%-16s  %11.1f of %4d  %11.1f of %4d  %12.0f\n", name, f.idle/1024, n, f.idleTLS/1024, n, f.logins)
	}
	show("linerate", idleSessions, sessionFigure{
		r.idle(r.linerate(false), idleSessions, false), r.idle(r.linerate(false), idleSessions, true),
		r.logins(r.linerate(false), serialLogins),
	})
	for _, s := range peers {
		show(s.name, peerSessions, sessionFigure{
			r.idle(s, peerSessions, false), r.idle(s, peerSessions, true), r.logins(s, serialLogins/5),
		})
	}
	return all
}

// idle returns the memory that a session adds which does nothing.
func (r *rig) idle(s *server, n int, secure bool) float64 {
	var before int64
	var open []*client.Conn
	defer func() {
		for _, c := range open {
			c.Close()
		}
	}()
	for i := range n + 1 {
		c, err := r.dial(r.tb.Context(), s, secure)
		if err != nil {
			r.tb.Errorf("%s: session %d: %v", s.name, i, err)
			return math.NaN()
		}
		open = append(open, c)
		if i == 0 { // the first pays for what all share
			time.Sleep(time.Second)
			before = ownMemory(s.pid)
		}
	}
	return float64(ownMemory(s.pid)-before) / float64(n)
}

// logins returns how many logins a second the server does one after another:
// connect, greeting, USER, PASS, and gone.
func (r *rig) logins(s *server, n int) float64 {
	var took time.Duration
	err := r.link.B.Namespace.Do(func() error {
		start := time.Now()
		for range n {
			if err := login(r.tb.Context(), s); err != nil {
				return err
			}
		}
		took = time.Since(start)
		return nil
	})
	if err != nil {
		r.tb.Errorf("%s: %v", s.name, err)
		return math.NaN()
	}
	return float64(n) / took.Seconds()
}

// login speaks only what a login needs.
func login(ctx context.Context, s *server) error {
	c, err := (&net.Dialer{}).DialContext(ctx, "tcp", s.addr)
	if err != nil {
		return err
	}
	defer c.Close()
	lines := textproto.NewReader(bufio.NewReader(c))
	if _, _, err := lines.ReadResponse(220); err != nil {
		return err
	}
	for _, step := range []struct {
		command string
		code    int
	}{{"USER " + s.user, 331}, {"PASS " + s.password, 230}} {
		if _, err := fmt.Fprintf(c, "%s\r\n", step.command); err != nil {
			return err
		}
		if _, _, err := lines.ReadResponse(step.code); err != nil {
			return err
		}
	}
	return nil
}
