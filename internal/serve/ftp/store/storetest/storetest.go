// Package storetest is the behaviour that every store.Store must show.
package storetest

import (
	"bytes"
	"context"
	"errors"
	"io"
	"io/fs"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/linerate/linerate/internal/serve/ftp/store"
)

// Run runs the suite; open returns a new empty store for each case, which the
// suite closes.
func Run(t *testing.T, open func(t *testing.T) store.Store) {
	for _, c := range []struct {
		name string
		run  func(*suite)
	}{
		{"content", (*suite).content}, {"offsets", (*suite).offsets}, {"resume", (*suite).resume},
		{"append", (*suite).appendTo}, {"replaced while read", (*suite).replaced}, {"two writers", (*suite).twoWriters},
		{"writer beside a writer", (*suite).beside}, {"unique", (*suite).unique}, {"directories", (*suite).directories},
		{"rename", (*suite).rename}, {"missing", (*suite).missing}, {"attributes", (*suite).attributes},
		{"names", (*suite).names}, {"ended", (*suite).ended}, {"removed while read", (*suite).removed},
		{"partial is hidden", (*suite).hidden},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := open(t)
			t.Cleanup(func() { s.Close() })
			c.run(&suite{t, s, t.Context()})
		})
	}
}

type suite struct {
	*testing.T
	s   store.Store
	ctx context.Context
}

// Bytes returns n random bytes.
func Bytes(n int) []byte {
	b := make([]byte, n)
	r := rand.NewChaCha8([32]byte{byte(n), byte(n >> 8), 1})
	r.Read(b)
	return b
}

func (t *suite) ok(err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func (t *suite) is(err, want error) {
	t.Helper()
	if !errors.Is(err, want) {
		t.Errorf("error %v, want one that is %q", err, want)
	}
}

func (t *suite) create(name string, o store.CreateOptions) store.Writer {
	t.Helper()
	w, err := t.s.Create(t.ctx, name, o)
	t.ok(err)
	return w
}

func (t *suite) write(w store.Writer, b []byte) {
	t.Helper()
	n, err := w.Write(b)
	t.ok(err)
	if n != len(b) {
		t.Fatalf("wrote %d of %d bytes", n, len(b))
	}
}

func (t *suite) put(name string, b []byte) {
	t.Helper()
	w := t.create(name, store.CreateOptions{})
	t.write(w, b)
	t.ok(w.Commit())
}

// broken leaves an upload of b broken off.
func (t *suite) broken(name string, b []byte) {
	t.Helper()
	w := t.create(name, store.CreateOptions{})
	t.write(w, b)
	t.ok(w.Abort())
}

func (t *suite) open(name string, offset int64) store.Reader {
	t.Helper()
	r, err := t.s.Open(t.ctx, name, offset)
	t.ok(err)
	return r
}

func (t *suite) all(r store.Reader) []byte {
	t.Helper()
	b, err := io.ReadAll(r)
	t.ok(err)
	t.ok(r.Close())
	return b
}

func (t *suite) holds(name string, want []byte) {
	t.Helper()
	r := t.open(name, 0)
	if r.Size() != int64(len(want)) {
		t.Errorf("%s: size %d, want %d", name, r.Size(), len(want))
	}
	if got := t.all(r); !bytes.Equal(got, want) {
		t.Errorf("%s: %d bytes that differ from the %d written", name, len(got), len(want))
	}
}

func (t *suite) content() {
	for _, n := range []int{0, 1, 511, 64 << 10, 64<<10 + 1, 4<<20 - 1, 9<<20 + 7} {
		b := Bytes(n)
		w := t.create("/f", store.CreateOptions{Size: int64(n)})
		for chunk := range slices.Chunk(b, 100_001) {
			t.write(w, chunk)
		}
		t.ok(w.Commit())
		t.holds("/f", b)
		i, err := t.s.Stat(t.ctx, "/f")
		t.ok(err)
		if i.Name != "f" || i.Size != int64(n) || i.IsDir() || i.Partial || time.Since(i.ModTime) > time.Hour {
			t.Errorf("described as %+v", i)
		}
	}
}

func (t *suite) offsets() {
	b := Bytes(5<<20 + 3)
	t.put("/f", b)
	for _, off := range []int64{0, 1, 65536, 4 << 20, int64(len(b)) - 1, int64(len(b))} {
		if got := t.all(t.open("/f", off)); !bytes.Equal(got, b[off:]) {
			t.Errorf("from %d: %d bytes that differ", off, len(got))
		}
	}
	for _, off := range []int64{-1, int64(len(b)) + 1, 5 << 30} {
		_, err := t.s.Open(t.ctx, "/f", off)
		t.is(err, store.ErrOffset)
	}
}

func (t *suite) resume() {
	b := Bytes(300_001)
	for _, at := range []int{0, 1, 65536, 200_000, 250_000} {
		t.broken("/f", b[:250_000])
		w := t.create("/f", store.CreateOptions{Offset: int64(at)})
		t.write(w, b[at:])
		t.ok(w.Commit())
		t.holds("/f", b)
		t.ok(t.s.Remove(t.ctx, "/f"))
	}
	t.broken("/f", b[:1000])
	_, err := t.s.Create(t.ctx, "/f", store.CreateOptions{Offset: 1001})
	t.is(err, store.ErrOffset)

	// Of a whole file the first bytes are kept, and the rest is cut off.
	t.put("/g", b)
	w := t.create("/g", store.CreateOptions{Offset: 70_000})
	t.write(w, b[:10])
	t.holds("/g", b)
	t.ok(w.Commit())
	t.holds("/g", append(slices.Clone(b[:70_000]), b[:10]...))
	_, err = t.s.Create(t.ctx, "/g", store.CreateOptions{Offset: 5 << 30})
	t.is(err, store.ErrOffset)
}

func (t *suite) appendTo() {
	b := Bytes(200_000)
	for i, cut := range []int{0, 99_999, len(b)} {
		w := t.create("/f", store.CreateOptions{Append: true})
		t.write(w, b[:cut])
		t.ok(w.Commit())
		w = t.create("/f", store.CreateOptions{Append: true})
		t.write(w, b[cut:])
		t.ok(w.Commit())
		t.holds("/f", bytes.Repeat(b, i+1))
	}
	t.broken("/g", b[:12345])
	w := t.create("/g", store.CreateOptions{Append: true})
	t.write(w, b[12345:])
	t.ok(w.Commit())
	t.holds("/g", b)
}

func (t *suite) replaced() {
	old, fresh := Bytes(3<<20), Bytes(3<<20+5)
	t.put("/f", old)
	r := t.open("/f", 0)
	head := make([]byte, 1<<20)
	_, err := io.ReadFull(r, head)
	t.ok(err)
	t.put("/f", fresh)
	t.put("/f", fresh)
	if got := append(head, t.all(r)...); !bytes.Equal(got, old) {
		t.Error("the reader got content of the file that replaced its own")
	}
	t.holds("/f", fresh)
}

func (t *suite) removed() {
	b := Bytes(1 << 20)
	t.put("/f", b)
	r := t.open("/f", 0)
	t.ok(t.s.Remove(t.ctx, "/f"))
	t.put("/g", Bytes(3<<20))
	if !bytes.Equal(t.all(r), b) {
		t.Error("the reader got other content than the removed file's")
	}
}

func (t *suite) twoWriters() {
	a, b := Bytes(2<<20), Bytes(2<<20+1)
	wa, wb := t.create("/f", store.CreateOptions{}), t.create("/f", store.CreateOptions{})
	for i := range 4 {
		t.write(wa, a[i*len(a)/4:(i+1)*len(a)/4])
		t.write(wb, b[i*len(b)/4:(i+1)*len(b)/4])
	}
	if _, err := t.s.Open(t.ctx, "/f", 0); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("before any is complete: %v", err)
	}
	t.ok(wb.Commit())
	t.holds("/f", b)
	t.ok(wa.Commit())
	t.holds("/f", a)
}

// beside: one of two writers of a name breaks off; the other isn't hurt.
func (t *suite) beside() {
	a, b := Bytes(100_000), Bytes(150_000)
	wa, wb := t.create("/f", store.CreateOptions{}), t.create("/f", store.CreateOptions{})
	t.write(wa, a)
	t.write(wb, b)
	t.ok(wb.Abort())
	t.ok(wa.Commit())
	t.holds("/f", a)
}

func (t *suite) unique() {
	t.put("/f", []byte("first"))
	seen := map[string]bool{"f": true}
	for range 3 {
		w := t.create("/f", store.CreateOptions{Unique: true})
		t.write(w, []byte("more"))
		t.ok(w.Commit())
		if seen[w.Name()] {
			t.Errorf("%s was taken", w.Name())
		}
		seen[w.Name()] = true
		t.holds("/"+w.Name(), []byte("more"))
	}
	t.holds("/f", []byte("first"))
}

func (t *suite) ended() {
	for _, end := range []func(store.Writer) error{store.Writer.Commit, store.Writer.Abort} {
		w := t.create("/f", store.CreateOptions{})
		t.write(w, []byte("x"))
		t.ok(end(w))
		t.is(w.Commit(), store.ErrEnded)
		t.is(w.Abort(), store.ErrEnded)
		if _, err := w.Write([]byte("y")); err == nil {
			t.Error("written after the end")
		}
		t.ok(t.s.Remove(t.ctx, "/f"))
	}
}
