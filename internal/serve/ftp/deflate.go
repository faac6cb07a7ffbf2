package ftp

import (
	"errors"
	"fmt"
	"io"
	"net"

	"github.com/klauspost/compress/zlib"
)

// errCorrupt is what a peer sends in MODE Z that is no zlib stream.
var errCorrupt = errors.New("not a zlib stream")

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
			return 0, corrupt(err)
		}
		d.r = r
	}
	n, err := d.r.Read(b)
	return n, corrupt(err)
}

// corrupt tells what is wrong with the stream from what is wrong with the
// connection.
func corrupt(err error) error {
	if err == nil || err == io.EOF || isNetwork(err) {
		return err
	}
	return fmt.Errorf("MODE Z: %w: %w", errCorrupt, err)
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
