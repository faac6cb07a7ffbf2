//go:build linux && lab

package data

import (
	"bytes"
	"crypto/rand"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"runtime"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

func randomFile(t testing.TB, size int) (*os.File, []byte) {
	t.Helper()
	b := make([]byte, size)
	_, _ = rand.Read(b) // never fails since Go 1.24
	name := filepath.Join(t.TempDir(), "f")
	if err := os.WriteFile(name, b, 0o600); err != nil {
		t.Fatal(err)
	}
	f, err := os.Open(name)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { f.Close() })
	return f, b
}

// TestKernelRecords decrypts by hand what the kernel sends, for each cipher,
// to a reader that is fast and to one that lets the send buffer fill.
func TestKernelRecords(t *testing.T) {
	for _, c := range []struct {
		suite uint16
		size  int
	}{{tls.TLS_AES_128_GCM_SHA256, 16}, {tls.TLS_AES_256_GCM_SHA384, 32}, {tls.TLS_CHACHA20_POLY1305_SHA256, 32}} {
		for _, pause := range []time.Duration{0, 20 * time.Millisecond} {
			t.Run(fmt.Sprintf("%s/%v", tls.CipherSuiteName(c.suite), pause), func(t *testing.T) {
				k := &trafficKey{suite: c.suite, key: make([]byte, c.size), iv: make([]byte, 12), next: 7}
				_, _ = rand.Read(k.key)
				_, _ = rand.Read(k.iv)
				for _, size := range []int{0, 1, 16 << 10, 1<<20 + 5} {
					f, want := randomFile(t, size)
					a, b := pair(t)
					if err := a.SetWriteBuffer(20_000); err != nil {
						t.Fatal(err)
					}
					s, err := newKernelSender(a, k)
					if err != nil {
						t.Fatal(err)
					}
					conn := &TLSConn{gather: &gather{Conn: a, kernel: s}}
					sent := make(chan error, 1)
					go func() {
						x := begin(t.Context(), a, Options{Stall: 5 * time.Second})
						x.way = WayKernelTLS
						err := x.sendExtents(a, extentsOf(f))
						s.payload = x.bytes.Load()
						if err == nil {
							err = conn.CloseWrite()
						}
						_, err = x.end(err)
						sent <- err
					}()
					var raw []byte
					for p := make([]byte, 100_000); ; time.Sleep(pause) {
						n, err := b.Read(p)
						raw = append(raw, p[:n]...)
						if err == io.EOF {
							break
						}
						if err != nil {
							t.Fatal(err)
						}
					}
					if err := <-sent; err != nil {
						t.Fatalf("%d bytes, %d on the wire: %v", size, len(raw), err)
					}
					peer := *k
					got, alert := openRecords(t, &peer, raw)
					if !bytes.Equal(got, want) || !bytes.Equal(alert, []byte{1, 0}) {
						t.Errorf("%d bytes of %d, alert %v", len(got), len(want), alert)
					}
				}
			})
		}
	}
}

// TestKernelTLS sends through it to crypto/tls, from either side.
func TestKernelTLS(t *testing.T) {
	for _, name := range []string{"server", "client"} {
		t.Run(name, func(t *testing.T) {
			f, want := randomFile(t, 5<<20+3)
			from, to := tlsPair(t)
			if name == "client" {
				from, to = to, from
			}
			sent := make(chan Stats, 1)
			go func() {
				st, err := Send(t.Context(), from, f, Options{Stall: 10 * time.Second})
				if err != nil {
					t.Error(err)
				}
				sent <- st
			}()
			got, err := io.ReadAll(to)
			if err != nil || !bytes.Equal(got, want) {
				t.Errorf("%d bytes of %d: %v", len(got), len(want), err)
			}
			if st := <-sent; st.Way != WayKernelTLS || st.Bytes != int64(len(want)) {
				t.Errorf("%d bytes by %s", st.Bytes, st.Way)
			}
			if _, err := from.Write([]byte("x")); err == nil {
				t.Error("crypto/tls still sends")
			}
		})
	}
}

// BenchmarkSendTLS is what a download costs the sender; its peer only drops
// what arrives.
func BenchmarkSendTLS(b *testing.B) {
	for _, way := range []Way{WayKernelTLS, WayCopy} {
		b.Run(string(way), func(b *testing.B) {
			const size = 64 << 20
			f, _ := randomFile(b, size)
			b.SetBytes(size)
			var cpu time.Duration
			for b.Loop() {
				if _, err := f.Seek(0, io.SeekStart); err != nil {
					b.Fatal(err)
				}
				from, to := tlsPair(b)
				dropped := make(chan error, 1)
				go func() { dropped <- drop(to.NetConn().(*net.TCPConn)) }()
				var st Stats
				// The thread's own time: the peer's isn't wanted.
				cpu += threadTime(b, func() error {
					var err error
					st, err = Send(b.Context(), from, f, Options{Knobs: Knobs{Copy: way == WayCopy}})
					return err
				})
				if err := <-dropped; err != nil || st.Way != way {
					b.Fatalf("by %s: %v", st.Way, err)
				}
				from.Close()
				to.Close()
			}
			b.ReportMetric(cpu.Seconds()/float64(b.N)/size*(1<<30), "cpu-s/GiB")
		})
	}
}

// drop receives without copying until the end.
func drop(c *net.TCPConn) error {
	raw, err := c.SyscallConn()
	if err != nil {
		return err
	}
	for {
		var n int
		var errno syscall.Errno
		err := raw.Read(func(fd uintptr) bool {
			r, _, e := unix.Syscall6(unix.SYS_RECVFROM, fd, 0, 1<<20, unix.MSG_TRUNC, 0, 0)
			n, errno = int(r), e
			return e != unix.EAGAIN
		})
		if err != nil || errno != 0 {
			return errors.Join(err, errno)
		}
		if n == 0 {
			return nil
		}
	}
}

// threadTime returns the processor time of f.
func threadTime(b *testing.B, f func() error) time.Duration {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	used := func() time.Duration {
		var u unix.Rusage
		if err := unix.Getrusage(unix.RUSAGE_THREAD, &u); err != nil {
			b.Fatal(err)
		}
		return time.Duration(u.Utime.Nano() + u.Stime.Nano())
	}
	before := used()
	if err := f(); err != nil {
		b.Fatal(err)
	}
	return used() - before
}
