package ftp

import (
	"context"
	"errors"
	"io"
	"io/fs"
	"net"
	"os"
	"syscall"

	"github.com/linerate/linerate/internal/serve/ftp/data"
	"github.com/linerate/linerate/internal/serve/ftp/store"
	wire "github.com/linerate/linerate/internal/wire/ftp"
)

// Why a transfer was broken off from our side.
var (
	errAborted = errors.New("aborted by the client")
	errGone    = errors.New("control connection lost")
)

// storeReplies maps what a store answers to the replies of RFC 959 4.2.2 and
// RFC 3659. The texts are fixed: an error's own may name paths of the host.
var storeReplies = []struct {
	err  error
	code int
	text string
}{
	{store.ErrBusy, 450, "Another session uploads this file"},
	{store.ErrNoSpace, 452, "No space left"},
	{store.ErrQuota, 552, "Quota exceeded"},
	{store.ErrName, 553, "File name not allowed"},
	{store.ErrOffset, 554, "Offset is beyond the end of the file"},
	{store.ErrIsDirectory, 550, "Is a directory"},
	{store.ErrNotDirectory, 550, "Not a directory"},
	{store.ErrNotEmpty, 550, "Directory not empty"},
	{fs.ErrNotExist, 550, "No such file or directory"},
	{fs.ErrExist, 550, "Exists already"},
	{fs.ErrPermission, 550, "Permission denied"},
	{errors.ErrUnsupported, 504, "Not supported by this store"},
}

// failure answers a command that the store refused.
func (x *session) failure(err error) wire.Reply {
	for _, r := range storeReplies {
		if errors.Is(err, r.err) {
			return wire.NewReply(r.code, "%s", r.text)
		}
	}
	x.srv.log.Error("store", "id", x.id, "user", x.account.Name, "err", err)
	return wire.NewReply(451, "Local error")
}

// openFailure answers a transfer whose data connection didn't come about.
func openFailure(err error) wire.Reply {
	switch {
	case errors.Is(err, errAborted), errors.Is(err, errGone):
		return wire.NewReply(426, "Transfer aborted")
	case errors.Is(err, errNoEndpoint):
		return wire.NewReply(425, "Use PASV, EPSV, PORT or EPRT first")
	case errors.Is(err, errNotResumed):
		return wire.NewReply(522, "Data connection must resume the control connection's TLS session")
	case errors.Is(err, errNotPrivate):
		return wire.NewReply(521, "Send PROT P first") // RFC 4217 10
	case errors.Is(err, context.DeadlineExceeded), errors.Is(err, os.ErrDeadlineExceeded):
		return wire.NewReply(425, "Data connection took too long to open")
	}
	return wire.NewReply(425, "Cannot open data connection")
}

// moveFailure answers a transfer that broke off.
func (x *session) moveFailure(err error) wire.Reply {
	switch {
	case errors.Is(err, errAborted), errors.Is(err, errGone), errors.Is(err, context.Canceled):
		return wire.NewReply(426, "Transfer aborted")
	case errors.Is(err, data.ErrStalled):
		return wire.NewReply(426, "Transfer stalled")
	case errors.Is(err, io.ErrUnexpectedEOF):
		return wire.NewReply(426, "Data connection was cut off")
	case errors.Is(err, errCorrupt):
		return wire.NewReply(426, "Data is no zlib stream, as MODE Z wants")
	case isNetwork(err):
		return wire.NewReply(426, "Data connection failed")
	}
	return x.failure(err)
}

// isNetwork reports whether err came from the connection: from package net, or
// from a system call of the data path.
func isNetwork(err error) bool {
	if _, ok := errors.AsType[*net.OpError](err); ok || errors.Is(err, net.ErrClosed) {
		return true
	}
	for _, e := range []syscall.Errno{
		syscall.ECONNRESET, syscall.ECONNABORTED, syscall.EPIPE, syscall.ETIMEDOUT, syscall.EHOSTUNREACH, syscall.ENETUNREACH,
	} {
		if errors.Is(err, e) {
			return true
		}
	}
	return false
}
