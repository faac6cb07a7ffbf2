package ftp

import (
	"io/fs"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	wire "github.com/linerate/linerate/internal/wire/ftp"
)

func (x *session) cmdSite(arg string) wire.Reply {
	sub, rest, _ := strings.Cut(arg, " ")
	switch strings.ToUpper(sub) {
	case "CHMOD":
		return x.siteChmod(rest)
	case "UTIME":
		return x.siteUtime(rest)
	case "HELP":
		return wire.Reply{Code: 214, Lines: []string{
			"SITE commands:", "CHMOD <sp> mode <sp> path", "UTIME <sp> YYYYMMDDHHMM[SS] <sp> path", "HELP", "End"}}
	}
	return wire.NewReply(504, "SITE %.20s is not known, try SITE HELP", sub)
}

func (x *session) siteChmod(arg string) wire.Reply {
	octal, name, _ := strings.Cut(arg, " ")
	mode, err := strconv.ParseUint(octal, 8, 32)
	if err != nil || mode > 0o777 || name == "" {
		return wire.NewReply(501, "Syntax: SITE CHMOD <sp> mode <sp> path")
	}
	return x.onPath(name, func(n string) error { return x.store.Chmod(x.ctx, n, fs.FileMode(mode)) }, func(string) wire.Reply {
		return wire.NewReply(200, "Mode is %03o", mode)
	})
}

// siteUtime sets when a file was changed. Two forms are about: "time path",
// and "path atime mtime ctime UTC" of ncftp.
func (x *session) siteUtime(arg string) wire.Reply {
	done := func(string) wire.Reply { return wire.NewReply(200, "Time is set") }
	if f := strings.Fields(arg); len(f) > 4 && f[len(f)-1] == "UTC" {
		if at, ok := shortTime(f[len(f)-3]); ok {
			name, _, _ := strings.Cut(arg, " "+f[len(f)-4]+" ")
			return x.setTime(at, name, done)
		}
	}
	stamp, name, _ := strings.Cut(arg, " ")
	at, ok := shortTime(stamp)
	if !ok || name == "" {
		return wire.NewReply(501, "Syntax: SITE UTIME <sp> YYYYMMDDHHMM[SS] <sp> path")
	}
	return x.setTime(at, name, done)
}

// shortTime reads a time whose seconds may be missing.
func shortTime(s string) (time.Time, bool) {
	if len(s) == len("YYYYMMDDHHMM") {
		s += "00"
	}
	at, err := wire.ParseTime(s)
	return at, err == nil
}

// cmdHelp lists the commands, or shows the syntax of one.
func (x *session) cmdHelp(arg string) wire.Reply {
	if arg != "" {
		c, ok := x.srv.commands[strings.ToUpper(arg)]
		if !ok {
			return wire.NewReply(502, "Command not known")
		}
		return wire.NewReply(214, "Syntax: %s", c.syntax)
	}
	lines := []string{"Commands:"}
	for row := range slices.Chunk(slices.Sorted(maps.Keys(x.srv.commands)), 8) {
		lines = append(lines, strings.Join(row, " "))
	}
	return wire.Reply{Code: 214, Lines: append(lines, "HELP <sp> command shows its syntax")}
}
