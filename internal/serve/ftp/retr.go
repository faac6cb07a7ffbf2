package ftp

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"path"
	"strconv"
	"strings"

	"github.com/linerate/linerate/internal/serve/ftp/data"
	"github.com/linerate/linerate/internal/serve/ftp/store"
	wire "github.com/linerate/linerate/internal/wire/ftp"
)

func (x *session) cmdRetr(arg string) wire.Reply {
	name, err := x.resolve(arg)
	if err != nil {
		return x.failure(err)
	}
	offset := x.rest
	if x.rang != nil {
		offset = x.rang.first
	}
	r, err := x.store.Open(x.ctx, name, offset)
	if err != nil {
		x.closeEndpoint()
		return x.failure(err)
	}
	defer r.Close()
	var content io.Reader = r
	length := r.Size() - offset
	switch {
	case x.rang != nil:
		length = min(length, x.rang.last-x.rang.first+1)
		content = io.LimitReader(r, length)
	case x.ascii:
		content = &toNetwork{r: r}
	}
	t := &transfer{verb: "RETR", path: name, size: r.Size(), text: fmt.Sprintf("Sending %s (%d bytes)", name, length)}
	return x.transfer(t, func(ctx context.Context, c net.Conn, o data.Options) (data.Stats, error) {
		return data.Send(ctx, c, content, o)
	})
}

func (x *session) cmdStor(arg string) wire.Reply {
	return x.put("STOR", arg, store.CreateOptions{Offset: x.rest})
}

// cmdAppe appends; after REST it goes on at that offset, as STOR does.
func (x *session) cmdAppe(arg string) wire.Reply {
	return x.put("APPE", arg, store.CreateOptions{Offset: x.rest, Append: x.rest == 0})
}

func (x *session) cmdStou(arg string) wire.Reply {
	if arg == "" {
		arg = "upload"
	}
	return x.put("STOU", arg, store.CreateOptions{Unique: true})
}

func (x *session) put(verb, arg string, o store.CreateOptions) wire.Reply {
	o.Size, x.allo = x.allo, 0
	if x.rang != nil {
		x.closeEndpoint()
		return wire.NewReply(504, "RANG works with RETR and HASH")
	}
	name, err := x.resolve(arg)
	if err != nil {
		return x.failure(err)
	}
	w, err := x.store.Create(x.ctx, name, o)
	if err != nil {
		x.closeEndpoint()
		return x.failure(err)
	}
	t := &transfer{verb: verb, path: name, size: -1, text: "Receiving " + name}
	if o.Unique {
		t.path = path.Join(path.Dir(name), w.Name())
		t.text = "FILE: " + t.path // RFC 1123 4.1.2.9
	}
	ended := false
	r := x.transfer(t, func(ctx context.Context, c net.Conn, o data.Options) (data.Stats, error) {
		ended = true
		return x.receive(ctx, w, c, o)
	})
	if !ended {
		w.Abort() // nothing arrived that an error could lose
	}
	return r
}

// receive takes an upload and puts it in place when all of it has come.
func (x *session) receive(ctx context.Context, w store.Writer, c net.Conn, o data.Options) (data.Stats, error) {
	var stats data.Stats
	var err error
	if x.ascii {
		a := &fromNetwork{w: w}
		stats, err = data.Recv(ctx, a, c, o)
		err = errors.Join(err, a.flush())
	} else {
		stats, err = data.Recv(ctx, w, c, o)
	}
	if err != nil {
		return stats, errors.Join(err, w.Abort())
	}
	return stats, w.Commit()
}

// cmdAllo notes how long the next upload will be (RFC 959 4.1.3).
func (x *session) cmdAllo(arg string) wire.Reply {
	size, _, _ := strings.Cut(arg, " ") // "R record-size" matters to STRU R only
	n, err := strconv.ParseInt(size, 10, 64)
	if err != nil || n < 0 {
		return wire.NewReply(501, "Syntax: ALLO <sp> bytes")
	}
	x.allo = n
	return wire.NewReply(200, "%d bytes are expected", n)
}

// cmdRest notes where the next transfer begins (RFC 3659 5). Offsets into text
// whose line ends are converted have no meaning two hosts agree on.
func (x *session) cmdRest(arg string) wire.Reply {
	n, err := strconv.ParseInt(arg, 10, 64)
	switch {
	case err != nil || n < 0:
		return wire.NewReply(501, "Syntax: REST <sp> offset")
	case x.ascii && n > 0:
		return wire.NewReply(504, "REST works in TYPE I only")
	}
	x.rest = n
	return wire.NewReply(350, "Next transfer begins at %d", n)
}

// cmdAbor answers when the transfer it meant has ended, by it or by itself: in
// the first case the transfer's 426 came before (RFC 959 4.1.3).
func (x *session) cmdAbor(string) wire.Reply {
	x.closeEndpoint()
	return wire.NewReply(226, "ABOR is done, no transfer is under way")
}
