package testnet

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"
)

// unpackTime bounds the download of foreign peers.
const unpackTime = 3 * time.Minute

// NeedPackages unpacks Debian packages into a cache and returns its root.
// Peers that conflict with one another when installed, as FTP servers do, live
// side by side there; nothing on the system changes.
func NeedPackages(t TB, names ...string) string {
	t.Helper()
	NeedTool(t, "apt-get")
	NeedTool(t, "dpkg")
	cache, err := os.UserCacheDir()
	if err != nil {
		cache = os.TempDir()
	}
	root := filepath.Join(cache, "linerate", "peers", strings.Join(names, "+"))
	ctx, cancel := context.WithTimeout(t.Context(), unpackTime)
	defer cancel()
	if err := unpack(ctx, root, names); err != nil {
		Missing(t, "needs the packages %v: %v", names, err)
	}
	return root
}

// unpack fills root, which is complete or absent, so that tests running side
// by side never see a half.
func unpack(ctx context.Context, root string, names []string) error {
	if _, err := os.Stat(root); err == nil {
		return nil
	}
	if err := os.MkdirAll(filepath.Dir(root), 0o755); err != nil {
		return err
	}
	dir, err := os.MkdirTemp(filepath.Dir(root), ".unpack-*")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	run := func(argv ...string) error {
		cmd := exec.CommandContext(ctx, argv[0], argv[1:]...)
		cmd.Dir = dir
		if out, err := cmd.CombinedOutput(); err != nil {
			return fmt.Errorf("%s: %w: %s", argv[0], err, lastLine(string(out)))
		}
		return nil
	}
	if err := run(append([]string{"apt-get", "download"}, names...)...); err != nil {
		return err
	}
	files, err := filepath.Glob(filepath.Join(dir, "*.deb"))
	if err != nil {
		return err
	}
	for _, f := range files {
		if err := run("dpkg", "-x", f, filepath.Join(dir, "root")); err != nil {
			return err
		}
	}
	if err := os.Chmod(dir, 0o755); err != nil {
		return err
	}
	err = os.Rename(filepath.Join(dir, "root"), root)
	if _, there := os.Stat(root); there == nil { // another test was first
		return nil
	}
	return err
}
