package ftp

import (
	"fmt"
	"path"
	"strings"
	"time"

	"github.com/linerate/linerate/internal/serve/ftp/store"
	wire "github.com/linerate/linerate/internal/wire/ftp"
)

// resolve turns a path as the client gave it into a full name of the store.
// ".." stops at the top (RFC 3659 6, TVFS). Bytes that are not UTF-8 are kept as
// they are (RFC 2640 3.1), also after OPTS UTF8 ON: rclone sends it to every
// server and then what its user's files are called.
func (x *session) resolve(arg string) (string, error) {
	switch {
	case strings.ContainsAny(arg, "\r\n\x00"):
		return "", fmt.Errorf("%q: control character: %w", arg, store.ErrName)
	case strings.HasPrefix(arg, "/"):
		return path.Clean(arg), nil
	}
	return path.Join(x.cwd, arg), nil
}

// onPath resolves arg and runs do on it; done is the reply when that works.
func (x *session) onPath(arg string, do func(name string) error, done func(name string) wire.Reply) wire.Reply {
	name, err := x.resolve(arg)
	if err == nil {
		err = do(name)
	}
	if err != nil {
		return x.failure(err)
	}
	return done(name)
}

// onFile is onPath for a command that wants a regular file.
func (x *session) onFile(arg string, done func(name string, i store.Info) wire.Reply) wire.Reply {
	var info store.Info
	return x.onPath(arg, func(name string) (err error) {
		if info, err = x.store.Stat(x.ctx, name); err == nil && !info.Mode.IsRegular() {
			err = store.ErrIsDirectory
		}
		return err
	}, func(name string) wire.Reply { return done(name, info) })
}

func (x *session) cmdCwd(arg string) wire.Reply {
	return x.onPath(arg, func(name string) error {
		i, err := x.store.Stat(x.ctx, name)
		if err == nil && !i.IsDir() {
			err = store.ErrNotDirectory
		}
		return err
	}, func(name string) wire.Reply {
		x.cwd = name
		return wire.NewReply(250, "Now in %s", wire.QuotePath(name))
	})
}

func (x *session) cmdCdup(string) wire.Reply { return x.cmdCwd("..") }

func (x *session) cmdPwd(string) wire.Reply {
	return wire.NewReply(257, "%s is the working directory", wire.QuotePath(x.cwd))
}

func (x *session) cmdMkd(arg string) wire.Reply {
	return x.onPath(arg, func(name string) error { return x.store.Mkdir(x.ctx, name) }, func(name string) wire.Reply {
		return wire.NewReply(257, "%s created", wire.QuotePath(name))
	})
}

func (x *session) cmdRmd(arg string) wire.Reply {
	return x.onPath(arg, func(name string) error { return x.store.Rmdir(x.ctx, name) }, func(string) wire.Reply {
		return wire.NewReply(250, "Directory removed")
	})
}

func (x *session) cmdDele(arg string) wire.Reply {
	return x.onPath(arg, func(name string) error { return x.store.Remove(x.ctx, name) }, func(string) wire.Reply {
		return wire.NewReply(250, "File removed")
	})
}

func (x *session) cmdRnfr(arg string) wire.Reply {
	return x.onPath(arg, func(name string) error {
		_, err := x.store.Stat(x.ctx, name)
		return err
	}, func(name string) wire.Reply {
		x.rename = name
		return wire.NewReply(350, "Now RNTO the new name")
	})
}

func (x *session) cmdRnto(arg string) wire.Reply {
	from := x.rename
	x.rename = ""
	if from == "" {
		return wire.NewReply(503, "Send RNFR first")
	}
	return x.onPath(arg, func(name string) error { return x.store.Rename(x.ctx, from, name) }, func(string) wire.Reply {
		return wire.NewReply(250, "Renamed")
	})
}

// cmdSize tells the size as transferred, which in TYPE A would mean reading
// the whole file (RFC 3659 4.1 allows to refuse).
func (x *session) cmdSize(arg string) wire.Reply {
	if x.ascii {
		return wire.NewReply(550, "SIZE works in TYPE I only")
	}
	return x.onFile(arg, func(_ string, i store.Info) wire.Reply { return wire.NewReply(213, "%d", i.Size) })
}

// cmdMdtm tells when a file was changed (RFC 3659 3). "MDTM time path" is how
// clients from before MFMT set it; a file of that whole name goes first.
func (x *session) cmdMdtm(arg string) wire.Reply {
	r := x.onFile(arg, func(_ string, i store.Info) wire.Reply { return wire.NewReply(213, "%s", wire.FormatTime(i.ModTime)) })
	if r.Completion() {
		return r
	}
	stamp, name, two := strings.Cut(arg, " ")
	at, err := wire.ParseTime(stamp)
	if !two || err != nil {
		return r
	}
	return x.setTime(at, name, func(string) wire.Reply { return wire.NewReply(213, "%s", wire.FormatTime(at)) })
}

// cmdMfmt sets when a file was changed (draft-somers-ftp-mfxx 3).
func (x *session) cmdMfmt(arg string) wire.Reply {
	stamp, name, two := strings.Cut(arg, " ")
	at, err := wire.ParseTime(stamp)
	if !two || name == "" || err != nil {
		return wire.NewReply(501, "Syntax: MFMT <sp> YYYYMMDDHHMMSS <sp> path")
	}
	return x.setTime(at, name, func(string) wire.Reply {
		return wire.NewReply(213, "Modify=%s; %s", wire.FormatTime(at), name)
	})
}

func (x *session) setTime(at time.Time, arg string, done func(string) wire.Reply) wire.Reply {
	return x.onPath(arg, func(name string) error { return x.store.Chtimes(x.ctx, name, at) }, done)
}
