package lever

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// box is a host in a directory; like a sysctl, a write takes effect at once or
// not at all.
type box struct {
	fs.FS
	dir  string
	deaf map[string]bool // accepts writes and ignores them
}

func newBox(dir string, files map[string]string) (box, error) {
	b := box{FS: os.DirFS(dir), dir: dir, deaf: map[string]bool{}}
	for name, v := range files {
		if err := os.MkdirAll(filepath.Dir(filepath.Join(dir, name)), 0o755); err != nil {
			return b, err
		}
		if err := b.Write(name, v+"\n"); err != nil {
			return b, err
		}
	}
	return b, nil
}

func (b box) Write(name, v string) error {
	if b.deaf[name] {
		return nil
	}
	tmp := filepath.Join(b.dir, ".new")
	if err := os.WriteFile(tmp, []byte(v), 0o644); err != nil {
		return err
	}
	return os.Rename(tmp, filepath.Join(b.dir, name))
}

func (b box) find(id string) (Lever, error) {
	path, ok := strings.CutPrefix(id, "sysctl.")
	if !ok {
		return nil, fmt.Errorf("%s: no such lever", id)
	}
	return File{id, "proc/sys/" + strings.ReplaceAll(path, ".", "/"), b}, nil
}

var start = map[string]string{
	"proc/sys/net/ipv4/tcp_rmem":       "4096\t131072\t6291456",
	"proc/sys/net/core/rmem_max":       "212992",
	"proc/sys/net/core/netdev_budget":  "300",
	"proc/sys/net/ipv4/tcp_timestamps": "1",
}

var ids = []string{"sysctl.net.ipv4.tcp_rmem", "sysctl.net.core.rmem_max", "sysctl.net.core.netdev_budget", "sysctl.net.ipv4.tcp_timestamps"}

func begin(t *testing.T) (box, *Journal, string) {
	t.Helper()
	b, err := newBox(t.TempDir(), start)
	if err != nil {
		t.Fatal(err)
	}
	dir := filepath.Join(t.TempDir(), "journal")
	j, err := Create(dir, Place{Boot: "b"})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { j.Close() })
	return b, j, dir
}

func (b box) get(t *testing.T, id string) string {
	t.Helper()
	l, err := b.find(id)
	if err != nil {
		t.Fatal(err)
	}
	v, err := l.Get(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return v
}

func (b box) apply(t *testing.T, j *Journal, id, v string) error {
	t.Helper()
	l, err := b.find(id)
	if err != nil {
		t.Fatal(err)
	}
	_, err = j.Apply(t.Context(), l, v, "test")
	return err
}

func TestApplyAndRollback(t *testing.T) {
	b, j, dir := begin(t)
	for _, v := range []string{"4096 131072 16777216", "4096 131072 33554432"} {
		if err := b.apply(t, j, ids[0], v); err != nil {
			t.Fatal(err)
		}
	}
	j2, h, err := Resume(dir, j.ID)
	if err != nil || len(h.Steps) != 2 || h.Open() != 2 || h.Steps[1].Before != "4096 131072 16777216" {
		t.Fatalf("history %+v, %v", h, err)
	}
	defer j2.Close()
	out, err := j2.Rollback(t.Context(), h, b.find)
	if err != nil || len(out) != 2 || !out[0].Back {
		t.Fatalf("rollback %+v, %v", out, err)
	}
	if got := b.get(t, ids[0]); got != "4096 131072 6291456" {
		t.Errorf("tcp_rmem = %q", got)
	}
	if _, h, err = Resume(dir, j.ID); err != nil || h.Open() != 0 {
		t.Errorf("open changes after rollback: %d, %v", h.Open(), err)
	}
}

func TestAcceptedButUnchanged(t *testing.T) {
	b, j, _ := begin(t)
	b.deaf["proc/sys/net/core/rmem_max"] = true
	if err := b.apply(t, j, ids[1], "8388608"); !errors.Is(err, ErrUnchanged) {
		t.Errorf("err = %v, want ErrUnchanged", err)
	}
}

// What an administrator changed after us is theirs.
func TestRollbackLeavesForeignChanges(t *testing.T) {
	b, j, dir := begin(t)
	if err := b.apply(t, j, ids[1], "8388608"); err != nil {
		t.Fatal(err)
	}
	if err := b.Write("proc/sys/net/core/rmem_max", "1000000\n"); err != nil {
		t.Fatal(err)
	}
	_, h, err := Resume(dir, j.ID)
	if err != nil {
		t.Fatal(err)
	}
	out, err := j.Rollback(t.Context(), h, b.find)
	if err != nil || len(out) != 1 || out[0].Left != "1000000" || b.get(t, ids[1]) != "1000000" {
		t.Errorf("outcome %+v, %v; value %q", out, err, b.get(t, ids[1]))
	}
}

func TestRollbackGoesOnPastAFailure(t *testing.T) {
	b, j, dir := begin(t)
	for _, id := range ids[1:3] {
		if err := b.apply(t, j, id, "77"); err != nil {
			t.Fatal(err)
		}
	}
	b.deaf["proc/sys/net/core/netdev_budget"] = true
	_, h, err := Resume(dir, j.ID)
	if err != nil {
		t.Fatal(err)
	}
	if _, err = j.Rollback(t.Context(), h, b.find); !errors.Is(err, ErrNotBack) {
		t.Errorf("err = %v, want ErrNotBack", err)
	}
	if got := b.get(t, ids[1]); got != "212992" {
		t.Errorf("the other change was not undone: %q", got)
	}
}

func TestSame(t *testing.T) {
	for _, c := range []struct {
		a, b string
		want bool
	}{
		{"4096\t131072 6291456\n", "4096 131072 6291456", true}, {"00000003", "3", true}, {"00000000,0000000F", "f", true},
		{"0", "00000000", true}, {"1", "0", false}, {"cubic", "reno", false}, {"1 2", "1", false},
	} {
		if Same(c.a, c.b) != c.want {
			t.Errorf("Same(%q, %q) = %v", c.a, c.b, !c.want)
		}
	}
}

// TestKilledApply kills a process that changes settings without pause, at a
// random instant, and wants every file bit for bit as it was, each time.
func TestKilledApply(t *testing.T) {
	if dir := os.Getenv("LEVER_TEST_BOX"); dir != "" {
		churn(dir)
		return
	}
	rounds := 200
	if testing.Short() {
		rounds = 20
	}
	moved := 0
	for i := range rounds {
		root := t.TempDir()
		b, err := newBox(root, start)
		if err != nil {
			t.Fatal(err)
		}
		cmd := exec.Command(os.Args[0], "-test.run=^TestKilledApply$")
		cmd.Env = append(os.Environ(), "LEVER_TEST_BOX="+root)
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		// Until so many changes are promised, however slow the disk is, and then
		// anywhere within a change.
		for at, n := 0, 1+rand.IntN(4); at < n && t.Context().Err() == nil; time.Sleep(200 * time.Microsecond) {
			at = 0
			files, _ := filepath.Glob(filepath.Join(root, "journal", "*"))
			for _, name := range files {
				text, _ := os.ReadFile(name) // it may be under way
				at += strings.Count(string(text), `"intent"`)
			}
		}
		time.Sleep(time.Duration(rand.IntN(3000)) * time.Microsecond)
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
		moved += recover1(t, b, root)
		for name, v := range start {
			got, err := os.ReadFile(filepath.Join(root, name))
			if err != nil || fold(string(got)) != fold(v) {
				t.Fatalf("round %d: %s = %q, %v; want %q", i, name, got, err, v)
			}
		}
	}
	if moved < rounds {
		t.Errorf("only %d changes in %d rounds: the kill came too early to prove anything", moved, rounds)
	}
}

// recover1 rolls back every journal of root as `tune rollback` does.
func recover1(t *testing.T, b box, root string) int {
	t.Helper()
	dir := filepath.Join(root, "journal")
	hs, err := Histories(dir)
	if err != nil {
		t.Fatal(err)
	}
	n := 0
	for _, h := range hs {
		j, h, err := Resume(dir, h.ID)
		if err != nil {
			t.Fatal(err)
		}
		n += len(h.Steps)
		if _, err := j.Rollback(t.Context(), h, b.find); err != nil {
			t.Fatal(err)
		}
		j.Close()
	}
	return n
}

// churn changes settings until it is killed.
func churn(root string) {
	b := box{FS: os.DirFS(root), dir: root}
	j, err := Create(filepath.Join(root, "journal"), Place{Boot: "b"})
	if err != nil {
		panic(err)
	}
	for i := 0; ; i++ {
		l, err := b.find(ids[i%len(ids)])
		if err != nil {
			panic(err)
		}
		if _, err := j.Apply(context.Background(), l, fmt.Sprint(1000+i), "test"); err != nil {
			panic(err)
		}
	}
}

func FuzzParse(f *testing.F) {
	f.Add([]byte(`{"kind":"begin"}` + "\n" + `{"kind":"intent","n":1,"change":{"lever":"x"}}` + "\n" + `{"kind":"done","n":1}` + "\n"))
	f.Add([]byte(`{"kind":"back","n":9}` + "\n{"))
	f.Fuzz(func(t *testing.T, b []byte) {
		h, err := parse(b)
		if err == nil && h.Open() > len(h.Steps) {
			t.Errorf("more open than steps: %+v", h)
		}
	})
}
