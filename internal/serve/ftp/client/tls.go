package client

import (
	"context"
	"crypto/tls"
	"fmt"
	"net"
	"sync"
)

// protect puts TLS on the control connection.
func (c *Conn) protect(ctx context.Context) error {
	if len(c.unread) > 0 {
		// Bytes sent before TLS must not count as sent within it.
		return fmt.Errorf("AUTH TLS: the server sent data before the handshake")
	}
	c.tls = &tls.Config{}
	if c.cfg.TLS != nil {
		c.tls = c.cfg.TLS.Clone()
	}
	if c.tls.ServerName == "" {
		c.tls.ServerName, _, _ = net.SplitHostPort(c.cfg.Host)
	}
	c.tls.ClientSessionCache = &tickets{}
	stop := c.guard(ctx, c.cfg.Timeout)
	defer stop()
	t := tls.Client(c.tcp, c.tls)
	if err := t.HandshakeContext(ctx); err != nil {
		return tlsError(err)
	}
	c.ctl = t
	return nil
}

// tlsError says what to do about a certificate that can't be checked.
func tlsError(err error) error {
	if _, ok := err.(*tls.CertificateVerificationError); ok {
		return fmt.Errorf("TLS: %w; name its authority with --ca FILE, or accept any certificate with --insecure", err)
	}
	return fmt.Errorf("TLS: %w", err)
}

// maxTickets bounds the sessions kept for one server.
const maxTickets = 16

// tickets keeps the TLS sessions of one server. Servers that require session
// reuse (RFC 4217 10.2) want each data connection to resume the control
// connection's session. TLS 1.3 wants every ticket used once, but an upload may
// close before its new ticket is read, so the last one is kept for any number
// of uses.
type tickets struct {
	mu   sync.Mutex
	kept []*tls.ClientSessionState
}

// Get takes out the oldest ticket, but leaves the last. The key doesn't
// matter: control and data connections differ in the port only.
func (t *tickets) Get(string) (*tls.ClientSessionState, bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if len(t.kept) == 0 {
		return nil, false
	}
	s := t.kept[0]
	if len(t.kept) > 1 {
		t.kept = t.kept[1:]
	}
	return s, true
}

// Put keeps a new ticket. A nil one, which crypto/tls puts after using a
// ticket of TLS 1.3, is ignored.
func (t *tickets) Put(_ string, s *tls.ClientSessionState) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if s != nil && len(t.kept) < maxTickets {
		t.kept = append(t.kept, s)
	}
}
