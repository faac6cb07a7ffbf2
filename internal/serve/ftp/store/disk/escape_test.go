package disk

import (
	"bytes"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"testing"

	"github.com/linerate/linerate/internal/serve/ftp/store"
)

func open(t *testing.T, dir string, o Options) *Store {
	t.Helper()
	s, err := Open(dir, o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close() })
	return s
}

// TestEscape tries every way out that a link makes, and looks outside after.
func TestEscape(t *testing.T) {
	base := t.TempDir()
	root, outside := filepath.Join(base, "root"), filepath.Join(base, "outside")
	for _, dir := range []string{root, outside, filepath.Join(root, "sub")} {
		if err := os.Mkdir(dir, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	secret := filepath.Join(outside, "secret")
	if err := os.WriteFile(secret, []byte("secret"), 0o644); err != nil {
		t.Fatal(err)
	}
	for link, target := range map[string]string{
		"abs": outside, "rel": "../outside", "file": "../outside/secret", "magic": "/proc/self/root", "cwd": "/proc/self/cwd",
		"sub/up": "../../outside", "inside": "sub",
	} {
		if err := os.Symlink(target, filepath.Join(root, link)); err != nil {
			t.Fatal(err)
		}
	}
	s, ctx := open(t, root, Options{}), t.Context()
	for _, dir := range []string{"/abs", "/rel", "/magic", "/cwd", "/sub/up", "/inside/up"} {
		for op, err := range map[string]error{
			"stat":  second(s.Stat(ctx, dir+"/secret")),
			"list":  second(s.List(ctx, dir)),
			"open":  second(s.Open(ctx, dir+"/secret", 0)),
			"write": second(s.Create(ctx, dir+"/new", store.CreateOptions{})),
			"over":  second(s.Create(ctx, dir+"/secret", store.CreateOptions{})),
			"mkdir": s.Mkdir(ctx, dir+"/d"), "remove": s.Remove(ctx, dir+"/secret"), "rmdir": s.Rmdir(ctx, dir+"/d"),
			"from": s.Rename(ctx, dir+"/secret", "/stolen"), "to": s.Rename(ctx, "/inside", dir+"/moved"),
			"chmod": s.Chmod(ctx, dir+"/secret", 0),
		} {
			if err == nil {
				t.Errorf("%s by %s led out", op, dir)
			}
		}
	}
	if _, err := s.Open(ctx, "/file", 0); err == nil {
		t.Error("a link to a file led out")
	}
	if _, err := s.Stat(ctx, "/inside"); err != nil {
		t.Errorf("a link that stays inside: %v", err)
	}
	entries, err := os.ReadDir(outside)
	if err != nil || len(entries) != 1 {
		t.Errorf("outside there are %v (%v)", entries, err)
	}
	if b, err := os.ReadFile(secret); err != nil || !bytes.Equal(b, []byte("secret")) {
		t.Errorf("outside: %q (%v)", b, err)
	}
	list, err := s.List(ctx, "/")
	if err != nil {
		t.Fatal(err)
	}
	for _, i := range list {
		if i.Name != "inside" && i.Name != "sub" {
			t.Errorf("%s is listed", i.Name)
		}
	}
}

func second[T any](_ T, err error) error { return err }

// TestPartsAreNotNames: a client can't reach the part of another's upload.
func TestPartsAreNotNames(t *testing.T) {
	s, ctx := open(t, t.TempDir(), Options{}), t.Context()
	w, err := s.Create(ctx, "/f", store.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	defer w.Abort()
	for op, err := range map[string]error{
		"stat": second(s.Stat(ctx, "/.f.part")), "open": second(s.Open(ctx, "/.f.part", 0)), "remove": s.Remove(ctx, "/.f.part"),
		"create": second(s.Create(ctx, "/.f.part", store.CreateOptions{})), "rename": s.Rename(ctx, "/.f.part", "/g"),
	} {
		if !errors.Is(err, store.ErrName) {
			t.Errorf("%s: %v", op, err)
		}
	}
}

// TestDanglingLink: an upload replaces a link, and never writes where it points.
func TestDanglingLink(t *testing.T) {
	dir := t.TempDir()
	s, ctx := open(t, dir, Options{}), t.Context()
	if err := os.Symlink("nowhere", filepath.Join(dir, "dangling")); err != nil {
		t.Fatal(err)
	}
	if _, err := s.Open(ctx, "/dangling", 0); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("opened: %v", err)
	}
	w, err := s.Create(ctx, "/dangling", store.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if err := w.Commit(); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(filepath.Join(dir, "nowhere")); err == nil {
		t.Error("an upload followed a link")
	}
}
