//go:build unix

package main

import (
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/linerate/linerate/internal/serve/ftp/users"
)

func TestServeFTPUsersAndReload(t *testing.T) {
	dir, served := t.TempDir(), t.TempDir()
	file := filepath.Join(dir, "users")
	if err := os.MkdirAll(filepath.Join(served, "alice"), 0o755); err != nil {
		t.Fatal(err)
	}
	status, line, errs := shell(t, "serve", "ftp", "passwd", "alice", "root=alice,sessions=1")
	if status != exitDone || !strings.HasPrefix(line, "alice:$argon2id$") || !strings.HasSuffix(line, ":root=alice,sessions=1\n") {
		t.Fatalf("passwd: %d %q %q", status, line, errs)
	}
	if err := os.WriteFile(file, []byte(line), 0o600); err != nil {
		t.Fatal(err)
	}
	said, stop := startFTP(t, served, "--users", file)
	addr := await(t, said, "serving ftp://")
	p := dialControl(t, addr, "331 USER alice", "530 PASS wrong", "331 USER alice", "230 PASS from standard input", "257 MKD mine")
	if _, err := os.Stat(filepath.Join(served, "alice", "mine")); err != nil {
		t.Errorf("alice's root: %v", err)
	}
	dialControl(t, addr, "331 USER alice", "530 PASS from standard input") // one session only

	if err := os.WriteFile(file, []byte("bob:"+users.Hash("secret")+":read-only\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := syscall.Kill(os.Getpid(), syscall.SIGHUP); err != nil {
		t.Fatal(err)
	}
	await(t, said, "msg=reloaded")
	dialControl(t, addr, "331 USER alice", "530 PASS from standard input", "331 USER bob", "230 PASS secret", "550 MKD d")
	talk(t, p, "200 NOOP")

	if err := os.WriteFile(file, []byte("nonsense\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := syscall.Kill(os.Getpid(), syscall.SIGHUP); err != nil {
		t.Fatal(err)
	}
	await(t, said, "the old settings stay")
	dialControl(t, addr, "331 USER bob", "230 PASS secret")
	p.Close()
	if status := stop(); status != exitDone {
		t.Errorf("exit status %d", status)
	}
}
