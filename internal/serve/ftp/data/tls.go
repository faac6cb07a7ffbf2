package data

import (
	"context"
	"crypto/tls"
	"net"
)

// TLSConn is a TLS data connection made by TLSServer or TLSClient.
type TLSConn struct {
	*tls.Conn
}

// TLSServer does the handshake as the server over c.
func TLSServer(ctx context.Context, c net.Conn, conf *tls.Config) (*TLSConn, error) {
	return handshake(ctx, tls.Server(c, conf))
}

// TLSClient does the handshake as the client over c.
func TLSClient(ctx context.Context, c net.Conn, conf *tls.Config) (*TLSConn, error) {
	return handshake(ctx, tls.Client(c, conf))
}

func handshake(ctx context.Context, c *tls.Conn) (*TLSConn, error) {
	if err := c.HandshakeContext(ctx); err != nil {
		return nil, err
	}
	return &TLSConn{c}, nil
}

// netConn returns the connection below TLS, or c.
func netConn(c net.Conn) net.Conn {
	if t, ok := c.(interface{ NetConn() net.Conn }); ok {
		return t.NetConn()
	}
	return c
}
