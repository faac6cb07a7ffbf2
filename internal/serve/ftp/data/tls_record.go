package data

import (
	"crypto/tls"
	"fmt"
	"io"
)

// Write implements io.Writer. From the first call on we make the records
// where crypto/tls tells the keys.
func (t *TLSConn) Write(p []byte) (n int, err error) {
	g := t.gather
	g.wmu.Lock()
	if g.out == nil && !g.used && g.kernel == nil && g.wb != nil {
		if k, err := t.writeKey(); err == nil {
			g.out, _ = newRecords(k) // crypto/tls serves too
		}
		forget(&g.secrets.write)
	}
	if g.out == nil {
		g.wmu.Unlock()
		return t.Conn.Write(p)
	}
	defer g.wmu.Unlock()
	for n < len(p) {
		m := min(len(p)-n, maxContent)
		if err := g.room(m); err != nil {
			return n, err
		}
		g.w = g.out.seal(g.w, typeApplication, p[n:n+m])
		n += m
	}
	return n, nil
}

// ours reports whether we make the records.
func (g *gather) ours() bool {
	g.wmu.Lock()
	defer g.wmu.Unlock()
	return g.out != nil
}

// room sees to it that a record of n bytes fits into what is gathered.
func (g *gather) room(n int) error {
	if g.wb == nil || g.ending {
		return io.ErrClosedPipe
	}
	if len(g.w)+n+recordOverhead <= gatherSize {
		return nil
	}
	return g.flushLocked()
}

// closeRecords sends close_notify where we make the records.
func (g *gather) closeRecords() (done bool, err error) {
	g.wmu.Lock()
	defer g.wmu.Unlock()
	if g.out == nil || g.ending {
		return g.out != nil, nil
	}
	if err := g.room(2); err != nil {
		return true, err
	}
	g.w = g.out.seal(g.w, typeAlert, []byte{alertWarning, alertCloseNotify})
	g.ending = true
	return true, g.flushLocked()
}

// Read implements io.Reader. Where crypto/tls tells the keys, records are
// opened into p itself. A client leaves the first ones to crypto/tls, for it
// keeps the session tickets among them.
func (t *TLSConn) Read(p []byte) (int, error) {
	g := t.gather
	g.rmu.Lock()
	if g.in == nil && g.secrets.read != nil && (t.server || g.taken) {
		g.in = t.opener()
		forget(&g.secrets.read)
	}
	if g.in == nil {
		g.rmu.Unlock()
		n, err := t.Conn.Read(p)
		if n > 0 {
			g.rmu.Lock()
			// Some of the record may be left in crypto/tls if p was small.
			g.taken = len(p) >= maxContent
			g.rmu.Unlock()
		}
		return n, err
	}
	defer g.rmu.Unlock()
	return g.open(p)
}

// opener takes over the records that crypto/tls has not begun to read; nil if
// that can't be.
func (t *TLSConn) opener() *records {
	g := t.gather
	if g.left > 0 {
		return nil
	}
	k, err := deriveTrafficKey(t.ConnectionState().CipherSuite, g.secrets.read)
	if err != nil {
		return nil
	}
	k.next = g.given
	r, err := newRecords(k)
	if err != nil {
		return nil
	}
	r.secret = append(r.secret, g.secrets.read...)
	return r
}

// open fills p with as many records as are read ahead and fit, or part of one.
func (g *gather) open(p []byte) (n int, err error) {
	if len(g.rest) > 0 || len(p) == 0 {
		n = copy(p, g.rest)
		g.rest = g.rest[n:]
		return n, nil
	}
	for n == 0 || g.whole() {
		if g.ended != nil {
			return n, g.ended
		}
		size, err := g.record()
		if err != nil {
			return n, err
		}
		if room := size - recordHeader - recordTag; room <= len(p)-n {
			var c []byte
			c, g.ended = g.content(p[n:len(p):len(p)], size)
			n += len(c)
			continue
		}
		if n > 0 {
			break // it is for the next call
		}
		if g.rested == nil {
			g.rested = make([]byte, maxCiphertext)
		}
		g.rest, g.ended = g.content(g.rested, size)
		n = copy(p, g.rest)
		g.rest = g.rest[n:]
	}
	return n, nil
}

// whole reports whether a record is read ahead, and nothing ended before it.
func (g *gather) whole() bool {
	return g.ended == nil && len(g.r) >= recordHeader && len(g.r) >= recordSize(g.r)
}

// record reads ahead to the end of a record and returns its size.
func (g *gather) record() (size int, err error) {
	if err := g.ahead(recordHeader); err != nil {
		return 0, err
	}
	if size = recordSize(g.r); size > recordHeader+maxCiphertext || size < recordHeader+plaintextCiphertext {
		return 0, fmt.Errorf("TLS record of %d bytes: %w", size, io.ErrUnexpectedEOF)
	}
	return size, g.ahead(size)
}

// content takes a record of size bytes and opens it into dst. Of the other
// kinds only those come that may follow a handshake (RFC 8446 4.6, 6).
func (g *gather) content(dst []byte, size int) ([]byte, error) {
	c, kind, err := g.in.open(dst, g.r[:size])
	g.r = g.r[size:]
	switch {
	case err != nil:
		return nil, err
	case kind == typeApplication:
		return c, nil
	case kind == typeAlert && len(c) == 2 && c[1] == alertCloseNotify:
		return nil, io.EOF
	case kind == typeAlert && len(c) == 2 && c[1] == alertUserCanceled:
		return nil, nil // close_notify follows
	case kind == typeAlert && len(c) == 2:
		return nil, fmt.Errorf("remote error: %w", tls.AlertError(c[1]))
	case kind == typeHandshake && len(c) == 5 && c[0] == messageKeyUpdate:
		// What it may ask of us is due before our next content (RFC 8446
		// 4.6.3), and who receives sends none.
		return nil, g.in.renew()
	case kind == typeHandshake && len(c) > 0 && c[0] == messageTicket:
		return nil, nil
	}
	return nil, fmt.Errorf("TLS record of type %d amid content: %w", kind, io.ErrUnexpectedEOF)
}
