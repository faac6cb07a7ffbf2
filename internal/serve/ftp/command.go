package ftp

import (
	"errors"

	wire "github.com/linerate/linerate/internal/wire/ftp"
)

// command is one row of the command table.
type command struct {
	run    func(x *session, arg string) wire.Reply
	syntax string // for HELP
	rule   rule
}

// rule says when a command may come and what it leaves standing.
type rule uint8

const (
	early      rule = 1 << iota // allowed before login
	wantsArg                    // 501 without an argument
	noArg                       // 501 with one
	keepRest                    // may come between REST and the transfer
	keepRename                  // RNTO, which must follow RNFR
	secret                      // the argument stays out of the log
)

// maxFailures is how many wrong passwords or unknown commands before login end
// a session.
const maxFailures = 20

// commandTable lists every command. RFC 959 unless a comment says otherwise.
func commandTable() map[string]command {
	return map[string]command{
		// Access control.
		"USER": {(*session).cmdUser, "USER <sp> username", early | wantsArg},
		"PASS": {(*session).cmdPass, "PASS <sp> password", early | secret},
		"ACCT": {(*session).cmdAcct, "ACCT <sp> account", early | secret},
		"REIN": {(*session).cmdRein, "REIN", early | noArg},
		"QUIT": {(*session).cmdQuit, "QUIT", early},
		"HOST": {(*session).cmdHost, "HOST <sp> hostname", early | wantsArg}, // RFC 7151

		// Protection: RFC 2228, RFC 4217.
		"AUTH": {(*session).cmdAuth, "AUTH <sp> TLS", early | wantsArg},
		"PBSZ": {(*session).cmdPbsz, "PBSZ <sp> 0", early | wantsArg},
		"PROT": {(*session).cmdProt, "PROT <sp> C | P", early | wantsArg},
		"CCC":  {(*session).cmdCCC, "CCC", early | noArg},

		// Where data flows.
		"PORT": {(*session).cmdPort, "PORT <sp> h1,h2,h3,h4,p1,p2", wantsArg | keepRest},
		"PASV": {(*session).cmdPasv, "PASV", noArg | keepRest},
		"EPRT": {(*session).cmdEprt, "EPRT <sp> |proto|address|port|", wantsArg | keepRest}, // RFC 2428
		"EPSV": {(*session).cmdEpsv, "EPSV [<sp> 1 | 2 | ALL]", keepRest},                   // RFC 2428

		// How data is shown.
		"TYPE": {(*session).cmdType, "TYPE <sp> A | I | L 8", early | wantsArg | keepRest},
		"STRU": {(*session).cmdStru, "STRU <sp> F", early | wantsArg},
		"MODE": {(*session).cmdMode, "MODE <sp> S | Z", early | wantsArg},

		// Transfers.
		"RETR": {(*session).cmdRetr, "RETR <sp> path", wantsArg},
		"STOR": {(*session).cmdStor, "STOR <sp> path", wantsArg},
		"APPE": {(*session).cmdAppe, "APPE <sp> path", wantsArg},
		"STOU": {(*session).cmdStou, "STOU [<sp> path]", 0},
		"ALLO": {(*session).cmdAllo, "ALLO <sp> bytes", wantsArg | keepRest},
		"REST": {(*session).cmdRest, "REST <sp> offset", wantsArg},          // RFC 3659 5
		"RANG": {(*session).cmdRang, "RANG <sp> first <sp> last", wantsArg}, // draft-bryan-ftp-range
		"ABOR": {(*session).cmdAbor, "ABOR", noArg},

		// Listings.
		"LIST": {(*session).cmdList, "LIST [<sp> path]", 0},
		"NLST": {(*session).cmdNlst, "NLST [<sp> path]", 0},
		"MLSD": {(*session).cmdMlsd, "MLSD [<sp> path]", 0}, // RFC 3659 7
		"MLST": {(*session).cmdMlst, "MLST [<sp> path]", 0}, // RFC 3659 7
		"STAT": {(*session).cmdStat, "STAT [<sp> path]", keepRest},

		// Files and directories.
		"CWD":  {(*session).cmdCwd, "CWD <sp> path", wantsArg},
		"XCWD": {(*session).cmdCwd, "XCWD <sp> path", wantsArg}, // RFC 1123 4.1.3.1
		"CDUP": {(*session).cmdCdup, "CDUP", noArg},
		"XCUP": {(*session).cmdCdup, "XCUP", noArg},
		"PWD":  {(*session).cmdPwd, "PWD", noArg},
		"XPWD": {(*session).cmdPwd, "XPWD", noArg},
		"MKD":  {(*session).cmdMkd, "MKD <sp> path", wantsArg},
		"XMKD": {(*session).cmdMkd, "XMKD <sp> path", wantsArg},
		"RMD":  {(*session).cmdRmd, "RMD <sp> path", wantsArg},
		"XRMD": {(*session).cmdRmd, "XRMD <sp> path", wantsArg},
		"DELE": {(*session).cmdDele, "DELE <sp> path", wantsArg},
		"RNFR": {(*session).cmdRnfr, "RNFR <sp> path", wantsArg},
		"RNTO": {(*session).cmdRnto, "RNTO <sp> path", wantsArg | keepRename},
		"SIZE": {(*session).cmdSize, "SIZE <sp> path", wantsArg | keepRest},          // RFC 3659 4
		"MDTM": {(*session).cmdMdtm, "MDTM <sp> path", wantsArg | keepRest},          // RFC 3659 3
		"MFMT": {(*session).cmdMfmt, "MFMT <sp> YYYYMMDDHHMMSS <sp> path", wantsArg}, // draft-somers-ftp-mfxx

		// Checksums: draft-bryan-ftpext-hash, and what came before it.
		"HASH":    {(*session).cmdHash, "HASH <sp> path", wantsArg},
		"XCRC":    {xhash("CRC32"), "XCRC <sp> path [<sp> first <sp> end]", wantsArg},
		"XMD5":    {xhash("MD5"), "XMD5 <sp> path [<sp> first <sp> end]", wantsArg},
		"XSHA":    {xhash("SHA-1"), "XSHA <sp> path [<sp> first <sp> end]", wantsArg},
		"XSHA1":   {xhash("SHA-1"), "XSHA1 <sp> path [<sp> first <sp> end]", wantsArg},
		"XSHA256": {xhash("SHA-256"), "XSHA256 <sp> path [<sp> first <sp> end]", wantsArg},
		"XSHA512": {xhash("SHA-512"), "XSHA512 <sp> path [<sp> first <sp> end]", wantsArg},

		// Miscellaneous.
		"FEAT": {(*session).cmdFeat, "FEAT", early | noArg},                                // RFC 2389
		"OPTS": {(*session).cmdOpts, "OPTS <sp> command [<sp> options]", early | wantsArg}, // RFC 2389
		"LANG": {(*session).cmdLang, "LANG [<sp> EN]", early},                              // RFC 2640
		"SYST": {(*session).cmdSyst, "SYST", early | noArg},
		"NOOP": {(*session).cmdNoop, "NOOP", early | keepRest},
		"HELP": {(*session).cmdHelp, "HELP [<sp> command]", early},
		"SITE": {(*session).cmdSite, "SITE <sp> CHMOD | UTIME | HELP", wantsArg},
		"SMNT": {(*session).cmdSmnt, "SMNT <sp> path", early},
	}
}

// dispatch runs one command and returns its reply.
func (x *session) dispatch(in input) wire.Reply {
	if errors.Is(in.err, wire.ErrLineTooLong) {
		return x.unknown("Command line too long")
	} else if in.err != nil {
		return x.unknown("That is no command")
	}
	c, known := x.srv.commands[in.cmd.Verb]
	if !known {
		return x.unknown("Command not understood, try HELP")
	}
	x.trace(in.cmd, c)
	if c.rule&keepRename == 0 {
		x.rename = ""
	}
	switch {
	case c.rule&early == 0 && !x.loggedIn:
		return wire.NewReply(530, "Log in with USER and PASS first")
	case c.rule&wantsArg != 0 && in.cmd.Arg == "", c.rule&noArg != 0 && in.cmd.Arg != "":
		return wire.NewReply(501, "Syntax: %s", c.syntax)
	}
	r := c.run(x, in.cmd.Arg)
	if c.rule&keepRest == 0 && in.cmd.Verb != "REST" && in.cmd.Verb != "RANG" {
		x.rest, x.rang = 0, nil
	}
	return r
}

// unknown answers what isn't a command; who isn't logged in may send only so
// much of it.
func (x *session) unknown(text string) wire.Reply {
	x.rename, x.rest, x.rang = "", 0, nil
	if x.failed() {
		return wire.NewReply(421, "Too many errors, goodbye")
	}
	return wire.NewReply(500, "%s", text)
}

// failed counts an error of a peer that isn't logged in and reports whether it
// was one too many.
func (x *session) failed() bool {
	if x.loggedIn {
		return false
	}
	x.failures++
	x.quit = x.failures >= maxFailures
	return x.quit
}

func (x *session) trace(c wire.Command, row command) {
	if row.rule&secret != 0 {
		c.Arg = "***"
	}
	x.srv.log.Debug("command", "id", x.id, "user", x.account.Name, "verb", c.Verb, "arg", c.Arg)
}
