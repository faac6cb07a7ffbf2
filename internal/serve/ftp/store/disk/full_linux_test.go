package disk

import (
	"errors"
	"os"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/linerate/linerate/internal/serve/ftp/store"
	"github.com/linerate/linerate/internal/testnet"
)

// TestFull fills a file system of one mebibyte.
func TestFull(t *testing.T) {
	testnet.NeedRoot(t)
	dir := t.TempDir()
	if err := unix.Mount("tmpfs", dir, "tmpfs", 0, "size=1m"); err != nil {
		testnet.Missing(t, "needs to mount a tmpfs: %v", err)
	}
	t.Cleanup(func() {
		if err := unix.Unmount(dir, unix.MNT_DETACH); err != nil {
			t.Error(err)
		}
	})
	s := open(t, dir, Options{})
	w, err := s.Create(t.Context(), "/f", store.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	n, err := w.Write(make([]byte, 2<<20))
	if !errors.Is(err, store.ErrNoSpace) || !errors.Is(err, unix.ENOSPC) {
		t.Errorf("%d bytes written: %v", n, err)
	}
	if err := w.Abort(); err != nil {
		t.Fatal(err)
	}
	i, err := s.Stat(t.Context(), "/f")
	if err != nil || !i.Partial || i.Size == 0 {
		t.Errorf("there remains %+v (%v)", i, err)
	}
	if err := s.Remove(t.Context(), "/f"); err != nil {
		t.Fatal(err)
	}
	if _, err := s.Create(t.Context(), "/g", store.CreateOptions{Size: 2 << 20}); !errors.Is(err, store.ErrNoSpace) {
		t.Errorf("announced: %v", err)
	}
	w, err = s.Create(t.Context(), "/h", store.CreateOptions{Size: 1 << 19})
	if err != nil {
		t.Fatal(err)
	}
	if err := w.Commit(); err != nil {
		t.Fatal(err)
	}
	var fs unix.Statfs_t
	if err := unix.Statfs(dir, &fs); err != nil || fs.Bfree < fs.Blocks/2 {
		t.Errorf("%d of %d blocks free: what was reserved isn't given back (%v)", fs.Bfree, fs.Blocks, err)
	}
	if entries, _ := os.ReadDir(dir); len(entries) != 1 {
		t.Errorf("there are left %v", entries)
	}
	fifo := dir + "/fifo"
	if err := unix.Mkfifo(fifo, 0o666); err != nil {
		t.Fatal(err)
	}
	if _, err := s.Open(t.Context(), "/fifo", 0); err == nil { // opening it would wait for a writer
		t.Error("a FIFO was opened")
	}
	if _, err := s.Create(t.Context(), "/fifo", store.CreateOptions{}); err == nil {
		t.Error("an upload replaced a FIFO")
	}
}
