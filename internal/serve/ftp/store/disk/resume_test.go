package disk

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"testing"

	"github.com/linerate/linerate/internal/serve/ftp/store"
	"github.com/linerate/linerate/internal/serve/ftp/store/storetest"
)

// TestCrash: an upload whose server is gone is resumed by the next one.
func TestCrash(t *testing.T) {
	dir, b := t.TempDir(), storetest.Bytes(100_000)
	first := open(t, dir, Options{})
	w, err := first.Create(t.Context(), "/f", store.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := w.Write(b[:60_000]); err != nil {
		t.Fatal(err)
	}
	w.(*writer).file.Close() // all that a crash does

	s := open(t, dir, Options{})
	i, err := s.Stat(t.Context(), "/f")
	if err != nil || !i.Partial || i.Size != 60_000 {
		t.Fatalf("there is %+v (%v)", i, err)
	}
	w, err = s.Create(t.Context(), "/f", store.CreateOptions{Offset: i.Size})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := w.Write(b[60_000:]); err != nil {
		t.Fatal(err)
	}
	if err := w.Commit(); err != nil {
		t.Fatal(err)
	}
	if got, err := os.ReadFile(filepath.Join(dir, "f")); err != nil || !bytes.Equal(got, b) {
		t.Errorf("%d bytes that differ (%v)", len(got), err)
	}
	if left, _ := os.ReadDir(dir); len(left) != 1 {
		t.Errorf("there are left %v", left)
	}
}

// TestBusy: what another session is uploading can't be resumed.
func TestBusy(t *testing.T) {
	s := open(t, t.TempDir(), Options{})
	w, err := s.Create(t.Context(), "/f", store.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	defer w.Abort()
	if _, err := w.Write([]byte("under way")); err != nil {
		t.Fatal(err)
	}
	for _, o := range []store.CreateOptions{{Append: true}, {Offset: 5}} {
		if _, err := s.Create(t.Context(), "/f", o); !errors.Is(err, store.ErrBusy) {
			t.Errorf("%+v: %v", o, err)
		}
	}
}

// TestQuota counts through everything that changes what is kept.
func TestQuota(t *testing.T) {
	dir, ctx := t.TempDir(), t.Context()
	if err := os.WriteFile(filepath.Join(dir, "had"), make([]byte, 1000), 0o644); err != nil {
		t.Fatal(err)
	}
	s := open(t, dir, Options{Quota: 10_000})
	put := func(name string, n int, o store.CreateOptions, end func(store.Writer) error) error {
		w, err := s.Create(ctx, name, o)
		if err != nil {
			return err
		}
		if _, err := w.Write(make([]byte, n)); err != nil {
			return errors.Join(err, w.Abort())
		}
		return end(w)
	}
	step := func(what string, err error, used int64) {
		t.Helper()
		if err != nil {
			t.Errorf("%s: %v", what, err)
		}
		if got := s.quota.Used(); got != used {
			t.Errorf("%s: %d bytes used, want %d", what, got, used)
		}
	}
	plain := store.CreateOptions{}
	step("open", nil, 1000)
	step("upload", put("/f", 4000, plain, store.Writer.Commit), 5000)
	step("replace", put("/f", 3000, plain, store.Writer.Commit), 4000)
	step("break off", put("/g", 2000, plain, store.Writer.Abort), 6000)
	step("resume", put("/g", 1000, store.CreateOptions{Append: true}, store.Writer.Commit), 7000)
	step("reserve", put("/h", 500, store.CreateOptions{Size: 2000}, store.Writer.Commit), 7500)
	step("cut", put("/g", 0, store.CreateOptions{Offset: 1000}, store.Writer.Commit), 5500)
	step("rename over", s.Rename(ctx, "/h", "/g"), 4500)
	step("remove", s.Remove(ctx, "/g"), 4000)
	if err := put("/big", 6001, plain, store.Writer.Commit); !errors.Is(err, store.ErrQuota) {
		t.Errorf("beyond the quota: %v", err)
	}
	step("refused", nil, 4000)
	if err := put("/big", 0, store.CreateOptions{Size: 6001}, store.Writer.Commit); !errors.Is(err, store.ErrQuota) {
		t.Errorf("announced beyond the quota: %v", err)
	}
	step("refused announcement", nil, 4000)
	again := open(t, dir, Options{Quota: 10_000})
	if got := again.quota.Used(); got != 4000 {
		t.Errorf("opened again: %d bytes used", got)
	}
}
