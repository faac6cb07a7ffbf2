package ftp

import (
	"strings"

	wire "github.com/linerate/linerate/internal/wire/ftp"
)

func (x *session) cmdType(arg string) wire.Reply {
	switch strings.ToUpper(arg) {
	case "A", "A N":
		x.ascii = true
		return wire.NewReply(200, "TYPE is A")
	case "I", "L 8", "L8":
		x.ascii = false
		return wire.NewReply(200, "TYPE is I")
	}
	return wire.NewReply(504, "TYPE is A, I or L 8 here")
}

func (x *session) cmdStru(arg string) wire.Reply {
	if strings.ToUpper(arg) != "F" {
		return wire.NewReply(504, "STRU is F here")
	}
	return wire.NewReply(200, "STRU is F")
}

func (x *session) cmdMode(arg string) wire.Reply {
	switch strings.ToUpper(arg) {
	case "S":
		x.deflate = false
		return wire.NewReply(200, "MODE is S")
	case "Z":
		x.deflate = true
		return wire.NewReply(200, "MODE is Z")
	}
	return wire.NewReply(504, "MODE is S or Z here")
}

func (x *session) cmdFeat(string) wire.Reply {
	lines := []string{"Extensions supported:"}
	if x.srv.cfg.TLS != nil {
		lines = append(lines, "AUTH TLS", "CCC", "PBSZ", "PROT")
	}
	lines = append(lines, "EPRT", "EPSV", x.hash.feature(), "HOST", "LANG EN*", "MDTM", "MFMT", x.facts.Feature(), "MODE Z",
		"RANG STREAM", "REST STREAM", "SIZE", "TVFS", "UTF8", "XCRC", "XMD5", "XSHA", "XSHA1", "XSHA256", "XSHA512", "End")
	return wire.Reply{Code: 211, Lines: lines}
}

// cmdOpts sets options of a command (RFC 2389 4).
func (x *session) cmdOpts(arg string) wire.Reply {
	verb, options, _ := strings.Cut(arg, " ")
	switch strings.ToUpper(verb) {
	case "MLST": // RFC 3659 7.9
		if strings.Contains(options, " ") {
			return wire.NewReply(501, "Syntax: OPTS MLST [<sp> fact; ...]")
		}
		x.facts = wire.ParseFacts(options)
		return wire.NewReply(200, "%s", strings.TrimRight("MLST OPTS "+x.facts.String(), " "))
	case "UTF8": // draft-ietf-ftpext-utf-8-option
		if o := strings.ToUpper(options); o == "ON" || o == "OFF" || o == "" {
			return wire.NewReply(200, "Names are kept byte for byte, UTF-8 as well as any other")
		}
	case "HASH":
		return x.optsHash(options)
	case "MODE": // "OPTS MODE Z LEVEL n": the level is ours to choose
		if strings.HasPrefix(strings.ToUpper(options), "Z ") {
			return wire.NewReply(200, "MODE Z is set up")
		}
	}
	return wire.NewReply(501, "Option not understood")
}

// cmdLang: texts come in English only (RFC 2640 4.1).
func (x *session) cmdLang(arg string) wire.Reply {
	if tag := strings.ToUpper(arg); tag == "" || tag == "EN" || strings.HasPrefix(tag, "EN-") {
		return wire.NewReply(200, "Replies are in English")
	}
	return wire.NewReply(504, "Replies come in English only")
}

// cmdSyst names UNIX for the sake of clients that parse LIST by it.
func (x *session) cmdSyst(string) wire.Reply { return wire.NewReply(215, "UNIX Type: L8") }

func (x *session) cmdNoop(string) wire.Reply { return wire.NewReply(200, "OK") }

func (x *session) cmdSmnt(string) wire.Reply { return wire.NewReply(502, "Not implemented") }
