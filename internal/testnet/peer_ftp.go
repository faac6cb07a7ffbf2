package testnet

import (
	"context"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"
)

// FTPServer is a public FTP server running in a Namespace of its own making
// or a test's.
type FTPServer struct {
	*Process
	Addr           string // address and port
	User, Password string
	Root           string // the directory it serves
	Writable       string // directory within Root that takes uploads; "" is Root itself
}

// FTPServers lists the servers that StartFTP knows.
func FTPServers() []string { return []string{"vsftpd", "pure-ftpd", "proftpd"} }

// The accounts that own what the servers serve; vsftpd wants one whose home is
// there.
const (
	daemon = 1
	nobody = 65534
)

// passwordHash is the crypt(3) hash of "password".
const passwordHash = "$6$linerate$sFfjEAzLPpcj47tbQ8o.qllieRP3ALiBvayO4sjd8ZTicjuv6k8aZloUdyldGXXDSeoIou.tzGorcEa/BIcvJ1"

// StartFTP starts a public FTP server at addr in n, serving a new directory. It
// ends with the test. pem holds a certificate and its key for explicit TLS;
// "" means no TLS.
func StartFTP(t TB, n *Namespace, name, addr, pem string) *FTPServer {
	t.Helper()
	NeedRoot(t)
	base, err := os.MkdirTemp("", "linerate-ftp-*")
	if err != nil {
		t.Fatalf("%v", err)
	}
	t.Cleanup(func() { os.RemoveAll(base) })
	s := &FTPServer{Addr: addr, Root: filepath.Join(base, "root"), User: "user", Password: "password"}
	start := map[string]func(TB, string, string) []string{"vsftpd": s.vsftpd, "pure-ftpd": s.pureFTPd, "proftpd": s.proFTPd}[name]
	if start == nil {
		t.Fatalf("testnet: no FTP server called %s", name)
	}
	for _, dir := range []string{base, s.Root} {
		if err := os.MkdirAll(dir, 0o755); err != nil {
			t.Fatalf("%v", err)
		}
		if err := os.Chmod(dir, 0o755); err != nil {
			t.Fatalf("%v", err)
		}
	}
	if err := os.Chown(s.Root, nobody, nobody); err != nil {
		t.Fatalf("%v", err)
	}
	argv := start(t, base, pem)
	if s.Process, err = n.Start(t.Context(), argv...); err != nil {
		t.Fatalf("%v", err)
	}
	t.Cleanup(s.Stop)
	if err := s.ready(t.Context(), n); err != nil {
		t.Fatalf("testnet: %s did not start: %v: %s", name, err, s.Output())
	}
	return s
}

// ready waits until the server greets.
func (s *FTPServer) ready(ctx context.Context, n *Namespace) error {
	ctx, cancel := context.WithTimeout(ctx, 10*time.Second)
	defer cancel()
	for {
		c, err := n.DialContext(ctx, "tcp", s.Addr)
		if err == nil {
			_ = c.SetReadDeadline(time.Now().Add(5 * time.Second))
			_, err = c.Read(make([]byte, 3))
			_ = c.Close()
		}
		if err == nil || ctx.Err() != nil {
			return err
		}
		select {
		case <-s.done:
			return fmt.Errorf("it ended: %w", s.err)
		case <-time.After(50 * time.Millisecond):
		}
	}
}

// vsftpd serves anonymous users: others need PAM files of the system. It
// refuses a writable root, so uploads go below it.
func (s *FTPServer) vsftpd(t TB, base, pem string) []string {
	root := NeedPackages(t, "vsftpd")
	s.User, s.Password, s.Writable = "anonymous", "user@example.com", "up"
	up := filepath.Join(s.Root, s.Writable)
	if err := os.MkdirAll(up, 0o755); err != nil {
		t.Fatalf("%v", err)
	}
	if err := os.Chown(up, daemon, daemon); err != nil {
		t.Fatalf("%v", err)
	}
	host, port, _ := net.SplitHostPort(s.Addr)
	conf := "listen=YES\nbackground=NO\nlisten_address=" + host + "\nlisten_port=" + port + "\nanonymous_enable=YES\nlocal_enable=NO\n" +
		"write_enable=YES\nanon_upload_enable=YES\nanon_mkdir_write_enable=YES\nanon_other_write_enable=YES\nanon_umask=022\n" +
		"anon_world_readable_only=NO\nftp_username=daemon\nanon_root=" + s.Root + "\nsecure_chroot_dir=" + base + "\nseccomp_sandbox=NO\nallow_writeable_chroot=YES\n" +
		"isolate_network=NO\n"
	if strings.Contains(host, ":") {
		conf = strings.Replace(conf, "listen=YES\n", "listen=NO\nlisten_ipv6=YES\n", 1)
		conf = strings.Replace(conf, "listen_address=", "listen_address6=", 1)
	}
	if pem != "" {
		conf += "ssl_enable=YES\nallow_anon_ssl=YES\nssl_ciphers=HIGH\nrequire_ssl_reuse=YES\nrsa_cert_file=" + pem + "\nrsa_private_key_file=" + pem + "\n"
	}
	return []string{filepath.Join(root, "usr/sbin/vsftpd"), writePeerFile(t, base, "vsftpd.conf", conf)}
}

// pureFTPd serves a virtual user.
func (s *FTPServer) pureFTPd(t TB, base, pem string) []string {
	root := NeedPackages(t, "pure-ftpd", "pure-ftpd-common")
	db := filepath.Join(base, "pdb")
	users := writePeerFile(t, base, "users", fmt.Sprintf("%s:%s:%d:%d::%s/./::::::::::::\n", s.User, passwordHash, nobody, nobody, s.Root))
	if out, err := exec.CommandContext(t.Context(), filepath.Join(root, "usr/bin/pure-pw"), "mkdb", db, "-f", users).CombinedOutput(); err != nil {
		t.Fatalf("testnet: pure-pw: %v: %s", err, out)
	}
	host, port, _ := net.SplitHostPort(s.Addr)
	argv := []string{filepath.Join(root, "usr/sbin/pure-ftpd"), "-S", host + "," + port, "-l", "puredb:" + db, "-E", "-A", "-H", "-D",
		"-g", filepath.Join(base, "pid")}
	if pem != "" {
		argv = append(argv, "-Y", "1", "-2", pem)
	}
	return argv
}

// proFTPd serves a user of its own password file.
func (s *FTPServer) proFTPd(t TB, base, pem string) []string {
	root := NeedPackages(t, "proftpd-core", "proftpd-mod-crypto", "libhiredis0.14", "libmemcached11", "libmemcachedutil2", "libhashkit2", "libpcre2-posix3")
	libs, err := filepath.Glob(filepath.Join(root, "usr/lib/*-linux-*"))
	if err != nil || len(libs) == 0 {
		t.Fatalf("testnet: proftpd: libraries not found below %s", root)
	}
	users := writePeerFile(t, base, "users", fmt.Sprintf("%s:%s:%d:%d::%s:/bin/sh\n", s.User, passwordHash, nobody, nobody, s.Root))
	host, port, _ := net.SplitHostPort(s.Addr)
	conf := "ServerType standalone\nDefaultAddress " + host + "\nPort " + port + "\nUser nobody\nGroup nogroup\nServerIdent off\n" +
		"ModulePath " + filepath.Join(root, "usr/lib/proftpd") + "\nPidFile " + base + "/pid\nScoreboardFile " + base + "/scoreboard\nDelayEngine off\n" +
		"AuthOrder mod_auth_file.c\nAuthUserFile " + users + "\nRequireValidShell off\nDefaultRoot ~\nUseReverseDNS off\nAllowOverwrite on\n" +
		"AllowStoreRestart on\nAllowRetrieveRestart on\nWtmpLog off\nTransferLog none\nSystemLog " + base + "/log\nUseIPv6 on\n"
	if pem != "" {
		conf += "LoadModule mod_tls.c\nTLSEngine on\nTLSRSACertificateFile " + pem + "\nTLSRSACertificateKeyFile " + pem + "\nTLSLog " + base + "/tls.log\n"
	}
	return []string{"/usr/bin/env", "LD_LIBRARY_PATH=" + libs[0], filepath.Join(root, "usr/sbin/proftpd"), "-n", "-c", writePeerFile(t, base, "proftpd.conf", conf)}
}

func writePeerFile(t TB, dir, name, text string) string {
	p := filepath.Join(dir, name)
	if err := os.WriteFile(p, []byte(text), 0o600); err != nil {
		t.Fatalf("%v", err)
	}
	return p
}
