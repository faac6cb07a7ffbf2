package data

import (
	"bytes"
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/sha256"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"hash"
	"io"
	"math/big"
	"net"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/linerate/linerate/internal/serve/ftp/store"
	"github.com/linerate/linerate/internal/serve/ftp/store/disk"
	"github.com/linerate/linerate/internal/serve/ftp/store/memory"
	"github.com/linerate/linerate/internal/serve/ftp/store/storetest"
)

// pair returns the two ends of a TCP connection over loopback.
func pair(t testing.TB) (a, b *net.TCPConn) {
	t.Helper()
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer ln.Close()
	c, err := net.Dial("tcp", ln.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	s, err := ln.Accept()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close(); s.Close() })
	return s.(*net.TCPConn), c.(*net.TCPConn)
}

// tlsPair returns the same with TLS over it.
func tlsPair(t testing.TB) (server, client *TLSConn) {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	tmpl := &x509.Certificate{SerialNumber: big.NewInt(1), NotAfter: time.Now().Add(time.Hour)}
	der, err := x509.CreateCertificate(rand.Reader, tmpl, tmpl, key.Public(), key)
	if err != nil {
		t.Fatal(err)
	}
	conf := &tls.Config{Certificates: []tls.Certificate{{Certificate: [][]byte{der}, PrivateKey: key}}, InsecureSkipVerify: true,
		ClientSessionCache: tls.NewLRUClientSessionCache(1)} // for the server to send a ticket
	a, b := pair(t)
	done := make(chan error, 1)
	go func() {
		var err error
		client, err = TLSClient(t.Context(), b, conf)
		done <- err
	}()
	if server, err = TLSServer(t.Context(), a, conf); err != nil {
		t.Fatal(err)
	}
	if err := <-done; err != nil {
		t.Fatal(err)
	}
	return server, client
}

func memoryStore(t *testing.T, budget int64) store.Store {
	t.Helper()
	s, err := memory.New(memory.Options{Budget: budget})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close() })
	return s
}

func diskStore(t *testing.T, o disk.Options) store.Store {
	t.Helper()
	s, err := disk.Open(t.TempDir(), o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close() })
	return s
}

var lengths = []int{0, 1, 511, 65_537, 3<<20 + 17}

// threads lets one transfer at a time leave the poller.
var threads = NewThreads(1)

var knobs = map[string]Options{
	"fastest": {}, "copied": {Knobs: Knobs{Copy: true}},
	"small steps": {Knobs: Knobs{SendSize: 512, Yield: true, SendBuffer: 1 << 17, ReceiveBuffer: 1 << 17, ReceiveLimit: 8192}},
	"paced":       {Limit: NewLimiter(400 << 20), Stall: time.Minute},
	"threads":     {Threads: threads},
}

func fill(t *testing.T, s store.Store, name string, b []byte) {
	t.Helper()
	w, err := s.Create(t.Context(), name, store.CreateOptions{})
	if err == nil {
		if _, err = w.Write(b); err == nil {
			err = w.Commit()
		}
	}
	if err != nil {
		t.Fatal(err)
	}
}

func content(t *testing.T, s store.Store, name string) []byte {
	t.Helper()
	r, err := s.Open(t.Context(), name, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	b, err := io.ReadAll(r)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// TestBytes sends and receives every length by every way and looks at each byte.
func TestBytes(t *testing.T) {
	for storeName, s := range map[string]store.Store{"disk": diskStore(t, disk.Options{}), "memory": memoryStore(t, 64<<20)} {
		for _, secure := range []bool{false, true} {
			for knobName, o := range knobs {
				t.Run(fmt.Sprintf("%s/tls=%t/%s", storeName, secure, knobName), func(t *testing.T) {
					for _, n := range lengths {
						b := storetest.Bytes(n)
						fill(t, s, "/out", b)
						for _, off := range []int{0, n / 3, n} {
							checkSend(t, s, o, secure, int64(off), b[off:])
							checkRecv(t, s, o, secure, b, off)
						}
					}
				})
			}
		}
	}
}

func ends(t *testing.T, secure bool) (a, b net.Conn) {
	t.Helper()
	if secure {
		return tlsPair(t)
	}
	return pair(t)
}

func checkSend(t *testing.T, s store.Store, o Options, secure bool, off int64, want []byte) {
	t.Helper()
	a, b := ends(t, secure)
	defer a.Close()
	r, err := s.Open(t.Context(), "/out", off)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	got := make(chan []byte, 1)
	go func() {
		all, err := io.ReadAll(b)
		if err != nil {
			t.Error(err)
		}
		got <- all
	}()
	var moved atomic.Int64
	o.Moved = &moved
	st, err := Send(t.Context(), a, r, o)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(<-got, want) {
		t.Fatalf("%s of %d bytes from %d: other bytes arrived", st.Way, len(want), off)
	}
	if st.Bytes != int64(len(want)) || moved.Load() != st.Bytes {
		t.Errorf("counted %d, moved %d of %d", st.Bytes, moved.Load(), len(want))
	}
	if o.SendSize > 0 && st.Calls < int64(len(want)/o.SendSize) {
		t.Errorf("%d sends of at most %d bytes", st.Calls, o.SendSize)
	}
}

func checkRecv(t *testing.T, s store.Store, o Options, secure bool, want []byte, off int) {
	t.Helper()
	a, b := ends(t, secure)
	defer a.Close()
	fill(t, s, "/in", want[:off])
	w, err := s.Create(t.Context(), "/in", store.CreateOptions{Offset: int64(off)})
	if err != nil {
		t.Fatal(err)
	}
	go func() {
		_, err := b.Write(want[off:])
		if err = errors.Join(err, closeWrite(b)); err != nil {
			t.Error(err)
		}
	}()
	st, err := Recv(t.Context(), w, a, o)
	if err = errors.Join(err, w.Commit()); err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(content(t, s, "/in"), want) {
		t.Fatalf("%s of %d bytes from %d: other bytes are in the store", st.Way, len(want)-off, off)
	}
	if st.Bytes != int64(len(want)-off) {
		t.Errorf("counted %d of %d", st.Bytes, len(want)-off)
	}
}

// TestWays pins the way that each pair of store and socket must take: one that
// falls back to copying is slow, but shows in no other test.
func TestWays(t *testing.T) {
	for _, c := range []struct {
		name     string
		s        store.Store
		secure   bool
		out, in  Way
		knobCopy bool
	}{
		{"disk", diskStore(t, disk.Options{}), false, WaySendfile, WaySplice, false},
		{"memory", memoryStore(t, 8<<20), false, WaySendfile, WayMapped, false},
		{"disk tls", diskStore(t, disk.Options{}), true, WayCopy, WayCopy, false},
		{"memory tls", memoryStore(t, 8<<20), true, WayMapped, WayMapped, false},
		{"disk copied", diskStore(t, disk.Options{}), false, WayCopy, WayCopy, true},
		{"memory copied", memoryStore(t, 8<<20), false, WayCopy, WayCopy, true},
	} {
		t.Run(c.name, func(t *testing.T) {
			fill(t, c.s, "/f", []byte("x"))
			r, err := c.s.Open(t.Context(), "/f", 0)
			if err != nil {
				t.Fatal(err)
			}
			defer r.Close()
			w, err := c.s.Create(t.Context(), "/g", store.CreateOptions{})
			if err != nil {
				t.Fatal(err)
			}
			defer w.Abort()
			a, b := ends(t, c.secure)
			o := Options{Knobs: Knobs{Copy: c.knobCopy}}
			sent := make(chan Stats, 1)
			go func() {
				st, err := Send(t.Context(), b, r, o)
				if err != nil {
					t.Error(err)
				}
				sent <- st
			}()
			st, err := Recv(t.Context(), w, a, o)
			if err != nil {
				t.Fatal(err)
			}
			out := (<-sent).Way
			if out == WayKernelTLS && c.secure && !c.knobCopy {
				out = c.out // a kernel that has it; TestKernelTLS pins it there
			}
			if out != c.out || st.Way != c.in {
				t.Errorf("out by %s, want %s; in by %s, want %s", out, c.out, st.Way, c.in)
			}
			if st.TCP == nil || st.TCP.SegmentsIn == 0 {
				t.Errorf("TCP_INFO %+v", st.TCP)
			}
		})
	}
}

// TestBeyond4GiB resumes where 32 bits end, both ways, in a sparse file.
func TestBeyond4GiB(t *testing.T) {
	const hole = 4<<30 + 12345
	dir := t.TempDir()
	f, err := os.Create(filepath.Join(dir, "f"))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	tail := storetest.Bytes(100_003)
	if _, err := f.WriteAt(tail, hole); err != nil {
		t.Fatal(err)
	}
	s, err := disk.Open(dir, disk.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	a, b := pair(t)
	r, err := s.Open(t.Context(), "/f", hole)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	go Send(t.Context(), a, r, Options{})
	if got, err := io.ReadAll(b); err != nil || !bytes.Equal(got, tail) {
		t.Fatalf("other bytes behind 4 GiB, or %v", err)
	}

	// The upload goes on in a part of that length.
	if err := os.Rename(filepath.Join(dir, "f"), filepath.Join(dir, ".f.part")); err != nil {
		t.Fatal(err)
	}
	w, err := s.Create(t.Context(), "/f", store.CreateOptions{Append: true})
	if err != nil {
		t.Fatal(err)
	}
	in, out := pair(t)
	go func() { out.Write(tail); out.Close() }()
	if _, err := Recv(t.Context(), w, in, Options{}); err != nil {
		t.Fatal(err)
	}
	if err := w.Commit(); err != nil {
		t.Fatal(err)
	}
	end := make([]byte, 2*len(tail))
	if _, err := f.ReadAt(end, hole); err != nil && err != io.EOF {
		t.Fatal(err)
	}
	if !bytes.Equal(end, append(tail, tail...)) {
		t.Error("other bytes behind 4 GiB")
	}
}

// hashWriter and endless: a large transfer without memory for it.
type endless struct{ hash.Hash }

func (e endless) Read(p []byte) (int, error) {
	rand.Read(p[:min(len(p), 1<<16)])
	return e.Write(p)
}

func TestLarge(t *testing.T) {
	for name, s := range map[string]store.Store{"disk": diskStore(t, disk.Options{}), "memory": memoryStore(t, 256<<20)} {
		t.Run(name, func(t *testing.T) {
			const n = 100<<20 + 1
			sum := sha256.New()
			w, err := s.Create(t.Context(), "/f", store.CreateOptions{Size: n})
			if err != nil {
				t.Fatal(err)
			}
			a, b := pair(t)
			go func() {
				io.CopyN(b, endless{sum}, n)
				b.Close()
			}()
			if _, err := Recv(t.Context(), w, a, Options{}); err != nil {
				t.Fatal(err)
			}
			if err := w.Commit(); err != nil {
				t.Fatal(err)
			}
			r, err := s.Open(t.Context(), "/f", 0)
			if err != nil {
				t.Fatal(err)
			}
			defer r.Close()
			out, in := pair(t)
			go Send(t.Context(), out, r, Options{})
			got := sha256.New()
			m, err := io.Copy(got, in)
			if err != nil || m != n {
				t.Fatalf("%d bytes of %d came back (%v)", m, n, err)
			}
			if !bytes.Equal(got.Sum(nil), sum.Sum(nil)) {
				t.Error("the hash of what came back differs")
			}
		})
	}
}

func TestCancel(t *testing.T) {
	for name, s := range map[string]store.Store{"disk": diskStore(t, disk.Options{}), "memory": memoryStore(t, 64<<20), "disk, threads": diskStore(t, disk.Options{}), "memory, threads": memoryStore(t, 64<<20)} {
		t.Run(name, func(t *testing.T) {
			var threads *Threads
			if strings.HasSuffix(name, "threads") {
				threads = NewThreads(1)
			}
			why := errors.New("ABOR")
			fill(t, s, "/f", storetest.Bytes(32<<20))
			r, err := s.Open(t.Context(), "/f", 0)
			if err != nil {
				t.Fatal(err)
			}
			defer r.Close()
			a, b := pair(t)
			ctx, cancel := context.WithCancelCause(t.Context())
			go func() { io.CopyN(io.Discard, b, 1<<20); cancel(why) }() // then it reads no more
			st, err := Send(ctx, a, r, Options{Threads: threads})
			if !errors.Is(err, why) || st.Bytes < 1<<20 {
				t.Errorf("sent %d bytes: %v", st.Bytes, err)
			}

			head := storetest.Bytes(1 << 20)
			w, err := s.Create(t.Context(), "/g", store.CreateOptions{})
			if err != nil {
				t.Fatal(err)
			}
			in, out := pair(t)
			ctx, cancel = context.WithCancelCause(t.Context())
			var moved atomic.Int64
			go func() {
				out.Write(head)
				for moved.Load() < 1<<19 {
					time.Sleep(time.Millisecond)
				}
				cancel(why)
			}()
			st, err = Recv(ctx, w, in, Options{Moved: &moved, Threads: threads})
			if !errors.Is(err, why) {
				t.Errorf("received %d bytes: %v", st.Bytes, err)
			}
			if err := w.Abort(); err != nil {
				t.Fatal(err)
			}
			i, err := s.Stat(t.Context(), "/g")
			if err != nil || !i.Partial || i.Size != st.Bytes {
				t.Errorf("of %d bytes there remain %+v (%v)", st.Bytes, i, err)
			}
		})
	}
}

func TestStall(t *testing.T) {
	for _, threads := range []*Threads{nil, NewThreads(1)} {
		a, _ := pair(t)
		s := memoryStore(t, 1<<20)
		w, err := s.Create(t.Context(), "/f", store.CreateOptions{})
		if err != nil {
			t.Fatal(err)
		}
		defer w.Abort()
		if _, err := Recv(t.Context(), w, a, Options{Stall: 20 * time.Millisecond, Threads: threads}); !errors.Is(err, ErrStalled) {
			t.Errorf("received: %v", err)
		}
	}
}

func TestPeerReset(t *testing.T) {
	for name, s := range map[string]store.Store{"disk": diskStore(t, disk.Options{}), "memory": memoryStore(t, 64<<20)} {
		t.Run(name, func(t *testing.T) {
			fill(t, s, "/f", storetest.Bytes(32<<20))
			r, err := s.Open(t.Context(), "/f", 0)
			if err != nil {
				t.Fatal(err)
			}
			defer r.Close()
			a, b := pair(t)
			b.SetLinger(0)
			go func() { io.CopyN(io.Discard, b, 1<<20); b.Close() }()
			if st, err := Send(t.Context(), a, r, Options{}); err == nil || st.Bytes == 32<<20 {
				t.Errorf("sent all %d bytes to a peer that was gone", st.Bytes)
			}
			w, err := s.Create(t.Context(), "/g", store.CreateOptions{})
			if err != nil {
				t.Fatal(err)
			}
			in, out := pair(t)
			out.SetLinger(0)
			var moved atomic.Int64
			go func() {
				out.Write(storetest.Bytes(1 << 20))
				for moved.Load() < 1<<19 {
					time.Sleep(time.Millisecond)
				}
				out.Close()
			}()
			if _, err := Recv(t.Context(), w, in, Options{Moved: &moved}); err == nil {
				t.Error("a reset was taken for the end")
			}
			if err := w.Abort(); err != nil {
				t.Fatal(err)
			}
			if i, err := s.Stat(t.Context(), "/g"); err != nil || !i.Partial {
				t.Errorf("there remain %+v (%v)", i, err)
			}
		})
	}
}

// TestTruncatedTLS: FIN without close_notify is no end (RFC 8446 6.1).
func TestTruncatedTLS(t *testing.T) {
	s := memoryStore(t, 1<<20)
	w, err := s.Create(t.Context(), "/f", store.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	defer w.Abort()
	a, b := tlsPair(t)
	go func() { b.Write(make([]byte, 1000)); b.Flush(); b.Close() }()
	if st, err := Recv(t.Context(), w, a, Options{}); !errors.Is(err, io.ErrUnexpectedEOF) || st.Bytes != 1000 {
		t.Errorf("received %d bytes: %v", st.Bytes, err)
	}
}

// TestBidirectionalClose: a peer that says close_notify and waits for ours
// before it sends FIN gets it (GnuTLS with GNUTLS_SHUT_RDWR).
func TestBidirectionalClose(t *testing.T) {
	for _, n := range []int{0, 1000, 300_000} {
		s := memoryStore(t, 1<<20)
		w, err := s.Create(t.Context(), "/f", store.CreateOptions{})
		if err != nil {
			t.Fatal(err)
		}
		defer w.Abort()
		a, b := tlsPair(t)
		answered := make(chan error, 1)
		go func() {
			time.Sleep(50 * time.Millisecond) // the receiver waits by now
			_, err := b.Write(make([]byte, n))
			err = errors.Join(err, b.closeNotify()) // no FIN
			if _, rerr := b.Read(make([]byte, 1)); rerr != io.EOF {
				err = errors.Join(err, fmt.Errorf("instead of close_notify: %w", rerr))
			}
			answered <- err
		}()
		if st, err := Recv(t.Context(), w, a, Options{Stall: 5 * time.Second}); err != nil || st.Bytes != int64(n) {
			t.Errorf("received %d of %d bytes: %v", st.Bytes, n, err)
		}
		if err := <-answered; err != nil {
			t.Error(err)
		}
	}
}

func TestFull(t *testing.T) {
	for _, c := range []struct {
		name string
		s    store.Store
		room int
		want error
	}{
		{"memory", memoryStore(t, 1<<20), 1 << 20, store.ErrNoSpace},
		{"quota", diskStore(t, disk.Options{Quota: 1 << 20}), 1 << 20, store.ErrQuota},
	} {
		for _, over := range []int{0, 1} {
			t.Run(fmt.Sprintf("%s and %d", c.name, over), func(t *testing.T) {
				w, err := c.s.Create(t.Context(), "/f", store.CreateOptions{})
				if err != nil {
					t.Fatal(err)
				}
				a, b := pair(t)
				go func() { b.Write(make([]byte, c.room+over)); b.Close() }()
				_, err = Recv(t.Context(), w, a, Options{})
				if over == 0 {
					if err = errors.Join(err, w.Commit()); err != nil {
						t.Fatal(err)
					}
					if err := c.s.Remove(t.Context(), "/f"); err != nil {
						t.Fatal(err)
					}
					return
				}
				if !errors.Is(err, c.want) {
					t.Errorf("error %v, want %v", err, c.want)
				}
				if err := w.Abort(); err != nil {
					t.Fatal(err)
				}
			})
		}
	}
}

func TestLimiter(t *testing.T) {
	l := NewLimiter(1 << 20)
	start := time.Now()
	for range 4 {
		if err := l.Wait(t.Context(), 1<<15); err != nil {
			t.Fatal(err)
		}
	}
	if took := time.Since(start); took < 120*time.Millisecond {
		t.Errorf("an eighth of a second's bytes took %s", took)
	}
	ctx, cancel := context.WithCancelCause(t.Context())
	why := errors.New("enough")
	cancel(why)
	if err := l.Wait(ctx, 1<<30); !errors.Is(err, why) {
		t.Errorf("waited: %v", err)
	}
}
