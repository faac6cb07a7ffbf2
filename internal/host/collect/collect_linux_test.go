package collect

import (
	"bytes"
	"context"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/linerate/linerate/internal/host"
	"github.com/linerate/linerate/internal/meter/cpu"
	"github.com/linerate/linerate/internal/meter/irq"
	"github.com/linerate/linerate/internal/meter/nic"
	"github.com/linerate/linerate/internal/meter/nstat"
	"github.com/linerate/linerate/internal/meter/softnet"
	"github.com/linerate/linerate/internal/testnet"
	"github.com/linerate/linerate/result"
)

// files lists the regular files of a tree.
func files(t *testing.T, h fs.FS) []string {
	t.Helper()
	var names []string
	err := fs.WalkDir(h, ".", func(name string, d fs.DirEntry, err error) error {
		if err == nil && !d.IsDir() {
			names = append(names, name)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return names
}

// TestTwins collects one namespace with Go and with the script in the shells
// that boards have, and compares the trees.
func TestTwins(t *testing.T) {
	link := testnet.NewPair(t, testnet.LinkOptions{})
	in, err := host.LiveIn(link.A.Namespace.Do)
	if err != nil {
		t.Fatal(err)
	}
	defer in.Close()
	var b bytes.Buffer
	if _, err := Write(t.Context(), &b, in); err != nil {
		t.Fatal(err)
	}
	ours, err := host.Read(&b)
	if err != nil {
		t.Fatal(err)
	}
	readMeters(t, ours)
	if _, err := fs.Stat(in, "proc/sys/net/ipv4/tcp_fastopen_key"); err != nil {
		t.Logf("no key here to leave out: %v", err)
	}
	if _, err := fs.Stat(ours, "proc/sys/net/ipv4/tcp_fastopen_key"); err == nil {
		t.Error("a secret key is in the tar")
	}
	want := slices.DeleteFunc(files(t, ours), func(n string) bool { return n == "sockdiag/tcp" })
	testnet.NeedTool(t, "ethtool")
	for _, shell := range [][]string{{"dash"}, {"busybox", "sh"}} {
		bin := testnet.NeedTool(t, shell[0])
		t.Run(strings.Join(shell, " "), func(t *testing.T) {
			theirs := runScript(t, link.A.Namespace, append([]string{bin}, shell[1:]...))
			if got := files(t, theirs); !slices.Equal(got, want) {
				t.Errorf("the script's files differ: %s", difference(got, want))
			}
			readMeters(t, theirs)
			for _, name := range want {
				if strings.HasPrefix(name, "ethtool/") && !strings.HasSuffix(name, "/stats") && !strings.HasSuffix(name, "/link") {
					compare(t, name, ours, theirs)
				}
			}
		})
	}
}

// readMeters wants every meter to read the tree.
func readMeters(t *testing.T, h host.Host) {
	t.Helper()
	for _, m := range []interface {
		Name() string
		Read(context.Context) ([]result.Value, error)
	}{cpu.Meter{Host: h}, irq.Meter{Host: h}, softnet.Meter{Host: h}, nstat.Meter{Host: h}, nic.Meter{Host: h}, nic.Driver{Host: h, Interfaces: []string{"eth0"}}} {
		if vs, err := m.Read(t.Context()); err != nil || len(vs) == 0 {
			t.Errorf("%s: %d values, %v", m.Name(), len(vs), err)
		}
	}
	if _, settings := host.Describe(h, "eth0"); settings["link.mtu@eth0"] != "1500" || settings["ethtool.features.tso@eth0"] != "on" {
		t.Errorf("settings %v", settings)
	}
}

// runScript runs the script with an interpreter inside a namespace, with a
// PATH of busybox's own tools first where that is the shell.
func runScript(t *testing.T, n *testnet.Namespace, shell []string) host.Host {
	t.Helper()
	name := filepath.Join(t.TempDir(), "collect.sh")
	if err := os.WriteFile(name, []byte(Script()), 0o600); err != nil {
		t.Fatal(err)
	}
	var out, messages bytes.Buffer
	err := n.Do(func() error {
		cmd := exec.CommandContext(t.Context(), shell[0], append(shell[1:], name)...)
		cmd.Stdout, cmd.Stderr = &out, &messages
		if strings.HasSuffix(shell[0], "busybox") {
			tools := t.TempDir()
			for _, applet := range []string{"cat", "tar", "sed", "awk", "mkdir", "rm", "mktemp"} {
				if err := os.Symlink(shell[0], filepath.Join(tools, applet)); err != nil {
					return err
				}
			}
			cmd.Env = []string{"PATH=" + tools + ":" + os.Getenv("PATH")}
		}
		return cmd.Run()
	})
	if err != nil || messages.Len() > 0 {
		t.Fatalf("%v\n%s", err, messages.Bytes())
	}
	h, err := host.Read(&out)
	if err != nil {
		t.Fatal(err)
	}
	return h
}

// compare wants the same lines in both, in any order.
func compare(t *testing.T, name string, a, b fs.FS) {
	t.Helper()
	lines := func(f fs.FS) []string {
		text, err := fs.ReadFile(f, name)
		if err != nil {
			t.Error(err)
		}
		return slices.Sorted(strings.Lines(string(text)))
	}
	if x, y := lines(a), lines(b); !slices.Equal(x, y) {
		t.Errorf("%s differs: %s", name, difference(y, x))
	}
}

func difference(got, want []string) string {
	var out strings.Builder
	for _, n := range got {
		if !slices.Contains(want, n) {
			fmt.Fprintf(&out, "+%q ", n)
		}
	}
	for _, n := range want {
		if !slices.Contains(got, n) {
			fmt.Fprintf(&out, "-%q ", n)
		}
	}
	return out.String()
}
