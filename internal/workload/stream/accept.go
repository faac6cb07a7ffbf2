package stream

import (
	"context"
	"errors"
	"log/slog"
	"net"
	"time"
)

// Accept returns the next connection of a server's listener. It goes on past
// what passes, such as a lack of descriptors or a client that left already, and
// ends with the context's cause or an error that wraps net.ErrClosed.
func Accept(ctx context.Context, l net.Listener, log *slog.Logger) (net.Conn, error) {
	for {
		conn, err := l.Accept()
		switch {
		case ctx.Err() != nil:
			if err == nil {
				conn.Close()
			}
			return nil, context.Cause(ctx)
		case err == nil:
			return conn, nil
		case errors.Is(err, net.ErrClosed):
			return nil, err
		}
		log.Warn("accept", "err", err)
		time.Sleep(10 * time.Millisecond)
	}
}
