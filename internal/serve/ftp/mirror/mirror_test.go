package mirror_test

import (
	"bytes"
	"context"
	"errors"
	"io"
	"io/fs"
	"math/rand/v2"
	"net"
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/linerate/linerate/internal/serve/ftp"
	"github.com/linerate/linerate/internal/serve/ftp/client"
	"github.com/linerate/linerate/internal/serve/ftp/mirror"
	"github.com/linerate/linerate/internal/serve/ftp/store"
	"github.com/linerate/linerate/internal/serve/ftp/store/disk"
	"github.com/linerate/linerate/internal/serve/ftp/users"
	"github.com/linerate/linerate/internal/testnet"
)

// serve starts our own server over dir.
func serve(t *testing.T, dir string) client.Config {
	t.Helper()
	st, err := disk.Open(dir, disk.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { st.Close() })
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	s := ftp.New(ftp.Config{
		Users: users.Fixed{Account: users.Account{Name: "user"}, Password: "password"},
		Store: func(users.Account) (store.Store, error) { return st, nil },
	})
	ctx, cancel := context.WithCancel(context.Background())
	var served sync.WaitGroup
	served.Go(func() { _ = s.Serve(ctx, l, false) })
	t.Cleanup(func() {
		cancel()
		_ = s.Shutdown(ctx)
		served.Wait()
	})
	return client.Config{Location: client.Location{Host: l.Addr().String(), User: "user", Password: "password"}, Timeout: 10 * time.Second}
}

func openRoot(t *testing.T, dir string) *os.Root {
	t.Helper()
	root, err := os.OpenRoot(dir)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { root.Close() })
	return root
}

// plant makes a tree with what trips clients: empty, hidden, spaced and
// non-ASCII names, an empty directory.
func plant(t *testing.T, dir string) {
	t.Helper()
	for name, size := range map[string]int{"a.bin": 1 << 20, "empty": 0, "sub/ä b.txt": 12345, "sub/deep/.hidden": 7, "sub/deep/-rf": 1, "sub/deep/[x]*": 2} {
		name = filepath.Join(dir, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(name, noise(size), 0o644); err != nil {
			t.Fatal(err)
		}
		old := time.Date(2021, 3, 4, 5, 6, 7, 0, time.UTC)
		if err := os.Chtimes(name, old, old); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.MkdirAll(filepath.Join(dir, "void"), 0o755); err != nil {
		t.Fatal(err)
	}
}

func noise(n int) []byte {
	b := make([]byte, n)
	for i := range b {
		b[i] = byte(rand.Uint32())
	}
	return b
}

// same compares two trees: names, content and, if asked, times.
func same(t *testing.T, a, b string, times bool) {
	t.Helper()
	read := func(dir string) map[string]string {
		m := map[string]string{}
		err := filepath.WalkDir(dir, func(p string, d fs.DirEntry, err error) error {
			if err != nil {
				return err
			}
			rel, _ := filepath.Rel(dir, p)
			if d.IsDir() {
				m[rel] = "directory"
				return nil
			}
			content, err := os.ReadFile(p)
			if times {
				if st, err := d.Info(); err == nil {
					content = append(content, st.ModTime().UTC().String()...)
				}
			}
			m[rel] = string(content)
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
		return m
	}
	left, right := read(a), read(b)
	for name, content := range left {
		if got, ok := right[name]; !ok || got != content {
			t.Errorf("%q differs (there: %v)", name, ok)
		}
	}
	for name := range right {
		if _, ok := left[name]; !ok {
			t.Errorf("%q is too many", name)
		}
	}
}

func TestTreeThereAndBack(t *testing.T) {
	source, served, back := t.TempDir(), t.TempDir(), t.TempDir()
	plant(t, source)
	cfg := serve(t, served)
	o := mirror.Options{Streams: 3, Verify: true, Times: true, Tally: &mirror.Tally{}}
	if err := mirror.PutTree(t.Context(), cfg, openRoot(t, source), "x/y", o); err != nil {
		t.Fatal(err)
	}
	same(t, source, filepath.Join(served, "x", "y"), true)
	if n := o.Tally.Verified.Load(); n != 6 {
		t.Errorf("%d files verified, want 6", n)
	}
	o.Tally = &mirror.Tally{}
	if err := mirror.GetTree(t.Context(), cfg, "x/y", openRoot(t, back), o); err != nil {
		t.Fatal(err)
	}
	same(t, source, back, true)

	// Once more with Resume: nothing moves.
	o.Tally, o.Resume = &mirror.Tally{}, true
	if err := mirror.GetTree(t.Context(), cfg, "x/y", openRoot(t, back), o); err != nil || o.Tally.Moved.Load() != 0 {
		t.Errorf("%d bytes moved again, %v", o.Tally.Moved.Load(), err)
	}
}

// TestForeignTrees has the public servers hold the tree.
func TestForeignTrees(t *testing.T) {
	for _, server := range testnet.FTPServers() {
		t.Run(server, func(t *testing.T) {
			ns := testnet.NewNamespace(t, server)
			s := testnet.StartFTP(t, ns, server, "127.0.0.1:2121", "")
			cfg := client.Config{Location: client.Location{Host: s.Addr, User: s.User, Password: s.Password}, Network: ns, Timeout: 15 * time.Second}
			source, back := t.TempDir(), t.TempDir()
			plant(t, source)
			remote := filepath.ToSlash(filepath.Join(s.Writable, "tree"))
			if err := mirror.PutTree(t.Context(), cfg, openRoot(t, source), remote, mirror.Options{Streams: 2}); err != nil {
				t.Fatal(err)
			}
			same(t, source, filepath.Join(s.Root, remote), false)
			if err := mirror.GetTree(t.Context(), cfg, remote, openRoot(t, back), mirror.Options{Streams: 2}); err != nil {
				t.Fatal(err)
			}
			same(t, source, back, false)
		})
	}
}

// flaky breaks every data connection after a while, fewer the longer it goes
// on.
type flaky struct {
	control string
	after   int64
	left    atomic.Int32 // connections still to break
}

func (f *flaky) DialContext(ctx context.Context, network, address string) (net.Conn, error) {
	c, err := (&net.Dialer{}).DialContext(ctx, network, address)
	if err == nil && address != f.control && f.left.Add(-1) >= 0 {
		return &breaking{c, f.after}, nil
	}
	return c, err
}

func (f *flaky) Listen(ctx context.Context, network, address string) (net.Listener, error) {
	return (&net.ListenConfig{}).Listen(ctx, network, address)
}

type breaking struct {
	net.Conn
	left int64
}

func (b *breaking) Read(p []byte) (int, error) {
	return b.count(b.Conn.Read(p[:min(int64(len(p)), max(b.left, 1))]))
}

func (b *breaking) Write(p []byte) (int, error) {
	return b.count(b.Conn.Write(p[:min(int64(len(p)), max(b.left, 1))]))
}

func (b *breaking) count(n int, err error) (int, error) {
	if b.left -= int64(n); b.left <= 0 {
		_ = b.Conn.(*net.TCPConn).SetLinger(0)
		_ = b.Conn.Close()
		return n, &net.OpError{Op: "read", Err: syscall.ECONNRESET}
	}
	return n, err
}

func TestBrokenConnectionsAreTakenUpAgain(t *testing.T) {
	served, local := t.TempDir(), t.TempDir()
	body := noise(1 << 20)
	if err := os.WriteFile(filepath.Join(served, "f"), body, 0o644); err != nil {
		t.Fatal(err)
	}
	cfg := serve(t, served)
	net := &flaky{control: cfg.Host, after: 300_000}
	net.left.Store(2)
	cfg.Network = net
	o := mirror.Options{Retries: 3, Verify: true, Tally: &mirror.Tally{}}
	if err := mirror.Get(t.Context(), cfg, "f", openRoot(t, local), "f", o); err != nil {
		t.Fatal(err)
	}
	same(t, served, local, false)
	if n := o.Tally.Retries.Load(); n != 2 {
		t.Errorf("%d retries, want 2", n)
	}
	if n := o.Tally.Moved.Load(); n > 1<<20+200_000 {
		t.Errorf("%d bytes moved for a file of %d: it began anew", n, len(body))
	}

	net.left.Store(2)
	o.Tally = &mirror.Tally{}
	if err := mirror.Put(t.Context(), cfg, openRoot(t, local), "f", "up", o); err != nil {
		t.Fatal(err)
	}
	if got, err := os.ReadFile(filepath.Join(served, "up")); err != nil || !bytes.Equal(got, body) {
		t.Errorf("upload: %d bytes, %v", len(got), err)
	}

	net.left.Store(1)
	var got bytes.Buffer
	if err := mirror.Copy(t.Context(), cfg, "f", &got, mirror.Options{Retries: 1}); err != nil || !bytes.Equal(got.Bytes(), body) {
		t.Errorf("copy: %d bytes, %v", got.Len(), err)
	}
}

func TestDownloadLandsWholeOrNot(t *testing.T) {
	served, local := t.TempDir(), t.TempDir()
	if err := os.WriteFile(filepath.Join(served, "f"), noise(1<<20), 0o644); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(local, "f"), []byte("old"), 0o644); err != nil {
		t.Fatal(err)
	}
	cfg := serve(t, served)
	net := &flaky{control: cfg.Host, after: 300_000}
	net.left.Store(1)
	cfg.Network = net
	root := openRoot(t, local)
	if err := mirror.Get(t.Context(), cfg, "f", root, "f", mirror.Options{}); err == nil {
		t.Fatal("no error")
	}
	if old, err := os.ReadFile(filepath.Join(local, "f")); err != nil || string(old) != "old" {
		t.Errorf("a broken download touched the file: %d bytes, %v", len(old), err)
	}
	st, err := os.Stat(filepath.Join(local, "f"+mirror.PartialSuffix))
	if err != nil || st.Size() != 300_000 {
		t.Fatalf("partial file: %v, %v", st, err)
	}
	o := mirror.Options{Resume: true, Tally: &mirror.Tally{}}
	if err := mirror.Get(t.Context(), cfg, "f", root, "f", o); err != nil || o.Tally.Present.Load() != 300_000 {
		t.Errorf("resume: %d bytes were there, %v", o.Tally.Present.Load(), err)
	}
	same(t, served, local, false)
}

func TestPartialOfAnOlderVersionStartsAnew(t *testing.T) {
	served, local := t.TempDir(), t.TempDir()
	if err := os.WriteFile(filepath.Join(served, "f"), noise(1000), 0o644); err != nil {
		t.Fatal(err)
	}
	part := filepath.Join(local, "f"+mirror.PartialSuffix)
	if err := os.WriteFile(part, noise(500), 0o644); err != nil {
		t.Fatal(err)
	}
	before := time.Now().Add(-time.Hour)
	if err := os.Chtimes(part, before, before); err != nil {
		t.Fatal(err)
	}
	if err := mirror.Get(t.Context(), serve(t, served), "f", openRoot(t, local), "f", mirror.Options{Resume: true}); err != nil {
		t.Fatal(err)
	}
	same(t, served, local, false)
}

func TestGiveUpWithoutRetries(t *testing.T) {
	cfg := serve(t, t.TempDir())
	err := mirror.Get(t.Context(), cfg, "missing", openRoot(t, t.TempDir()), "f", mirror.Options{Retries: 5})
	if !client.Refused(err) {
		t.Errorf("a missing file: %v", err)
	}
	cfg.Password = "wrong"
	if err := mirror.Copy(t.Context(), cfg, "f", io.Discard, mirror.Options{Retries: 5}); !client.Refused(err) {
		t.Errorf("a wrong password: %v", err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := mirror.Copy(ctx, cfg, "f", io.Discard, mirror.Options{Retries: 5}); !errors.Is(err, context.Canceled) {
		t.Errorf("cancelled: %v", err)
	}
}
