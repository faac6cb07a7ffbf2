package host

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"testing"
	"testing/fstest"
)

// archive writes a tar with the names given, each holding its own name.
func archive(t testing.TB, names ...string) []byte {
	t.Helper()
	var b bytes.Buffer
	w := tar.NewWriter(&b)
	for _, n := range names {
		if err := w.WriteHeader(&tar.Header{Name: n, Typeflag: tar.TypeReg, Size: int64(len(n)), Mode: 0o644}); err != nil {
			t.Fatal(err)
		}
		w.Write([]byte(n))
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

func TestOpenKinds(t *testing.T) {
	plain := archive(t, "./proc/stat", "sys/class/net/eth0/mtu", "../../etc/passwd", "/ethtool/eth0/rings")
	var zipped bytes.Buffer
	z := gzip.NewWriter(&zipped)
	z.Write(plain)
	z.Close()
	for kind, b := range map[string][]byte{
		"tar": plain, "tar.gz": zipped.Bytes(),
		"txtar": []byte("a board\n-- proc/stat --\nproc/stat\n-- sys/class/net/eth0/mtu --\n1500\n-- ethtool/eth0/rings --\nrx: 64\n"),
	} {
		name := filepath.Join(t.TempDir(), "board."+kind)
		if err := os.WriteFile(name, b, 0o600); err != nil {
			t.Fatal(err)
		}
		h, err := Open(name)
		if err != nil {
			t.Errorf("%s: %v", kind, err)
			continue
		}
		if kind != "txtar" {
			if err := fstest.TestFS(h, "proc/stat", "sys/class/net/eth0/mtu", "ethtool/eth0/rings"); err != nil {
				t.Errorf("%s: %v", kind, err)
			}
		}
		if _, err := fs.Stat(h, "sys/class/net/eth0/mtu"); err != nil {
			t.Errorf("%s: %v", kind, err)
		}
		if _, err := fs.Stat(h, "etc/passwd"); err == nil {
			t.Errorf("%s: a name that leaves the tree was filed", kind)
		}
		if err := h.Write("sys/class/net/eth0/mtu", "9000"); !errors.Is(err, errors.ErrUnsupported) {
			t.Errorf("%s: write: %v", kind, err)
		}
	}
}

func TestOpenRefuses(t *testing.T) {
	for name, b := range map[string][]byte{
		"empty": nil, "text": []byte("Linux board 4.9\n"), "cut": archive(t, "proc/stat", "proc/version")[:1541],
	} {
		if h, err := Read(bytes.NewReader(b)); err == nil {
			t.Errorf("%s: read as %v", name, h)
		}
	}
}

func FuzzRead(f *testing.F) {
	f.Add(archive(f, "proc/stat", "a/b"))
	f.Add([]byte("-- a/b --\nx\n-- a --\ny\n"))
	f.Fuzz(func(t *testing.T, b []byte) {
		h, err := Read(bytes.NewReader(b))
		if err != nil {
			return
		}
		fs.WalkDir(h, ".", func(_ string, _ fs.DirEntry, err error) error { return err })
	})
}
