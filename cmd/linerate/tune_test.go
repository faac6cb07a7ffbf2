//go:build linux

package main

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/linerate/linerate/internal/host"
	"github.com/linerate/linerate/internal/lever"
	"github.com/linerate/linerate/internal/testnet"
)

// tune runs a tune verb inside a namespace.
func tune(t *testing.T, n *testnet.Namespace, want int, args ...string) string {
	t.Helper()
	var out bytes.Buffer
	code := -1
	err := n.Do(func() error {
		code = run(t.Context(), cli{strings.NewReader(""), &out, &out}, append([]string{"tune"}, args...))
		return nil
	})
	if err != nil || code != want {
		t.Fatalf("tune %v: exit status %d, want %d, %v\n%s", args, code, want, err, out.String())
	}
	return out.String()
}

const ceiling = "sysctl.net.ipv4.tcp_rmem"

// A change shows, is kept or undone, and its configuration file goes with it.
func TestTuneChangesAndPutsBack(t *testing.T) {
	n := testnet.NewNamespace(t, "box")
	state, root := "--state="+t.TempDir(), t.TempDir()
	before := tune(t, n, exitDone, "show", ceiling, "link.mtu@lo")

	tune(t, n, exitDone, "apply", state, "--keep", ceiling+"=4096 131072 16777216", "link.mtu@lo=9000")
	if now := tune(t, n, exitDone, "show", ceiling, "link.mtu@lo"); !strings.Contains(now, "16777216") || !strings.Contains(now, "9000") {
		t.Errorf("after apply:\n%s", now)
	}
	tune(t, n, exitDone, "persist", state, "--root", root)
	conf := filepath.Join(root, "etc/sysctl.d/90-linerate.conf")
	if b, err := os.ReadFile(conf); err != nil || !strings.Contains(string(b), "net.ipv4.tcp_rmem = 4096 131072 16777216") {
		t.Errorf("%s: %q, %v", conf, b, err)
	}
	tune(t, n, exitDone, "rollback", state)
	if now := tune(t, n, exitDone, "show", ceiling, "link.mtu@lo"); now != before {
		t.Errorf("after rollback:\n%swant:\n%s", now, before)
	}
	if _, err := os.Stat(conf); !os.IsNotExist(err) {
		t.Errorf("%s is still there: %v", conf, err)
	}
	if h := tune(t, n, exitDone, "history", state); !strings.Contains(h, "undone") || strings.Contains(h, "kept") {
		t.Errorf("history:\n%s", h)
	}
}

// What nobody confirms undoes itself, in another process.
func TestTuneDeadMan(t *testing.T) {
	n := testnet.NewNamespace(t, "box")
	state := "--state=" + t.TempDir()
	before := tune(t, n, exitDone, "show", "link.mtu@lo")
	tune(t, n, exitDone, "apply", state, "--confirm-within", "500ms", "link.mtu@lo=9000")
	now := ""
	for range 100 {
		if now = tune(t, n, exitDone, "show", "link.mtu@lo"); now == before {
			break
		}
		time.Sleep(100 * time.Millisecond)
	}
	if now != before {
		t.Fatalf("ten seconds later: %s", now)
	}

	tune(t, n, exitDone, "apply", state, "--confirm-within", "500ms", "link.mtu@lo=8000")
	tune(t, n, exitDone, "confirm", state)
	time.Sleep(1500 * time.Millisecond)
	if now := tune(t, n, exitDone, "show", "link.mtu@lo"); !strings.Contains(now, "8000") {
		t.Errorf("confirmed, and undone all the same: %s", now)
	}
}

// A set of changes is made whole or not at all.
func TestTuneUndoesAHalf(t *testing.T) {
	n := testnet.NewNamespace(t, "box")
	state := "--state=" + t.TempDir()
	before := tune(t, n, exitDone, "show", "link.mtu@lo")
	out := tune(t, n, exitFailed, "apply", state, "--keep", "link.mtu@lo=9000", "sysctl.net.ipv4.tcp_timestamps=nonsense")
	if now := tune(t, n, exitDone, "show", "link.mtu@lo"); now != before {
		t.Errorf("left behind: %s\n%s", now, out)
	}
	tune(t, n, exitUsage, "apply", state, "no.such.setting=1")
	tune(t, n, exitUsage, "apply", state, "link.mtu@lo")
	tune(t, n, exitUsage, "rollback", state, "20000101T000000Z-00000000")
}

// What died with everybody who answered for it is put back by the next change,
// and told.
func TestTuneRecoversWhatWasAbandoned(t *testing.T) {
	n := testnet.NewNamespace(t, "box")
	dir := t.TempDir()
	state := "--state=" + dir
	before := tune(t, n, exitDone, "show", "link.mtu@lo")
	err := n.Do(func() error { // as a session killed between a change and its confirmation leaves it
		h, err := host.Live()
		if err != nil {
			return err
		}
		j, err := lever.Create(dir, lever.Here(h))
		if err != nil {
			return err
		}
		mtu, err := lever.Find(h, "link.mtu@lo")
		if err == nil {
			_, err = j.Apply(t.Context(), mtu, "9000", "test")
		}
		return errors.Join(err, j.Close())
	})
	if err != nil {
		t.Fatal(err)
	}
	out := tune(t, n, exitDone, "apply", state, "--keep", "sysctl.net.ipv4.tcp_timestamps=0")
	if !strings.Contains(out, "neither confirmed nor put back") || tune(t, n, exitDone, "show", "link.mtu@lo") != before {
		t.Errorf("not recovered:\n%s", out)
	}
	// A change that waits for its confirmation is somebody's.
	tune(t, n, exitDone, "apply", state, "--confirm-within", "1m", "link.mtu@lo=8000")
	tune(t, n, exitDone, "rollback", state, "--abandoned")
	if now := tune(t, n, exitDone, "show", "link.mtu@lo"); !strings.Contains(now, "8000") {
		t.Errorf("taken from under its owner: %s", now)
	}
	tune(t, n, exitDone, "rollback", state)
}
