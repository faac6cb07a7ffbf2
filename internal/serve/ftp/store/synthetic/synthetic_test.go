package synthetic

import (
	"bytes"
	"crypto/sha256"
	"errors"
	"io"
	"io/fs"
	"testing"

	"github.com/linerate/linerate/internal/serve/ftp/store"
)

func TestZero(t *testing.T) {
	z, err := NewZero()
	if err != nil {
		t.Fatal(err)
	}
	defer z.Close()
	for name, want := range map[string]int64{"/0": 0, "/1460": 1460, "/64KiB": 65536, "/292MB": 292_000_000, "/8TiB": 8 << 40} {
		i, err := z.Stat(t.Context(), name)
		if err != nil || i.Size != want || i.IsDir() {
			t.Errorf("%s: %+v, %v", name, i, err)
		}
		r, err := z.Open(t.Context(), name, want/3)
		if err != nil {
			t.Fatal(err)
		}
		var sum int64
		for e := range r.(*zeroReader).Extents() {
			sum += e.Length
		}
		if sum != want-want/3 {
			t.Errorf("%s: extents of %d bytes", name, sum)
		}
		if want < 1<<20 {
			b, err := io.ReadAll(r)
			if err != nil || int64(len(b)) != sum || len(bytes.Trim(b, "\x00")) > 0 {
				t.Errorf("%s: read %d bytes (%v)", name, len(b), err)
			}
		}
	}
	for _, name := range []string{"/x", "/-1", "/1.5", "/1/2", "/1e99"} {
		if _, err := z.Stat(t.Context(), name); !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if _, err := z.Open(t.Context(), "/10", 11); !errors.Is(err, store.ErrOffset) {
		t.Errorf("beyond the end: %v", err)
	}
	if _, err := z.Create(t.Context(), "/10", store.CreateOptions{}); !errors.Is(err, fs.ErrPermission) {
		t.Errorf("created: %v", err)
	}
	if list, err := z.List(t.Context(), "/"); err != nil || len(list) == 0 {
		t.Errorf("listed %v (%v)", list, err)
	}
}

func TestSink(t *testing.T) {
	s := NewSink()
	content := []byte("what is put here")
	for _, name := range []string{"/f", "/sha256/f"} {
		w, err := s.Create(t.Context(), name, store.CreateOptions{})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := w.Write(content[:5]); err != nil {
			t.Fatal(err)
		}
		d, drops := w.(interface{ Discard(int64) })
		if drops {
			d.Discard(int64(len(content)) - 5)
		} else if _, err := w.Write(content[5:]); err != nil {
			t.Fatal(err)
		}
		if err := w.Commit(); err != nil {
			t.Fatal(err)
		}
		i, err := s.Stat(t.Context(), name)
		if err != nil || i.Size != int64(len(content)) || i.Partial {
			t.Errorf("%s: %+v (%v)", name, i, err)
		}
		if sum := sha256.Sum256(content); !drops && !bytes.Equal(i.SHA256, sum[:]) {
			t.Errorf("%s: hashed to %x", name, i.SHA256)
		}
		if drops == (i.SHA256 != nil) {
			t.Errorf("%s: drops in the kernel: %t, hash %x", name, drops, i.SHA256)
		}
		if _, err := s.Open(t.Context(), name, 0); !errors.Is(err, fs.ErrPermission) {
			t.Errorf("opened: %v", err)
		}
	}
	w, err := s.Create(t.Context(), "/f", store.CreateOptions{Append: true})
	if err != nil {
		t.Fatal(err)
	}
	w.Write([]byte("!"))
	if err := w.Abort(); err != nil {
		t.Fatal(err)
	}
	if i, _ := s.Stat(t.Context(), "/f"); i.Size != int64(len(content))+1 || !i.Partial {
		t.Errorf("appended to %+v", i)
	}
	for range 2 * remembered {
		w, err := s.Create(t.Context(), "/n", store.CreateOptions{Unique: true})
		if err == nil {
			err = w.Commit()
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	list, err := s.List(t.Context(), "/")
	if err != nil || len(list) > remembered+1 {
		t.Errorf("it remembers %d uploads (%v)", len(list), err)
	}
}
