package data

import (
	"errors"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/linerate/linerate/internal/serve/ftp/store"
	"github.com/linerate/linerate/internal/serve/ftp/store/disk"
	"github.com/linerate/linerate/internal/testnet"
)

// TestDiskFull: by splice too, a full disk is told from other failures, what
// arrived is kept, and it can be finished once there is room.
func TestDiskFull(t *testing.T) {
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
	s, err := disk.Open(dir, disk.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	for _, copied := range []bool{false, true} {
		w, err := s.Create(t.Context(), "/f", store.CreateOptions{})
		if err != nil {
			t.Fatal(err)
		}
		a, b := pair(t)
		go func() { b.Write(make([]byte, 2<<20)); b.Close() }()
		st, err := Recv(t.Context(), w, a, Options{Knobs: Knobs{Copy: copied}})
		a.Close()
		if !errors.Is(err, store.ErrNoSpace) || !errors.Is(err, unix.ENOSPC) {
			t.Errorf("%s: %d bytes received: %v", st.Way, st.Bytes, err)
		}
		if err := w.Abort(); err != nil {
			t.Fatal(err)
		}
		i, err := s.Stat(t.Context(), "/f")
		if err != nil || !i.Partial || i.Size == 0 {
			t.Errorf("%s: there remains %+v (%v)", st.Way, i, err)
		}
		w, err = s.Create(t.Context(), "/f", store.CreateOptions{Offset: i.Size / 2})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := w.Write(make([]byte, 100)); err != nil {
			t.Errorf("%s: resumed: %v", st.Way, err)
		}
		if err := w.Commit(); err != nil {
			t.Fatal(err)
		}
		if err := s.Remove(t.Context(), "/f"); err != nil {
			t.Fatal(err)
		}
	}
}
