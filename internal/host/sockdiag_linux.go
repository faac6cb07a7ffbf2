package host

import (
	"encoding/binary"
	"errors"
	"io/fs"

	"golang.org/x/sys/unix"

	"github.com/linerate/linerate/internal/host/netlink"
)

// sockdiag is the tree below sockdiag/: the kernel's dump of its sockets as it
// came, for meter/tcpinfo to decode.
type sockdiag struct{}

// Extensions that an inet_diag dump is asked for (INET_DIAG_*).
const (
	inetDiagInfo      = 2
	inetDiagCong      = 4
	inetDiagSKMemInfo = 7
)

// withTCPInfo are the TCP states whose sockets have a struct tcp_info worth
// reading: all but CLOSE, LISTEN, TIME_WAIT and NEW_SYN_RECV.
const withTCPInfo = 1<<1 | 1<<2 | 1<<4 | 1<<5 | 1<<8 | 1<<9 | 1<<11

func (sockdiag) open(rest string) (fs.File, error) {
	switch rest {
	case "":
		return dir("sockdiag", entries("tcp")), nil
	case "tcp":
		dump, err := dumpTCP()
		return file(rest, dump), err
	}
	return nil, fs.ErrNotExist
}

func (sockdiag) write(string, string) error { return ErrUnsupported }

// dumpTCP asks for the TCP sockets over IPv4 and over IPv6 (sock_diag(7)).
func dumpTCP() ([]byte, error) {
	c, err := netlink.Dial(unix.NETLINK_SOCK_DIAG)
	if err != nil {
		return nil, err
	}
	defer c.Close()
	var dump []byte
	for _, family := range []byte{unix.AF_INET, unix.AF_INET6} {
		// struct inet_diag_req_v2: family, protocol, extensions, padding, states, socket id.
		req := make([]byte, 56)
		req[0], req[1] = family, unix.IPPROTO_TCP
		req[2] = 1<<(inetDiagInfo-1) | 1<<(inetDiagCong-1) | 1<<(inetDiagSKMemInfo-1)
		binary.NativeEndian.PutUint32(req[4:], withTCPInfo)
		part, err := c.Exchange(unix.SOCK_DIAG_BY_FAMILY, unix.NLM_F_DUMP, req)
		if errors.Is(err, unix.ENOENT) && family == unix.AF_INET6 {
			continue // a kernel without IPv6
		}
		if err != nil {
			return nil, err
		}
		dump = append(dump, part...)
	}
	return dump, nil
}
