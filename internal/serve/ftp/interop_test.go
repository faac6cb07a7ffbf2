package ftp

import (
	"bytes"
	"context"
	"encoding/pem"
	"errors"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/linerate/linerate/internal/serve/ftp/store/disk"
	"github.com/linerate/linerate/internal/testnet"
)

// outside is a server for other people's clients.
type outside struct {
	*rig
	host, port string
	served     string // directory of the host that it serves
	ca         string // file with the certificate to trust
}

func serveOutside(t *testing.T, cfg Config) *outside {
	t.Helper()
	o := &outside{served: t.TempDir(), ca: filepath.Join(t.TempDir(), "ca.pem")}
	server, _ := certify(t)
	cfg.TLS, cfg.Store = server, diskStore(t, o.served, disk.Options{})
	o.rig = serve(t, cfg)
	o.host, o.port, _ = net.SplitHostPort(o.addr)
	cert := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: server.Certificates[0].Certificate[0]})
	if err := os.WriteFile(o.ca, cert, 0o644); err != nil {
		t.Fatal(err)
	}
	return o
}

// call runs a client and returns what it printed.
func call(t *testing.T, stdin, name string, args ...string) string {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, testnet.NeedTool(t, name), args...)
	cmd.Stdin, cmd.Env = strings.NewReader(stdin), append(os.Environ(), "HOME="+t.TempDir(), "LC_ALL=C.UTF-8")
	var out, errs bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &errs
	if err := cmd.Run(); err != nil {
		t.Fatalf("%s: %v\n%s\n%s", name, err, out.Bytes(), errs.Bytes())
	}
	return out.String()
}

func write(t *testing.T, name string, b []byte) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(name, b, 0o644); err != nil {
		t.Fatal(err)
	}
}

func read(t *testing.T, name string) []byte {
	t.Helper()
	b, err := os.ReadFile(name)
	if err != nil {
		t.Error(err)
	}
	return b
}

func TestCurl(t *testing.T) {
	for name, c := range map[string]struct {
		cfg  Config
		args []string
	}{
		"plain":             {},
		"active":            {args: []string{"--ftp-port", "-"}},
		"PASV":              {args: []string{"--disable-epsv"}},
		"PORT":              {args: []string{"--ftp-port", "-", "--disable-eprt"}},
		"TLS 1.2":           {args: []string{"--ssl-reqd", "--tls-max", "1.2"}},
		"TLS 1.3":           {args: []string{"--ssl-reqd"}},
		"TLS 1.3, reuse":    {cfg: Config{RequireReuse: true}, args: []string{"--ssl-reqd"}},
		"CCC, theirs first": {args: []string{"--ssl-reqd", "--ftp-ssl-ccc", "--ftp-ssl-ccc-mode", "active"}},
		"CCC, ours first":   {args: []string{"--ssl-reqd", "--ftp-ssl-ccc"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			o := serveOutside(t, c.cfg)
			base := "ftp://user:password@" + o.addr + "/"
			curl := func(args ...string) string {
				t.Helper()
				return call(t, "", "curl", append(append([]string{"-sS", "--fail", "--cacert", o.ca}, c.args...), args...)...)
			}
			want := noise(3 << 20)
			local := filepath.Join(t.TempDir(), "local")
			write(t, local, want)
			curl("-T", local, "--ftp-create-dirs", base+"d/a%20b")
			same(t, "upload", read(t, filepath.Join(o.served, "d", "a b")), want)
			same(t, "download", []byte(curl(base+"d/a%20b")), want)
			same(t, "range", []byte(curl("-r", "1000-1999", base+"d/a%20b")), want[1000:2000])
			same(t, "resume", []byte(curl("-C", "3000000", base+"d/a%20b")), want[3000000:])
			write(t, filepath.Join(o.served, "half"), want[:1<<20])
			curl("-C", "-", "-T", local, base+"half")
			same(t, "resumed upload", read(t, filepath.Join(o.served, "half")), want)
			if got := curl("-l", base+"d/"); got != "a b\n" && got != "a b\r\n" {
				t.Errorf("list: %q", got)
			}
			got := curl(base+"d/a%20b", "-o", filepath.Join(t.TempDir(), "1"), base+"half", "-o", filepath.Join(t.TempDir(), "2"), "-Q", "-NOOP")
			if got != "" {
				t.Errorf("two files: %q", got)
			}
			curl("-Q", "DELE half", "-Q", "RNFR d/a b", "-Q", "RNTO d/c", base, "-o", os.DevNull)
			same(t, "renamed", read(t, filepath.Join(o.served, "d", "c")), want)
		})
	}
}

func TestLftp(t *testing.T) {
	for name, c := range map[string]struct {
		cfg  Config
		sets string
	}{
		"plain":      {sets: "set ftp:ssl-allow no"},
		"active":     {sets: "set ftp:ssl-allow no; set ftp:passive-mode no"},
		"FTPS":       {sets: "set ftp:ssl-force yes; set ftp:ssl-protect-data yes"},
		"FTPS, CCC":  {sets: "set ftp:ssl-force yes; set ftp:ssl-protect-data yes; set ftp:ssl-use-ccc yes"},
		"MODE Z":     {sets: "set ftp:ssl-allow no; set ftp:use-mode-z yes"},
		"no MLSD":    {sets: "set ftp:ssl-allow no; set ftp:use-mlsd no"},
		"FTPS reuse": {cfg: Config{RequireReuse: true}, sets: "set ftp:ssl-force yes; set ftp:ssl-protect-data yes; set ftp:ssl-copy-sid yes"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			o := serveOutside(t, c.cfg)
			from, back := t.TempDir(), t.TempDir()
			files := map[string][]byte{
				"a": noise(1 << 20), "d/b c": noise(1000), "d/e/empty": nil, "d/\u00fcml\u00e4ut": []byte("x"), "d/-dash": []byte("y"), `d/q"uote`: []byte("z"),
			}
			for name, b := range files {
				write(t, filepath.Join(from, name), b)
			}
			call(t, "", "lftp", "-u", "user,password", "-p", o.port, o.host, "-e",
				"set net:max-retries 1; set net:timeout 10; set cmd:fail-exit yes; set ssl:ca-file "+o.ca+"; "+c.sets+
					"; mirror -R --parallel=3 "+from+" up; mirror --parallel=3 up "+back+"; mirror -R --only-newer "+from+" up; bye")
			for name, b := range files {
				same(t, "put "+name, read(t, filepath.Join(o.served, "up", name)), b)
				same(t, "get "+name, read(t, filepath.Join(back, name)), b)
			}
			there, err := os.Stat(filepath.Join(from, "a"))
			if err != nil {
				t.Fatal(err)
			}
			here, err := os.Stat(filepath.Join(o.served, "up", "a"))
			if err != nil || !here.ModTime().Equal(there.ModTime().Truncate(time.Second)) {
				t.Errorf("time of the upload: %v, want that of the file, %v", here, there.ModTime())
			}
		})
	}
}

// The same client that is served when it resumes (TestCurl). With TLS 1.2 curl
// resumes by session ID only, which crypto/tls does not serve.
func TestCurlWithoutReuseIsRefused(t *testing.T) {
	o := serveOutside(t, Config{RequireReuse: true})
	write(t, filepath.Join(o.served, "a"), []byte("a"))
	out, err := exec.CommandContext(t.Context(), testnet.NeedTool(t, "curl"), "-sS", "--max-time", "20", "--ssl-reqd", "--cacert", o.ca,
		"--no-sessionid", "ftp://user:password@"+o.addr+"/a").Output()
	if exit, ok := errors.AsType[*exec.ExitError](err); !ok || exit.ExitCode() == 28 || len(out) > 0 { // 28: out of time
		t.Errorf("not refused: %v, %q", err, out)
	}
}

func TestPythonFtplib(t *testing.T) {
	o := serveOutside(t, Config{})
	const script = `
import ftplib, io, ssl, sys, threading
host, port, ca = sys.argv[1], int(sys.argv[2]), sys.argv[3]
ctx = ssl.create_default_context(cafile=ca)
for make in (ftplib.FTP, lambda: ftplib.FTP_TLS(context=ctx)):
    f = make()
    f.connect(host, port, timeout=20)
    f.login('user', 'password')
    if isinstance(f, ftplib.FTP_TLS): f.prot_p()
    want = bytes(range(256)) * 4000
    f.storbinary('STOR bin', io.BytesIO(want))
    got = io.BytesIO(); f.retrbinary('RETR bin', got.write); assert got.getvalue() == want
    got = io.BytesIO(); f.retrbinary('RETR bin', got.write, rest=1000); assert got.getvalue() == want[1000:]
    f.storbinary('STOR bin', io.BytesIO(b'tail'), rest=10)
    f.voidcmd('TYPE I'); assert f.size('bin') == 14, f.size('bin')
    f.storlines('STOR text', io.BytesIO(b'one\r\ntwo\r\n'))
    lines = []; f.retrlines('RETR text', lines.append); assert lines == ['one', 'two'], lines
    f.mkd('d "q"'); f.cwd('d "q"'); assert f.pwd() == '/d "q"', f.pwd(); f.cwd('..')
    assert sorted(f.nlst()) == ['bin', 'd "q"', 'text'], f.nlst()
    facts = dict(f.mlsd('', ['type', 'size'])); assert facts['bin']['size'] == '14', facts
    f.rename('bin', 'nib'); f.delete('nib'); f.rmd('d "q"')
    f.voidcmd('TYPE I')
    f.storbinary('STOR big', io.BytesIO(bytes(8 << 20)))
    c = f.transfercmd('RETR big'); c.recv(1000); f.abort(); c.close()
    try: f.voidresp()
    except ftplib.all_errors: pass
    assert f.sendcmd('NOOP').startswith('200')
    f.delete('big'); f.delete('text')
    f.quit()
print('done')
`
	if out := call(t, script, "python3", "-", o.host, o.port, o.ca); out != "done\n" {
		t.Errorf("ftplib: %q", out)
	}
}

func TestTnftp(t *testing.T) {
	o := serveOutside(t, Config{})
	dir := t.TempDir()
	want := noise(100_000)
	write(t, filepath.Join(dir, "a b"), want)
	write(t, filepath.Join(dir, "text"), []byte("one\ntwo\n"))
	script := strings.Join([]string{
		"open " + o.host + " " + o.port, "user user password", "lcd " + dir, "features", "binary", `put "a b"`, `get "a b" back`,
		"passive", `get "a b" active`, "passive", "ascii", "put text", "binary", "size text", "modtime text", "mkdir d", "cd d", "pwd", "cd ..",
		"rename text d/text", "ls", "mlsd d", `reget "a b" back`, "mdelete d/*", "rmdir d", "quit", "",
	}, "\n")
	out := call(t, script, "tnftp", "-n", "-v", "-i")
	same(t, "upload", read(t, filepath.Join(o.served, "a b")), want)
	same(t, "download", read(t, filepath.Join(dir, "back")), want)
	same(t, "download in active mode", read(t, filepath.Join(dir, "active")), want)
	if _, err := os.Stat(filepath.Join(o.served, "d")); err == nil {
		t.Errorf("d is still there:\n%s", out)
	}
}
