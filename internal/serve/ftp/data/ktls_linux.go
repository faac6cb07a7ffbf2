package data

import (
	"cmp"
	"crypto/tls"
	"encoding/binary"
	"fmt"
	"net"
	"syscall"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"
)

// kernelTLS says that the traffic secret may be of use.
const kernelTLS = true

// From the kernel's include/uapi/linux/tls.h.
const (
	tlsTX            = 1 // TLS_TX
	tlsTXZerocopyRO  = 3 // TLS_TX_ZEROCOPY_RO, since Linux 5.19
	tlsSetRecordType = 1 // TLS_SET_RECORD_TYPE
	cipherAES128GCM  = 51
	cipherAES256GCM  = 52
	cipherChaCha20   = 54
	cryptoInfoHeader = 4 // struct tls_crypto_info: version, cipher_type
)

// kernelSender is a socket whose records the kernel makes.
type kernelSender struct {
	raw     syscall.RawConn
	info    int    // size of the cipher's struct tls12_crypto_info_...
	first   uint64 // sequence number of its first record
	begin   int64  // wirePosition before that
	payload int64  // bytes given to it
	closed  bool
}

// newKernelSender gives k to the kernel. It fails where there is no module tls,
// or one that is too old or lacks the cipher: the socket then still takes what crypto/tls made.
func newKernelSender(c *net.TCPConn, k *trafficKey) (*kernelSender, error) {
	raw, err := c.SyscallConn()
	if err != nil {
		return nil, err
	}
	info, err := k.cryptoInfo()
	if err != nil {
		return nil, err
	}
	defer clear(info)
	s := &kernelSender{raw: raw, info: len(info), first: k.next}
	cerr := raw.Control(func(fd uintptr) {
		if err = unix.SetsockoptString(int(fd), unix.IPPROTO_TCP, unix.TCP_ULP, "tls"); err != nil {
			return
		}
		// Older kernels don't tell the sequence number for each cipher.
		if _, err = unix.GetsockoptInt(int(fd), unix.SOL_TLS, tlsTXZerocopyRO); err != nil {
			return
		}
		if s.begin, err = wirePosition(int(fd)); err != nil {
			return
		}
		err = unix.SetsockoptString(int(fd), unix.SOL_TLS, tlsTX, string(info))
	})
	if err = cmp.Or(cerr, err); err != nil {
		return nil, fmt.Errorf("kernel TLS: %w", err)
	}
	return s, nil
}

// cryptoInfo is k as struct tls12_crypto_info_aes_gcm_128 and the like, which
// serve TLS 1.3 too: header, IV, key, salt (an IV's first four bytes, for GCM),
// sequence number.
func (k *trafficKey) cryptoInfo() ([]byte, error) {
	salt := 4
	var kind uint16
	switch k.suite {
	case tls.TLS_AES_128_GCM_SHA256:
		kind = cipherAES128GCM
	case tls.TLS_AES_256_GCM_SHA384:
		kind = cipherAES256GCM
	case tls.TLS_CHACHA20_POLY1305_SHA256:
		kind, salt = cipherChaCha20, 0
	default:
		return nil, errNoKernelTLS
	}
	b := make([]byte, 0, cryptoInfoHeader+len(k.iv)+len(k.key)+8)
	b = binary.NativeEndian.AppendUint16(b, tls.VersionTLS13)
	b = binary.NativeEndian.AppendUint16(b, kind)
	b = append(b, k.iv[salt:]...)
	b = append(b, k.key...)
	b = append(b, k.iv[:salt]...)
	return binary.BigEndian.AppendUint64(b, k.next), nil
}

// closeNotify sends close_notify (RFC 8446 6.1) and waits until TCP has all
// records: FIN could overtake those that the kernel still holds back because
// the send buffer was full, and cut the stream off.
func (s *kernelSender) closeNotify() error {
	if s.closed {
		return nil
	}
	told := false
	for wait := 50 * time.Microsecond; ; wait = min(2*wait, patience) {
		left := int64(1)
		var serr error
		// Write, for a transfer that is stopped sets the deadline for writes.
		err := s.raw.Write(func(fd uintptr) bool {
			if !told {
				serr = s.alert(int(fd))
				told = serr == nil
			}
			switch {
			case told:
				left, serr = s.unsent(int(fd))
			case serr == unix.EAGAIN || serr == unix.EINTR:
				serr = uncork(int(fd))
			}
			return true
		})
		if err = cmp.Or(err, serr); err != nil {
			return fmt.Errorf("end kernel TLS: %w", err)
		}
		if left <= 0 {
			s.closed = true
			return nil
		}
		time.Sleep(wait)
	}
}

// alert sends close_notify in a record of its type.
func (s *kernelSender) alert(fd int) error {
	const alert, warning, closeNotify = 21, 1, 0
	control := make([]byte, unix.CmsgSpace(1))
	h := (*unix.Cmsghdr)(unsafe.Pointer(&control[0]))
	h.Level, h.Type = unix.SOL_TLS, tlsSetRecordType
	h.SetLen(unix.CmsgLen(1))
	control[unix.CmsgLen(0)] = alert
	message := []byte{warning, closeNotify}
	if _, err := unix.SendmsgN(fd, message, control, nil, unix.MSG_NOSIGNAL); err != nil {
		return err
	}
	s.payload += int64(len(message))
	return nil
}

// uncork sends the segment that sendfile(2) began and holds back for more: TLS
// in the kernel (6.1) waits for room in the send buffer without that, for ever
// if the segment is all that fills it. Nothing would wake the poller up then;
// so uncork and another sendfile follow each wait.
func uncork(fd int) error { return unix.SetsockoptInt(fd, unix.IPPROTO_TCP, unix.TCP_NODELAY, 1) }

// unsent returns how many bytes of records TCP has not got yet.
func (s *kernelSender) unsent(fd int) (int64, error) {
	info := make([]byte, s.info)
	defer clear(info)
	size := uint32(len(info))
	_, _, errno := unix.Syscall6(unix.SYS_GETSOCKOPT, uintptr(fd), unix.SOL_TLS, tlsTX,
		uintptr(unsafe.Pointer(&info[0])), uintptr(unsafe.Pointer(&size)), 0)
	if errno != 0 {
		return 0, errno
	}
	records := binary.BigEndian.Uint64(info[len(info)-8:]) - s.first
	at, err := wirePosition(fd)
	return s.begin + s.payload + int64(records)*recordOverhead - at, err
}

// wirePosition is how much TCP was given to send so far: what is acknowledged
// and what isn't. Acknowledgements between the two looks make it less, never
// more.
func wirePosition(fd int) (int64, error) {
	info, err := unix.GetsockoptTCPInfo(fd, unix.IPPROTO_TCP, unix.TCP_INFO)
	if err != nil {
		return 0, err
	}
	queued, err := unix.IoctlGetInt(fd, unix.SIOCOUTQ)
	return int64(info.Bytes_acked) + int64(queued), err
}
