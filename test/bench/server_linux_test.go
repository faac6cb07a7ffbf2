package bench

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"fmt"
	"math/big"
	"net"
	"os"
	"path"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"golang.org/x/crypto/bcrypt"

	"github.com/linerate/linerate/internal/serve/ftp/client"
	"github.com/linerate/linerate/internal/testnet"
)

const (
	gib  = 1 << 30
	part = gib / 8 // of each of eight streams
)

// fileOf names the file of n bytes that every server has.
func fileOf(n int64) string { return fmt.Sprintf("%dMiB.bin", n>>20) }

// server is one of the servers compared.
type server struct {
	name           string
	pid            int
	addr           string // of the veth link
	user, password string
	put            string // directory for uploads
	bare           bool   // speaks kernelSession's words, not FTP
}

// location says how the client logs in.
func (s *server) location(secure bool) client.Location {
	l := client.Location{Host: s.addr, User: s.user, Password: s.password}
	if secure {
		l.Security = client.Explicit
	}
	return l
}

// rig is the veth link with the servers at one end.
type rig struct {
	tb       *testing.B
	link     *testnet.Link
	dir      string // on tmpfs, with the files
	pem      string
	bin      string // linerate
	nextPort int
	missing  []string // servers that couldn't be had, and why
}

func newRig(b *testing.B) *rig {
	testnet.NeedRoot(b)
	r := &rig{tb: b, link: testnet.NewPair(b, testnet.LinkOptions{}), nextPort: 2100}
	// Every server's files and uploads are on tmpfs: no disk is measured.
	b.Setenv("TMPDIR", "/dev/shm")
	r.dir = b.TempDir()
	for _, dir := range []string{filepath.Dir(r.dir), r.dir} { // servers have users of their own
		if err := os.Chmod(dir, 0o755); err != nil {
			b.Fatal(err)
		}
	}
	for _, n := range []int64{part, gib} {
		r.fill(filepath.Join(r.dir, fileOf(n)), n)
	}
	r.pem = filepath.Join(r.dir, "server.pem")
	r.certificate()
	if r.bin = *binary; r.bin != "" {
		return r
	}
	r.bin = filepath.Join(r.dir, "linerate")
	if out, err := testnet.Host().Run(b.Context(), "go", "build", "-o", r.bin, "../../cmd/linerate"); err != nil {
		b.Fatalf("build linerate: %v: %s", err, out)
	}
	return r
}

// fill writes n bytes that no TLS or network stack can shorten.
func (r *rig) fill(name string, n int64) {
	f, err := os.Create(name)
	if err != nil {
		r.tb.Fatal(err)
	}
	defer f.Close()
	block := make([]byte, 1<<20)
	rand.Read(block)
	for at := int64(0); at < n; at += int64(len(block)) {
		if _, err := f.Write(block); err != nil {
			r.tb.Fatal(err)
		}
	}
}

func (r *rig) certificate() {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		r.tb.Fatal(err)
	}
	template := &x509.Certificate{SerialNumber: big.NewInt(1), NotAfter: time.Now().Add(24 * time.Hour)}
	cert, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	if err != nil {
		r.tb.Fatal(err)
	}
	der, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		r.tb.Fatal(err)
	}
	both := append(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: cert}), pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: der})...)
	if err := os.WriteFile(r.pem, both, 0o644); err != nil {
		r.tb.Fatal(err)
	}
}

// clientTLS is TLS 1.3 with AES-128-GCM, the first choice of Go and OpenSSL where the CPU has AES.
func clientTLS() *tls.Config {
	return &tls.Config{InsecureSkipVerify: true, MinVersion: tls.VersionTLS13}
}

func (r *rig) addr() string {
	r.nextPort++
	return net.JoinHostPort(r.link.A.IPv4.Addr().String(), fmt.Sprint(r.nextPort))
}

// start runs one of our own programs in the server's namespace and waits until
// it says that it serves.
func (r *rig) start(argv ...string) *testnet.Process {
	p, err := r.link.A.Namespace.Start(r.tb.Context(), argv...)
	if err != nil {
		r.tb.Fatal(err)
	}
	r.tb.Cleanup(p.Stop)
	ctx, cancel := context.WithTimeout(r.tb.Context(), 20*time.Second)
	defer cancel()
	if _, err := p.Await(ctx, "serving"); err != nil {
		r.tb.Fatal(err)
	}
	return p
}

// linerate starts our server, on tmpfs or in memory.
func (r *rig) linerate(memory bool) *server {
	s := &server{name: "linerate", addr: r.addr(), user: "user", password: "password"}
	// The memory that argon2id works in would hide what sessions take.
	hash, err := bcrypt.GenerateFromPassword([]byte(s.password), bcrypt.MinCost)
	if err != nil {
		r.tb.Fatal(err)
	}
	login := filepath.Join(r.dir, "users")
	if err := os.WriteFile(login, fmt.Appendf(nil, "%s:%s\n", s.user, hash), 0o600); err != nil {
		r.tb.Fatal(err)
	}
	argv := []string{r.bin, "serve", "ftp", "--listen", s.addr, "--users", login, "--tls", "auto"}
	if memory {
		s.name = "linerate, memory"
		argv = append(argv, "--memory", "4GiB", "--populate")
	} else {
		argv = append(argv, r.root())
	}
	s.pid = r.start(argv...).PID()
	return s
}

// root makes a directory for a server to serve.
func (r *rig) root() string {
	root, err := os.MkdirTemp(r.dir, "root-*")
	if err != nil {
		r.tb.Fatal(err)
	}
	r.share(root)
	return root
}

// share puts the files into a server's directory.
func (r *rig) share(root string) {
	for _, n := range []int64{part, gib} {
		if err := os.Link(filepath.Join(r.dir, fileOf(n)), filepath.Join(root, fileOf(n))); err != nil {
			r.tb.Fatal(err)
		}
	}
}

// peer starts a public server.
func (r *rig) peer(name string) *server {
	p := testnet.StartFTP(r.tb, r.link.A.Namespace, name, r.addr(), r.pem)
	r.share(p.Root)
	return &server{name: name, pid: p.PID(), addr: p.Addr, user: p.User, password: p.Password, put: p.Writable}
}

// kernel starts the bare pairs' server.
func (r *rig) kernel() *server {
	self, err := os.Executable()
	if err != nil {
		r.tb.Fatal(err)
	}
	s := &server{name: "kernel", addr: r.addr(), bare: true}
	s.pid = r.start(self, kernelArg, s.addr, r.dir).PID()
	return s
}

// ftpserverlib builds and starts a plain server of that library; nil, and the
// reason is shown, where its module can't be fetched.
func (r *rig) ftpserverlib() *server {
	bin := filepath.Join(r.dir, "ftpserverlib")
	if out, err := testnet.Host().Run(r.tb.Context(), "go", "build", "-C", "../ftpserverlib", "-o", bin, "."); err != nil {
		r.missing = append(r.missing, fmt.Sprintf("ftpserverlib: %v: %s", err, lastLine(out)))
		return nil
	}
	s := &server{name: "ftpserverlib", addr: r.addr(), user: "user", password: "password"}
	s.pid = r.start(bin, s.addr, r.root(), r.pem).PID()
	return s
}

func lastLine(s string) string {
	s = strings.TrimSpace(s)
	return strings.TrimSpace(s[strings.LastIndexByte(s, '\n')+1:])
}

// dial logs in from the client's end.
func (r *rig) dial(ctx context.Context, s *server, secure bool) (*client.Conn, error) {
	return client.Dial(ctx, client.Config{Location: s.location(secure), TLS: clientTLS(), Network: r.link.B.Namespace})
}

func (s *server) upload(stream int) string { return path.Join(s.put, fmt.Sprintf("upload-%d", stream)) }
