package storetest

import (
	"errors"
	"io/fs"
	"slices"
	"strings"
	"time"

	"github.com/linerate/linerate/internal/serve/ftp/store"
)

func (t *suite) list(name string) []string {
	t.Helper()
	list, err := t.s.List(t.ctx, name)
	t.ok(err)
	var names []string
	for _, i := range list {
		n := i.Name
		if i.IsDir() {
			n += "/"
		}
		names = append(names, n)
	}
	slices.Sort(names)
	return names
}

func (t *suite) lists(name string, want ...string) {
	t.Helper()
	if got := t.list(name); !slices.Equal(got, want) {
		t.Errorf("%s lists %q, want %q", name, got, want)
	}
}

func (t *suite) directories() {
	t.lists("/")
	t.ok(t.s.Mkdir(t.ctx, "/d"))
	t.is(t.s.Mkdir(t.ctx, "/d"), fs.ErrExist)
	t.ok(t.s.Mkdir(t.ctx, "/d/e"))
	t.put("/d/f", []byte("x"))
	t.lists("/", "d/")
	t.lists("/d", "e/", "f")
	t.is(t.s.Rmdir(t.ctx, "/d"), store.ErrNotEmpty)
	t.is(t.s.Rmdir(t.ctx, "/d/f"), store.ErrNotDirectory)
	t.is(t.s.Remove(t.ctx, "/d/e"), store.ErrIsDirectory)
	_, err := t.s.Create(t.ctx, "/d/e", store.CreateOptions{})
	t.is(err, store.ErrIsDirectory)
	_, err = t.s.Open(t.ctx, "/d/e", 0)
	t.is(err, store.ErrIsDirectory)
	_, err = t.s.Create(t.ctx, "/", store.CreateOptions{})
	t.is(err, store.ErrIsDirectory)
	t.ok(t.s.Remove(t.ctx, "/d/f"))
	t.broken("/d/e/g", []byte("what a client can't see must not be in its way"))
	t.ok(t.s.Rmdir(t.ctx, "/d/e"))
	t.ok(t.s.Rmdir(t.ctx, "/d"))
	if t.s.Rmdir(t.ctx, "/") == nil {
		t.Error("the top went")
	}
	t.lists("/")
}

func (t *suite) rename() {
	b := Bytes(1000)
	t.put("/a", b)
	t.put("/b", []byte("old"))
	t.ok(t.s.Mkdir(t.ctx, "/d"))
	t.ok(t.s.Rename(t.ctx, "/a", "/b"))
	t.holds("/b", b)
	t.ok(t.s.Rename(t.ctx, "/b", "/d/c"))
	t.lists("/d", "c")
	t.ok(t.s.Rename(t.ctx, "/d", "/e"))
	t.holds("/e/c", b)
	t.lists("/", "e/")
	t.is(t.s.Rename(t.ctx, "/none", "/x"), fs.ErrNotExist)
	if t.s.Rename(t.ctx, "/e", "/e/inside") == nil {
		t.Error("a directory was moved into itself")
	}
	t.holds("/e/c", b)
}

func (t *suite) missing() {
	_, err := t.s.Stat(t.ctx, "/none")
	t.is(err, fs.ErrNotExist)
	_, err = t.s.List(t.ctx, "/none")
	t.is(err, fs.ErrNotExist)
	_, err = t.s.Open(t.ctx, "/none", 0)
	t.is(err, fs.ErrNotExist)
	_, err = t.s.Create(t.ctx, "/none/f", store.CreateOptions{})
	t.is(err, fs.ErrNotExist)
	t.is(t.s.Remove(t.ctx, "/none"), fs.ErrNotExist)
	t.is(t.s.Rmdir(t.ctx, "/none"), fs.ErrNotExist)
	t.is(t.s.Chmod(t.ctx, "/none", 0o600), fs.ErrNotExist)
	t.is(t.s.Chtimes(t.ctx, "/none", time.Now()), fs.ErrNotExist)
	t.put("/f", nil)
	_, err = t.s.List(t.ctx, "/f")
	t.is(err, store.ErrNotDirectory)
	_, err = t.s.Create(t.ctx, "/f/g", store.CreateOptions{})
	t.is(err, store.ErrNotDirectory)
}

func (t *suite) attributes() {
	t.put("/f", []byte("x"))
	when := time.Date(2009, 2, 13, 23, 31, 30, 0, time.UTC)
	t.ok(t.s.Chtimes(t.ctx, "/f", when))
	t.ok(t.s.Chmod(t.ctx, "/f", 0o640))
	before, err := t.s.Stat(t.ctx, "/f")
	t.ok(err)
	if !before.ModTime.Equal(when) || before.Mode.Perm() != 0o640 {
		t.Errorf("described as %+v", before)
	}
	t.ok(t.s.Rename(t.ctx, "/f", "/g"))
	after, err := t.s.Stat(t.ctx, "/g")
	t.ok(err)
	if before.Unique == "" || before.Unique != after.Unique || !after.ModTime.Equal(when) {
		t.Errorf("renamed from %+v to %+v", before, after)
	}
	t.put("/g", []byte("y"))
	if i, err := t.s.Stat(t.ctx, "/g"); err != nil || i.Mode.Perm() != 0o640 {
		t.Errorf("an upload changed the permissions to %s (%v)", i.Mode, err)
	}
}

func (t *suite) names() {
	want := []string{" lead", "-dash", "a b", "composed \u00e9", "decomposed e\u0301", "invalid \xff\xfe", `quote " '`, "star*?[x]"}
	for _, n := range want {
		t.put("/"+n, []byte(n))
	}
	for _, n := range want {
		t.holds("/"+n, []byte(n))
	}
	slices.Sort(want)
	t.lists("/", want...)
	t.put("/../../../outside", []byte("x"))
	t.holds("/outside", []byte("x"))
	if _, err := t.s.Create(t.ctx, "/"+strings.Repeat("n", 300), store.CreateOptions{}); err != nil {
		t.is(err, store.ErrName)
	}
	if _, err := t.s.Create(t.ctx, "/a\x00b", store.CreateOptions{}); err == nil {
		t.Error("a name with NUL was taken")
	}
}

// hidden: what broke off is not shown as complete.
func (t *suite) hidden() {
	b := Bytes(777)
	t.broken("/f", b)
	t.lists("/")
	i, err := t.s.Stat(t.ctx, "/f")
	t.ok(err)
	if !i.Partial || i.Size != 777 || i.Name != "f" {
		t.Errorf("described as %+v", i)
	}
	if _, err := t.s.Open(t.ctx, "/f", 0); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("opened: %v", err)
	}
	t.ok(t.s.Remove(t.ctx, "/f"))
	_, err = t.s.Stat(t.ctx, "/f")
	t.is(err, fs.ErrNotExist)

	t.put("/g", b)
	t.broken("/g", b[:10])
	t.holds("/g", b)
	t.broken("/empty", nil)
	_, err = t.s.Stat(t.ctx, "/empty")
	t.is(err, fs.ErrNotExist)
}
