package memory

import (
	"bytes"
	"errors"
	"io"
	"io/fs"
	"testing"
	"time"

	"github.com/linerate/linerate/internal/serve/ftp/store"
	"github.com/linerate/linerate/internal/serve/ftp/store/storetest"
)

func TestStore(t *testing.T) {
	storetest.Run(t, func(t *testing.T) store.Store {
		s, err := New(Options{Budget: 64 << 20})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() {
			s.Close()
			if free := s.arena.room(); free != 64<<20 {
				t.Errorf("%d bytes free at the end, of %d", free, 64<<20)
			}
		})
		return s
	})
}

// TestClose: readers and writers outlive the store, its memory doesn't outlive them.
func TestClose(t *testing.T) {
	s, err := New(Options{Budget: 8 << 20, Populate: true})
	if err != nil {
		t.Fatal(err)
	}
	b := storetest.Bytes(1 << 20)
	w, err := s.Create(t.Context(), "/f", store.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := w.Write(b); err != nil {
		t.Fatal(err)
	}
	if err := w.Commit(); err != nil {
		t.Fatal(err)
	}
	r, err := s.Open(t.Context(), "/f", 0)
	if err != nil {
		t.Fatal(err)
	}
	late, err := s.Create(t.Context(), "/g", store.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	if got, err := io.ReadAll(r); err != nil || !bytes.Equal(got, b) {
		t.Errorf("%d bytes that differ (%v)", len(got), err)
	}
	if _, err := late.Write(b); err != nil {
		t.Error(err)
	}
	if err := late.Commit(); err != nil {
		t.Error(err)
	}
	if err := r.Close(); err != nil {
		t.Error(err)
	}
	for deadline := time.Now().Add(10 * time.Second); ; time.Sleep(time.Millisecond) { // populating may still end
		s.mu.Lock()
		gone := s.arena.mem == nil
		s.mu.Unlock()
		if gone {
			break
		}
		if time.Now().After(deadline) {
			t.Fatal("the memory is still mapped")
		}
	}
}

// TestPartialsYield: broken-off uploads go when memory runs short, files don't.
func TestPartialsYield(t *testing.T) {
	s, err := New(Options{Budget: 4 << 20})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	put := func(name string, n int, end func(store.Writer) error) error {
		w, err := s.Create(t.Context(), name, store.CreateOptions{})
		if err != nil {
			return err
		}
		if _, err := w.Write(make([]byte, n)); err != nil {
			return errors.Join(err, w.Abort())
		}
		return end(w)
	}
	for _, step := range []struct {
		name string
		n    int
		end  func(store.Writer) error
		want error
	}{
		{"/broken", 2 << 20, store.Writer.Abort, nil}, {"/a", 1 << 20, store.Writer.Commit, nil},
		{"/b", 3 << 20, store.Writer.Commit, nil}, {"/c", 1, store.Writer.Commit, store.ErrNoSpace},
	} {
		if err := put(step.name, step.n, step.end); !errors.Is(err, step.want) {
			t.Errorf("%s: %v", step.name, err)
		}
	}
	if _, err := s.Stat(t.Context(), "/broken"); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("what was broken off: %v", err)
	}
	if i, err := s.Stat(t.Context(), "/a"); err != nil || i.Size != 1<<20 {
		t.Errorf("a whole file: %+v (%v)", i, err)
	}
}
