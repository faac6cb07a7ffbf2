package ftp

import (
	"io"
	"net"

	"github.com/klauspost/compress/zlib"
)

// deflateConn is a data connection in MODE Z (draft-preston-ftpext-deflate):
// one zlib stream each way.
type deflateConn struct {
	net.Conn
	w *zlib.Writer  // nil until the first write
	r io.ReadCloser // nil until the first read
}

func newDeflateConn(c net.Conn) *deflateConn { return &deflateConn{Conn: c} }

// NetConn returns the connection below, for who asks it about TCP.
func (d *deflateConn) NetConn() net.Conn { return rawConn(d.Conn) }

func (d *deflateConn) Write(b []byte) (int, error) {
	if d.w == nil {
		d.w = zlib.NewWriter(d.Conn)
	}
	return d.w.Write(b)
}

func (d *deflateConn) Read(b []byte) (int, error) {
	if d.r == nil {
		r, err := zlib.NewReader(d.Conn)
		if err != nil {
			return 0, err
		}
		d.r = r
	}
	return d.r.Read(b)
}

// CloseWrite ends the zlib stream, also an empty one, and then the connection
// below.
func (d *deflateConn) CloseWrite() error {
	if d.w == nil {
		d.w = zlib.NewWriter(d.Conn)
	}
	if err := d.w.Close(); err != nil {
		return err
	}
	if c, ok := d.Conn.(interface{ CloseWrite() error }); ok {
		return c.CloseWrite()
	}
	return nil
}
