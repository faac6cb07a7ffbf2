package stream

import (
	"fmt"
	"strings"

	"golang.org/x/sys/unix"
)

// apply sets the options on fd, in the order in which they depend on one
// another.
func (s Socket) apply(fd int, network string) error {
	tcp, v6 := strings.HasPrefix(network, "tcp"), strings.HasSuffix(network, "6")
	ints := []struct {
		name          string
		level, opt, v int
		wanted        bool
	}{
		{"SO_SNDBUF", unix.SOL_SOCKET, unix.SO_SNDBUF, or(s.SendBuffer, s.Window), s.SendBuffer > 0 || s.Window > 0},
		{"SO_RCVBUF", unix.SOL_SOCKET, unix.SO_RCVBUF, or(s.RecvBuffer, s.Window), s.RecvBuffer > 0 || s.Window > 0},
		{"TCP_MAXSEG", unix.IPPROTO_TCP, unix.TCP_MAXSEG, s.MSS, tcp && s.MSS > 0},
		{"IP_TOS", unix.IPPROTO_IP, unix.IP_TOS, s.TOS, s.TOS > 0 && !v6},
		{"IPV6_TCLASS", unix.IPPROTO_IPV6, unix.IPV6_TCLASS, s.TOS, s.TOS > 0 && v6},
		{"IP_MTU_DISCOVER", unix.IPPROTO_IP, unix.IP_MTU_DISCOVER, unix.IP_PMTUDISC_DO, s.DontFrag && !v6},
		{"IPV6_MTU_DISCOVER", unix.IPPROTO_IPV6, unix.IPV6_MTU_DISCOVER, unix.IPV6_PMTUDISC_DO, s.DontFrag && v6},
	}
	for _, o := range ints {
		if !o.wanted {
			continue
		}
		if err := unix.SetsockoptInt(fd, o.level, o.opt, o.v); err != nil {
			return fmt.Errorf("set %s to %d: %w", o.name, o.v, err)
		}
	}
	if s.Congestion != "" && tcp {
		if err := unix.SetsockoptString(fd, unix.IPPROTO_TCP, unix.TCP_CONGESTION, s.Congestion); err != nil {
			return fmt.Errorf("congestion control %q (see net.ipv4.tcp_allowed_congestion_control): %w", s.Congestion, err)
		}
	}
	if s.Device != "" {
		if err := unix.BindToDevice(fd, s.Device); err != nil {
			return fmt.Errorf("bind to device %s: %w", s.Device, err)
		}
	}
	if s.Pacing > 0 {
		// The option is in bytes per second (linux net/core/sock.c).
		if err := unix.SetsockoptUint64(fd, unix.SOL_SOCKET, unix.SO_MAX_PACING_RATE, s.Pacing/8); err != nil {
			return fmt.Errorf("set SO_MAX_PACING_RATE: %w", err)
		}
	}
	return nil
}

func or(a, b int) int {
	if a > 0 {
		return a
	}
	return b
}
