package testnet

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/netip"
	"runtime"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// Run moves the traffic from a socket in one namespace to addr in another and
// returns what the sender's kernel counted. A transfer that its duration ends
// is no failure.
func (t Traffic) Run(ctx context.Context, from, to *Namespace, addr netip.Addr) (info TCPInfo, err error) {
	ctx, cancel := context.WithTimeout(ctx, cmp.Or(t.Duration, 10*time.Second))
	defer cancel()
	var l net.Listener
	err = to.Do(func() (err error) {
		c := net.ListenConfig{Control: option(unix.SOL_SOCKET, unix.SO_RCVBUF, t.ReceiveBuffer)}
		c.SetMultipathTCP(false)
		l, err = c.Listen(ctx, "tcp", netip.AddrPortFrom(addr, 0).String())
		return err
	})
	if err != nil {
		return info, fmt.Errorf("testnet: traffic: %w", err)
	}
	defer l.Close()
	sunk := make(chan error, 1)
	go func() { sunk <- t.sink(ctx, l) }()
	var conn net.Conn
	err = from.Do(func() (err error) {
		d := net.Dialer{}
		d.SetMultipathTCP(false)
		conn, err = d.DialContext(ctx, "tcp", l.Addr().String())
		return err
	})
	if err != nil {
		return info, fmt.Errorf("testnet: traffic: %w", err)
	}
	defer conn.Close()
	c := conn.(*net.TCPConn)
	if err := errors.Join(c.SetNoDelay(t.NoDelay), t.congestion(c)); err != nil {
		return info, fmt.Errorf("testnet: traffic: %w", err)
	}
	begin := time.Now()
	stop := context.AfterFunc(ctx, func() { c.SetDeadline(time.Now()) })
	defer stop()
	n, err := t.source(ctx, c)
	if ctx.Err() != nil || isTimeout(err) {
		err = nil // its time was up, at either end
	}
	c.CloseWrite()
	select {
	case e := <-sunk:
		err = errors.Join(err, e)
	case <-ctx.Done():
	}
	info, e := tcpInfo(c)
	info.Bytes, info.Elapsed = n, time.Since(begin)
	// Reset what is left, so that nothing is sent after it was counted.
	return info, errors.Join(err, e, c.SetLinger(0))
}

func isTimeout(err error) bool {
	var ne net.Error
	return errors.As(err, &ne) && ne.Timeout()
}

// option sets a socket option before the handshake, when a buffer's size still
// decides the window scale.
func option(level, name, value int) func(string, string, syscall.RawConn) error {
	return func(_, _ string, rc syscall.RawConn) (err error) {
		if value == 0 {
			return nil
		}
		cerr := rc.Control(func(fd uintptr) { err = unix.SetsockoptInt(int(fd), level, name, value) })
		return errors.Join(cerr, err)
	}
}

func (t Traffic) congestion(c *net.TCPConn) error {
	if t.Congestion == "" {
		return nil
	}
	rc, err := c.SyscallConn()
	if err != nil {
		return err
	}
	cerr := rc.Control(func(fd uintptr) {
		err = unix.SetsockoptString(int(fd), unix.IPPROTO_TCP, unix.TCP_CONGESTION, t.Congestion)
	})
	return errors.Join(cerr, err)
}

// source writes until the end of the transfer. It sleeps by itself, as Go's
// timers are a millisecond late.
func (t Traffic) source(ctx context.Context, c *net.TCPConn) (int64, error) {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	unix.Prctl(unix.PR_SET_TIMERSLACK, 1, 0, 0, 0)
	buf := make([]byte, cmp.Or(t.Write, 64<<10))
	reply := make([]byte, t.Reply)
	var n int64
	next := time.Now()
	rc, err := c.SyscallConn()
	if err != nil {
		return 0, err
	}
	for t.Bytes == 0 || n < int64(t.Bytes) {
		for range max(t.Burst, 1) {
			if err := t.room(ctx, rc, len(buf)); err != nil {
				return n, err
			}
			m, err := c.Write(buf)
			if n += int64(m); err != nil {
				return n, err
			}
		}
		if t.Reply > 0 {
			if _, err := io.ReadFull(c, reply); err != nil {
				return n, err
			}
		}
		if t.Every > 0 {
			next = next.Add(t.Every)
			if d := time.Until(next); d > 0 {
				ts := unix.NsecToTimespec(int64(d))
				unix.Nanosleep(&ts, nil)
			} else if d < -10*t.Every {
				next = time.Now()
			}
		}
	}
	return n, nil
}

// room waits until no more than SendBuffer bytes with n more are unacknowledged.
// The program does it, as Linux 6.18 lets a flight outgrow SO_SNDBUF.
func (t Traffic) room(ctx context.Context, rc syscall.RawConn, n int) error {
	for t.SendBuffer > 0 && ctx.Err() == nil {
		queued := 0
		var err error
		cerr := rc.Control(func(fd uintptr) { queued, err = unix.IoctlGetInt(int(fd), unix.SIOCOUTQ) })
		if err = errors.Join(cerr, err); err != nil || queued+n <= t.SendBuffer {
			return err
		}
		ts := unix.NsecToTimespec(20_000)
		unix.Nanosleep(&ts, nil)
	}
	return nil
}

// sink accepts one connection and reads, with pauses and replies.
func (t Traffic) sink(ctx context.Context, l net.Listener) error {
	conn, err := l.Accept()
	if err != nil {
		return err
	}
	defer conn.Close()
	stop := context.AfterFunc(ctx, func() { conn.SetDeadline(time.Now()) })
	defer stop()
	buf := make([]byte, 256<<10)
	reply := make([]byte, t.Reply)
	turn := max(t.Burst, 1) * cmp.Or(t.Write, 64<<10)
	got, since := 0, 0
	for {
		want := len(buf)
		if t.Read > 0 {
			want = min(want, t.Read-since)
		}
		if t.Reply > 0 {
			want = min(want, turn-got)
		}
		n, err := conn.Read(buf[:want])
		got, since = got+n, since+n
		if err == io.EOF || isTimeout(err) {
			return nil
		}
		if err != nil {
			return err
		}
		if t.Reply > 0 && got == turn {
			got = 0
			if _, err := conn.Write(reply); err != nil && !isTimeout(err) {
				return err
			}
		}
		if t.Read > 0 && since >= t.Read {
			since = 0
			time.Sleep(t.Pause)
		}
	}
}

func tcpInfo(c *net.TCPConn) (TCPInfo, error) {
	rc, err := c.SyscallConn()
	if err != nil {
		return TCPInfo{}, err
	}
	var ti *unix.TCPInfo
	cerr := rc.Control(func(fd uintptr) { ti, err = unix.GetsockoptTCPInfo(int(fd), unix.IPPROTO_TCP, unix.TCP_INFO) })
	if err = errors.Join(cerr, err); err != nil {
		return TCPInfo{}, fmt.Errorf("TCP_INFO: %w", err)
	}
	us := func(n uint64) time.Duration { return time.Duration(n) * time.Microsecond }
	return TCPInfo{
		Retransmits: int(ti.Total_retrans), RTT: us(uint64(ti.Rtt)), MinRTT: us(uint64(ti.Min_rtt)),
		Busy: us(ti.Busy_time), RwndLimited: us(ti.Rwnd_limited), SndbufLimited: us(ti.Sndbuf_limited),
		MSS: int(ti.Snd_mss), Cwnd: int(ti.Snd_cwnd), DeliveryRate: float64(ti.Delivery_rate) * 8,
		SegmentsOut: int(ti.Segs_out), DataSegmentsOut: int(ti.Data_segs_out), Lost: int(ti.Lost),
	}, nil
}
