// Package interop runs other people's suites and clients against our server.
package interop

import (
	"bufio"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/rclone/rclone/backend/ftp"
	_ "github.com/rclone/rclone/backend/local" // where the suite keeps its own files
	"github.com/rclone/rclone/fs/config/obscure"
	"github.com/rclone/rclone/fstest"
	"github.com/rclone/rclone/fstest/fstests"
)

func TestMain(m *testing.M) { fstest.TestMain(m) }

// serve starts the linerate that LINERATE names, or builds it, and returns host
// and port.
func serve(t *testing.T, args ...string) (host, port string) {
	t.Helper()
	bin := os.Getenv("LINERATE")
	if bin == "" {
		bin = filepath.Join(t.TempDir(), "linerate")
		build := exec.Command("go", "build", "-o", bin, "./cmd/linerate")
		build.Dir = filepath.Join("..", "..")
		if out, err := build.CombinedOutput(); err != nil {
			t.Fatalf("%v\n%s", err, out)
		}
	}
	cmd := exec.Command(bin, append([]string{"serve", "ftp", "--listen", "127.0.0.1:0"}, args...)...)
	errs, err := cmd.StderrPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		cmd.Process.Signal(os.Interrupt)
		cmd.Wait()
	})
	for sc := bufio.NewScanner(errs); sc.Scan(); {
		if at, ok := strings.CutPrefix(sc.Text(), "serving ftp://"); ok {
			go io.Copy(io.Discard, errs)
			host, port, err = net.SplitHostPort(strings.TrimSuffix(at, "/"))
			if err != nil {
				t.Fatal(err)
			}
			return host, port
		}
	}
	t.Fatal("the server does not serve")
	return "", ""
}

// source returns the directory of rclone's source.
func source(t *testing.T) string {
	t.Helper()
	dir, err := exec.Command("go", "list", "-m", "-f", "{{.Dir}}", "github.com/rclone/rclone").Output()
	if err != nil {
		t.Fatal(err)
	}
	return strings.TrimSpace(string(dir))
}

func TestRclone(t *testing.T) {
	for _, c := range []struct {
		name string
		dir  bool
		tls  string
	}{
		{"Disk", true, "false"}, {"Memory", false, "false"}, {"DiskTLS", true, "true"},
	} {
		t.Run(c.name, func(t *testing.T) {
			args := []string{"--tls", "auto"}
			if c.dir {
				args = append(args, t.TempDir())
			}
			host, port := serve(t, args...)
			for key, value := range map[string]string{
				"TYPE": "ftp", "HOST": host, "PORT": port, "USER": "user", "PASS": obscure.MustObscure("password"),
				"EXPLICIT_TLS": c.tls, "NO_CHECK_CERTIFICATE": "true", "CLOSE_TIMEOUT": (5 * time.Second).String(),
			} {
				t.Setenv("RCLONE_CONFIG_LINERATE"+strings.ToUpper(c.name)+"_"+key, value)
			}
			t.Chdir(source(t)) // the suite looks for its list of servers there
			fstests.Run(t, &fstests.Opt{RemoteName: "Linerate" + c.name + ":", NilObject: (*ftp.Object)(nil)})
		})
	}
}
