package ftp

import (
	"strings"

	wire "github.com/linerate/linerate/internal/wire/ftp"
)

// cmdAuth starts TLS on the control connection (RFC 4217 4). "SSL" and the
// mechanism names of old drafts are what some clients still send; the
// protocol is TLS all the same.
func (x *session) cmdAuth(arg string) wire.Reply {
	switch mechanism := strings.ToUpper(arg); {
	case x.srv.cfg.TLS == nil:
		return wire.NewReply(502, "No certificate is configured")
	case mechanism != "TLS" && mechanism != "TLS-C" && mechanism != "SSL" && mechanism != "TLS-P":
		return wire.NewReply(504, "Mechanism not known, use TLS")
	case x.tls != nil:
		return wire.NewReply(503, "The connection is protected already")
	}
	x.after = func() error {
		// What came behind AUTH in clear may be an attacker's: RFC 4217 has the
		// login repeated after it, and nothing else be kept.
		x.unread, x.queue, x.lines = nil, nil, wire.LineDecoder{}
		x.logout()
		x.reset()
		return x.startTLS()
	}
	return wire.NewReply(234, "Begin the TLS handshake")
}

// cmdPbsz takes the size of protected blocks, which is always 0 with TLS
// (RFC 4217 9).
func (x *session) cmdPbsz(arg string) wire.Reply {
	switch {
	case x.tls == nil:
		return wire.NewReply(503, "Protect the connection with AUTH TLS first")
	case strings.Trim(arg, "0123456789") != "":
		return wire.NewReply(501, "Syntax: PBSZ <sp> 0")
	}
	x.pbsz = true
	return wire.NewReply(200, "PBSZ=0")
}

// cmdProt chooses whether data is protected (RFC 2228 3, RFC 4217 9).
func (x *session) cmdProt(arg string) wire.Reply {
	level := strings.ToUpper(arg)
	switch {
	case x.tls == nil && x.srv.cfg.TLS == nil:
		return wire.NewReply(502, "No certificate is configured")
	case !x.pbsz:
		return wire.NewReply(503, "Send PBSZ first")
	case level == "P":
		x.private = true
		return wire.NewReply(200, "Data is private")
	case level == "C" && x.srv.cfg.RequireTLS:
		return wire.NewReply(534, "Policy wants data private, use P")
	case level == "C":
		x.private = false
		return wire.NewReply(200, "Data is in clear")
	case level == "S" || level == "E":
		return wire.NewReply(536, "TLS offers the levels C and P only")
	}
	return wire.NewReply(504, "Level not known, use C or P")
}

// cmdCCC ends TLS on the control connection, so that a NAT can read it
// (RFC 2228 3, RFC 4217 12.6); data stays as PROT left it.
func (x *session) cmdCCC(string) wire.Reply {
	switch {
	case x.tls == nil:
		return wire.NewReply(533, "The connection is not protected")
	case !x.loggedIn:
		return wire.NewReply(530, "Log in with USER and PASS first")
	case x.srv.cfg.RequireTLS:
		return wire.NewReply(534, "Policy wants the connection protected")
	}
	x.after = x.endTLS
	return wire.NewReply(200, "Back to clear")
}
