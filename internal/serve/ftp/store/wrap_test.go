package store_test

import (
	"errors"
	"io/fs"
	"slices"
	"testing"

	"github.com/linerate/linerate/internal/serve/ftp/store"
	"github.com/linerate/linerate/internal/serve/ftp/store/memory"
	"github.com/linerate/linerate/internal/serve/ftp/store/storetest"
	"github.com/linerate/linerate/internal/serve/ftp/store/synthetic"
)

func memoryStore(t *testing.T) store.Store {
	t.Helper()
	s, err := memory.New(memory.Options{Budget: 32 << 20})
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// TestMount: with nothing mounted a store is as before, and so is one mounted.
func TestMount(t *testing.T) {
	storetest.Run(t, func(t *testing.T) store.Store { return store.Mount(memoryStore(t), nil, true) })

	s := store.Mount(memoryStore(t), map[string]store.Store{"sink": synthetic.NewSink(), "other": memoryStore(t)}, true)
	defer s.Close()
	ctx := t.Context()
	for _, name := range []string{"/f", "/sink/f", "/other/f"} {
		w, err := s.Create(ctx, name, store.CreateOptions{})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := w.Write([]byte(name)); err != nil {
			t.Fatal(err)
		}
		if err := w.Commit(); err != nil {
			t.Fatal(err)
		}
		if i, err := s.Stat(ctx, name); err != nil || i.Size != int64(len(name)) || i.Name != "f" {
			t.Errorf("%s: %+v (%v)", name, i, err)
		}
	}
	list, err := s.List(ctx, "/")
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, i := range list {
		names = append(names, i.Name)
	}
	if want := []string{"f", "other", "sink"}; !slices.Equal(names, want) {
		t.Errorf("the top lists %q", names)
	}
	for op, err := range map[string]error{
		"rename across": s.Rename(ctx, "/f", "/other/g"), "rename a mount": s.Rename(ctx, "/other", "/o"),
		"remove a mount": s.Rmdir(ctx, "/other"), "make a mount": s.Mkdir(ctx, "/sink"),
	} {
		if !errors.Is(err, fs.ErrPermission) {
			t.Errorf("%s: %v", op, err)
		}
	}
	if err := s.Rename(ctx, "/other/f", "/other/g"); err != nil {
		t.Errorf("rename within: %v", err)
	}
}

func TestReadOnly(t *testing.T) {
	base := memoryStore(t)
	defer base.Close()
	s, ctx := store.ReadOnly(base), t.Context()
	_, err := s.Create(ctx, "/f", store.CreateOptions{})
	for _, err := range []error{
		err, s.Mkdir(ctx, "/d"), s.Remove(ctx, "/f"), s.Rmdir(ctx, "/d"), s.Rename(ctx, "/f", "/g"), s.Chmod(ctx, "/f", 0),
	} {
		if !errors.Is(err, fs.ErrPermission) {
			t.Errorf("not refused: %v", err)
		}
	}
	if list, err := s.List(ctx, "/"); err != nil || len(list) != 0 {
		t.Errorf("listed %v (%v)", list, err)
	}
}
