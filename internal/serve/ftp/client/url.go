package client

import (
	"errors"
	"fmt"
	"net"
	"net/url"
	"strings"

	"github.com/linerate/linerate/internal/wire/ftp"
)

// Security says how the connections to a server are protected.
type Security int

// The ways of RFC 4217 and before it.
const (
	Plain    Security = iota // ftp://
	Explicit                 // ftpes://: AUTH TLS before USER, RFC 4217 4
	Implicit                 // ftps://: TLS from the first byte, port 990
)

// Location is a server, the account on it and a path there.
type Location struct {
	Security Security
	Host     string // with port
	User     string // empty: none given
	Password string
	Path     string // relative to the directory after login unless it begins with "/"
}

// ParseURL reads ftp://[user[:password]@]host[:port]/path as RFC 1738 3.2
// defines it, and ftpes:// (explicit TLS) and ftps:// (implicit TLS) alike. The
// path is relative to the directory the server logs us in to; "//path" or
// "/%2Fpath" starts at its root. A trailing slash names a directory and is
// kept.
func ParseURL(s string) (Location, error) {
	u, err := url.Parse(s)
	if err != nil {
		// The error of package url repeats the URL, password included.
		if bad, ok := errors.AsType[*url.Error](err); ok {
			err = bad.Err
		}
		return Location{}, fmt.Errorf("URL: %w; want ftp://user:password@host/path", err)
	}
	security, ok := map[string]Security{"ftp": Plain, "ftpes": Explicit, "ftps": Implicit}[u.Scheme]
	if !ok {
		return Location{}, fmt.Errorf("URL %s: want ftp://, ftpes:// (explicit TLS) or ftps:// (implicit TLS)", u.Redacted())
	}
	if u.Hostname() == "" || u.RawQuery != "" || u.Fragment != "" {
		return Location{}, fmt.Errorf("URL %s: want ftp://user:password@host/path, with ? and # in the path as %%3F and %%23", u.Redacted())
	}
	l := Location{Security: security, Path: strings.TrimPrefix(u.Path, "/")}
	l.Path, _, _ = strings.Cut(l.Path, ";type=") // RFC 1738 3.2.2; always image here
	l.Host = net.JoinHostPort(u.Hostname(), u.Port())
	if u.Port() == "" {
		l.Host = net.JoinHostPort(u.Hostname(), map[Security]string{Plain: "21", Explicit: "21", Implicit: "990"}[security])
	}
	if u.User != nil {
		l.User = u.User.Username()
		l.Password, _ = u.User.Password()
	}
	for _, part := range []string{l.User, l.Password, l.Path} {
		if !(ftp.Command{Verb: "X", Arg: part}).Valid() {
			return Location{}, fmt.Errorf("URL %s: a line feed or NUL cannot be sent in an FTP command", u.Redacted())
		}
	}
	return l, nil
}

// IsURL reports whether s names a server rather than a local file.
func IsURL(s string) bool {
	scheme, _, ok := strings.Cut(s, "://")
	return ok && (scheme == "ftp" || scheme == "ftps" || scheme == "ftpes")
}

// String returns the URL without user and password, for logs and results.
func (l Location) String() string {
	scheme, port := "ftp", "21"
	switch l.Security {
	case Explicit:
		scheme = "ftpes"
	case Implicit:
		scheme, port = "ftps", "990"
	}
	host := l.Host
	if h, p, err := net.SplitHostPort(l.Host); err == nil && p == port {
		if host = h; strings.Contains(h, ":") {
			host = "[" + h + "]"
		}
	}
	return (&url.URL{Scheme: scheme, Host: host, Path: "/" + l.Path}).String()
}
