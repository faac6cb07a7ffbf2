package iperf3

import "crypto/rand"

// CookieLen is the length of a Cookie on the wire with its closing NUL.
const CookieLen = 37

// Cookie names one test: the first bytes of the control connection and of each
// TCP data connection of a client.
type Cookie [CookieLen]byte

// NewCookie returns a random cookie of 36 letters of the base32 alphabet
// a-z2-7 and a NUL.
func NewCookie() (c Cookie) {
	_, _ = rand.Read(c[:]) // crypto/rand.Read never fails since Go 1.24
	for i, b := range c {
		c[i] = "abcdefghijklmnopqrstuvwxyz234567"[b%32]
	}
	c[CookieLen-1] = 0
	return c
}

// String returns the cookie without its NUL.
func (c Cookie) String() string { return string(c[:CookieLen-1]) }
