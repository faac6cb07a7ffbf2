package ftp

import (
	"fmt"
	"net/netip"
	"strconv"
	"strings"
)

// ParsePort reads the argument of PORT, "h1,h2,h3,h4,p1,p2" (RFC 959 4.1.2).
func ParsePort(arg string) (netip.AddrPort, error) {
	var n [6]byte
	fields := strings.Split(strings.TrimSpace(arg), ",")
	if len(fields) != len(n) {
		return netip.AddrPort{}, fmt.Errorf("address %.40q: want h1,h2,h3,h4,p1,p2: %w", arg, ErrSyntax)
	}
	for i, f := range fields {
		v, err := strconv.ParseUint(f, 10, 8)
		if err != nil {
			return netip.AddrPort{}, fmt.Errorf("address %.40q: want numbers up to 255: %w", arg, ErrSyntax)
		}
		n[i] = byte(v)
	}
	return netip.AddrPortFrom(netip.AddrFrom4([4]byte(n[:4])), uint16(n[4])<<8|uint16(n[5])), nil
}

// FormatPort writes the argument of PORT and the body of a 227 reply. The
// address must be IPv4 (also mapped into IPv6).
func FormatPort(a netip.AddrPort) string {
	h := a.Addr().Unmap().As4()
	return fmt.Sprintf("%d,%d,%d,%d,%d,%d", h[0], h[1], h[2], h[3], a.Port()>>8, a.Port()&0xff)
}

// ParsePASV finds the address in the text of a 227 reply. RFC 1123 4.1.2.6
// tells clients to look for the digits, for servers differ in what is around.
func ParsePASV(text string) (netip.AddrPort, error) {
	for i := range len(text) {
		if isDigit(text[i]) && (i == 0 || !isDigit(text[i-1])) {
			end := i
			for end < len(text) && (isDigit(text[end]) || text[end] == ',') {
				end++
			}
			if a, err := ParsePort(text[i:end]); err == nil {
				return a, nil
			}
		}
	}
	return netip.AddrPort{}, fmt.Errorf("PASV reply %.60q: no address: %w", text, ErrSyntax)
}

// The network protocols of EPRT and EPSV (RFC 2428 2, the address family
// numbers of IANA).
const (
	ProtoIPv4 = 1
	ProtoIPv6 = 2
)

// ErrProtocol is wrapped for a network protocol other than IPv4 and IPv6; a
// server answers 522 (RFC 2428 2).
var ErrProtocol = fmt.Errorf("network protocol not supported, use (1,2): %w", ErrSyntax)

// ParseEPRT reads the argument of EPRT, "|2|::1|6275|" (RFC 2428 2).
func ParseEPRT(arg string) (netip.AddrPort, error) {
	bad := fmt.Errorf("EPRT %.80q: want |proto|address|port|: %w", arg, ErrSyntax)
	if len(arg) < 2 || arg[0] < 33 || arg[0] > 126 {
		return netip.AddrPort{}, bad
	}
	f := strings.Split(arg, arg[:1])
	if len(f) != 5 || f[0] != "" || f[4] != "" {
		return netip.AddrPort{}, bad
	}
	if f[1] != "1" && f[1] != "2" {
		if _, err := strconv.ParseUint(f[1], 10, 16); err != nil {
			return netip.AddrPort{}, bad
		}
		return netip.AddrPort{}, fmt.Errorf("EPRT %.80q: %w", arg, ErrProtocol)
	}
	a, err := netip.ParseAddr(f[2])
	port, perr := strconv.ParseUint(f[3], 10, 16)
	if err != nil || perr != nil || a.Zone() != "" || a.Is4() != (f[1] == "1") {
		return netip.AddrPort{}, bad
	}
	return netip.AddrPortFrom(a, uint16(port)), nil
}

// FormatEPRT writes the argument of EPRT.
func FormatEPRT(a netip.AddrPort) string {
	addr, proto := a.Addr().Unmap().WithZone(""), ProtoIPv6
	if addr.Is4() {
		proto = ProtoIPv4
	}
	return fmt.Sprintf("|%d|%s|%d|", proto, addr, a.Port())
}

// ParseEPSV finds the port in the text of a 229 reply, "... (|||6446|)"
// (RFC 2428 3).
func ParseEPSV(text string) (uint16, error) {
	if _, body, ok := strings.Cut(text, "("); ok && len(body) > 4 {
		d := body[0]
		digits, after, closed := strings.Cut(body[3:], string(rune(d)))
		port, err := strconv.ParseUint(digits, 10, 16)
		if d < 128 && body[1] == d && body[2] == d && closed && err == nil && port > 0 && strings.HasPrefix(after, ")") {
			return uint16(port), nil
		}
	}
	return 0, fmt.Errorf("EPSV reply %.60q: no (|||port|): %w", text, ErrSyntax)
}

// FormatEPSV writes the text of a 229 reply.
func FormatEPSV(port uint16) string {
	return fmt.Sprintf("Entering Extended Passive Mode (|||%d|)", port)
}

func isDigit(b byte) bool { return '0' <= b && b <= '9' }
