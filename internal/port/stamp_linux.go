package port

import (
	"errors"
	"fmt"
	"os"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"
)

// StampingOf asks the driver what it can stamp (ETHTOOL_GET_TS_INFO).
func StampingOf(name string) (Stamping, error) {
	fd, err := unix.Socket(unix.AF_INET, unix.SOCK_DGRAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return Stamping{Clock: -1}, fmt.Errorf("port: time stamping of %s: %w", name, err)
	}
	defer unix.Close(fd)
	info, err := unix.IoctlGetEthtoolTsInfo(fd, name)
	if err != nil {
		return Stamping{Clock: -1}, fmt.Errorf("port: time stamping of %s: %w", name, err)
	}
	return stampingOf(info), nil
}

// stampingOf reads the answer: both ways in hardware, and of any frame.
func stampingOf(info *unix.EthtoolTsInfo) Stamping {
	const both = unix.SOF_TIMESTAMPING_TX_HARDWARE | unix.SOF_TIMESTAMPING_RX_HARDWARE | unix.SOF_TIMESTAMPING_RAW_HARDWARE
	return Stamping{Clock: int(info.Phc_index),
		Hardware: info.So_timestamping&both == both && info.Tx_types&(1<<unix.HWTSTAMP_TX_ON) != 0 && info.Rx_filters&(1<<unix.HWTSTAMP_FILTER_ALL) != 0}
}

// stamped is a packet socket whose frames carry time stamps
// (linux Documentation/networking/timestamping).
type stamped struct {
	*raw
	hardware bool
	oob      []byte
}

// OpenStamped is OpenRaw with time stamps: the NIC's where hardware is set,
// which switches its stamping on, else the kernel's.
func OpenStamped(name string, hardware bool) (Stamped, error) {
	p, err := OpenRaw(name)
	if err != nil {
		return nil, err
	}
	s := &stamped{raw: p.(*raw), hardware: hardware, oob: make([]byte, 512)}
	if err := s.enable(name); err != nil {
		return nil, errors.Join(fmt.Errorf("port: time stamps on %s: %w", name, err), p.Close())
	}
	s.info.HWTime = hardware
	return s, nil
}

func (s *stamped) enable(name string) error {
	flags := unix.SOF_TIMESTAMPING_SOFTWARE | unix.SOF_TIMESTAMPING_RX_SOFTWARE | unix.SOF_TIMESTAMPING_TX_SOFTWARE
	if s.hardware {
		flags = unix.SOF_TIMESTAMPING_RAW_HARDWARE | unix.SOF_TIMESTAMPING_RX_HARDWARE | unix.SOF_TIMESTAMPING_TX_HARDWARE
		if err := unix.IoctlSetHwTstamp(s.fd, name, &unix.HwTstampConfig{Tx_type: unix.HWTSTAMP_TX_ON, Rx_filter: unix.HWTSTAMP_FILTER_ALL}); err != nil {
			return fmt.Errorf("switch the NIC's on (it needs CAP_NET_ADMIN): %w", err)
		}
	}
	s.stamps = true
	s.in.stamped(stampBytes)
	return unix.SetsockoptInt(s.fd, unix.SOL_SOCKET, unix.SO_TIMESTAMPING, flags|unix.SOF_TIMESTAMPING_OPT_TSONLY)
}

// stampBytes is the room of a struct scm_timestamping: three times, of which
// the first is the kernel's and the third the NIC's.
var stampBytes = unix.CmsgSpace(3 * int(unsafe.Sizeof(unix.Timespec{})))

// stampIn finds the stamp beside a frame; the zero time where there is none.
func stampIn(control []byte) time.Time {
	msgs, err := unix.ParseSocketControlMessage(control)
	if err != nil {
		return time.Time{}
	}
	for _, m := range msgs {
		if m.Header.Level != unix.SOL_SOCKET || m.Header.Type != unix.SCM_TIMESTAMPING || len(m.Data) < 3*int(unsafe.Sizeof(unix.Timespec{})) {
			continue
		}
		for _, ts := range unsafe.Slice((*unix.Timespec)(unsafe.Pointer(&m.Data[0])), 3) {
			if sec, nsec := ts.Unix(); sec|nsec != 0 {
				return time.Unix(sec, nsec)
			}
		}
	}
	return time.Time{}
}

// Departure reads the socket's error queue, where stamps of what was sent come.
func (s *stamped) Departure() (time.Time, error) {
	for deadline := time.Now().Add(patience); time.Now().Before(deadline); {
		_, n, _, _, err := unix.Recvmsg(s.fd, nil, s.oob, unix.MSG_ERRQUEUE|unix.MSG_DONTWAIT)
		if err == nil {
			if at := stampIn(s.oob[:n]); !at.IsZero() {
				return at, nil
			}
			continue
		}
		if !errors.Is(err, unix.EAGAIN) && !errors.Is(err, unix.EINTR) {
			return time.Time{}, fmt.Errorf("port: time stamp of %s: %w", s.info.Name, err)
		}
		time.Sleep(10 * time.Microsecond)
	}
	return time.Time{}, fmt.Errorf("port: time stamp of %s: %w", s.info.Name, os.ErrDeadlineExceeded)
}
