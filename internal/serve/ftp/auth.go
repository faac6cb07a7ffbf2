package ftp

import (
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/linerate/linerate/internal/serve/ftp/users"
	wire "github.com/linerate/linerate/internal/wire/ftp"
)

func (x *session) cmdUser(arg string) wire.Reply {
	if x.srv.cfg.RequireTLS && x.tls == nil {
		return wire.NewReply(530, "Protect the connection with AUTH TLS first") // RFC 4217 12.3
	}
	x.logout() // RFC 959: USER flushes the user's login
	x.user = arg
	return wire.NewReply(331, "Password for %s please", arg)
}

// logout ends a login; the time to log in again begins anew.
func (x *session) logout() {
	if x.loggedIn {
		x.start = time.Now()
	}
	x.srv.logout(x)
	x.account, x.store, x.limit = users.Account{}, nil, nil
}

func (x *session) cmdPass(arg string) wire.Reply {
	switch {
	case x.loggedIn:
		return wire.NewReply(503, "Logged in already")
	case x.user == "":
		return wire.NewReply(503, "Send USER first")
	}
	user := x.user
	x.user = ""
	a, err := (*x.srv.users.Load()).Login(x.ctx, user, arg, x.peer)
	if err != nil {
		return x.refuseLogin(user, err)
	}
	st, err := x.srv.cfg.Store(a)
	if err != nil {
		x.srv.log.Error("store of user", "user", a.Name, "err", err)
		return wire.NewReply(451, "The files of this user cannot be reached")
	}
	limit, ok := x.srv.login(a)
	if !ok {
		x.srv.counters.refused(refusedUser)
		return wire.NewReply(530, "Too many sessions of this user")
	}
	x.account, x.store, x.limit, x.loggedIn = a, st, limit, true
	x.srv.counters.login(true)
	x.srv.log.Info("login", "id", x.id, "user", a.Name, "peer", x.peer, "tls", x.tls != nil)
	return wire.NewReply(230, "Welcome, %s", a.Name)
}

// refuseLogin answers a failed PASS; the text is the same for every reason the
// peer could learn from.
func (x *session) refuseLogin(user string, err error) wire.Reply {
	x.srv.counters.login(false)
	x.srv.log.Warn("login refused", "id", x.id, "user", user, "peer", x.peer, "err", err)
	x.failed()
	if errors.Is(err, users.ErrThrottled) {
		x.quit = true
		return wire.NewReply(421, "Too many wrong passwords, try again later")
	}
	return wire.NewReply(530, "Login incorrect")
}

func (x *session) cmdAcct(string) wire.Reply {
	if !x.loggedIn {
		return wire.NewReply(503, "Send USER and PASS first")
	}
	return wire.NewReply(202, "No account is needed")
}

// cmdRein begins anew as if the connection had just been made; TLS ends with
// it (RFC 4217 11).
func (x *session) cmdRein(string) wire.Reply {
	x.logout()
	x.reset()
	if x.tls != nil {
		x.after = x.endTLS
	}
	return wire.NewReply(220, "%s", x.srv.cfg.Banner)
}

func (x *session) cmdQuit(string) wire.Reply {
	x.quit = true
	return wire.NewReply(221, "Goodbye")
}

// cmdHost accepts every name: there is one virtual host (RFC 7151 3.1).
func (x *session) cmdHost(arg string) wire.Reply {
	if x.loggedIn || x.user != "" {
		return wire.NewReply(503, "HOST comes before USER")
	}
	if strings.ContainsAny(arg, " /\\@") {
		return wire.NewReply(501, "Syntax: HOST <sp> hostname")
	}
	return wire.NewReply(220, "%s", x.srv.cfg.Banner)
}

// status describes the session for STAT without an argument (RFC 959 4.1.3).
func (x *session) status() []string {
	kind := "A"
	if !x.ascii {
		kind = "I"
	}
	mode := "S"
	if x.deflate {
		mode = "Z"
	}
	lines := []string{"linerate FTP server status", fmt.Sprintf("Connected from %s", x.peer)}
	if x.loggedIn {
		lines = append(lines, "Logged in as "+x.account.Name)
	}
	lines = append(lines, fmt.Sprintf("TYPE %s, STRU F, MODE %s, control protected: %t, data protected: %t", kind, mode, x.tls != nil, x.private))
	x.mu.Lock()
	defer x.mu.Unlock()
	if x.busy != nil {
		lines = append(lines, x.busy.String())
	} else {
		lines = append(lines, "No data connection")
	}
	return append(lines, "End of status")
}
