package lever

import (
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"io/fs"
	"net/netip"
	"strings"

	"github.com/linerate/linerate/internal/host"
)

// InterfaceOf returns the interface of h whose network an address is of, by the
// routes and addresses in proc/net.
func InterfaceOf(h host.Host, address string) (string, error) {
	a, err := netip.ParseAddr(address)
	if err != nil {
		return "", fmt.Errorf("%q: want an address: %w", address, err)
	}
	a = a.Unmap()
	if a.Is4() {
		text, err := fs.ReadFile(h, "proc/net/route")
		if err != nil {
			return "", err
		}
		best, length := "", -1
		for line := range strings.Lines(string(text)) {
			f := strings.Fields(line) // interface, destination, gateway, ..., mask at 7
			if len(f) < 8 {
				continue
			}
			to, mask := routeNumber(f[1]), routeNumber(f[7])
			if n := ones(mask); covers(to, mask, a.As4()) && n > length {
				best, length = f[0], n
			}
		}
		if best != "" {
			return best, nil
		}
		return "", fmt.Errorf("no route to %s: %w", a, fs.ErrNotExist)
	}
	text, err := fs.ReadFile(h, "proc/net/if_inet6")
	if err != nil {
		return "", err
	}
	want := hex.EncodeToString(a.AsSlice())
	for line := range strings.Lines(string(text)) {
		if f := strings.Fields(line); len(f) == 6 && f[0] == want {
			return f[5], nil
		}
	}
	return "", fmt.Errorf("no interface has %s: %w", a, fs.ErrNotExist)
}

// routeNumber reads an address of proc/net/route: a number of 32 bits in the
// byte order of the machine, which holds the address in network order.
func routeNumber(s string) (a [4]byte) {
	b, err := hex.DecodeString(s)
	if err == nil && len(b) == 4 {
		binary.NativeEndian.PutUint32(a[:], binary.BigEndian.Uint32(b))
	}
	return a
}

func covers(to, mask, a [4]byte) bool {
	for i := range a {
		if a[i]&mask[i] != to[i] {
			return false
		}
	}
	return true
}

func ones(mask [4]byte) int {
	n := 0
	for _, b := range mask {
		for ; b != 0; b &= b - 1 {
			n++
		}
	}
	return n
}
