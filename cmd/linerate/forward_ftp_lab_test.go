//go:build linux

package main

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"golang.org/x/crypto/bcrypt"

	"github.com/linerate/linerate/internal/testnet"
	"github.com/linerate/linerate/result"
)

// helped lets conntrack's helper read FTP control connections, so that NAT
// translates what they announce.
const helped = `
table ip helped {
	ct helper ftp {
		type "ftp" protocol tcp;
	}
	chain before {
		type filter hook prerouting priority 0;
		tcp dport 21 ct helper set "ftp"
	}
}
`

// TestForwardFTPThroughNAT: both modes of FTP work through a masquerading
// firewall with our server and vsftpd, with curl and our client; what the
// helper reads stays with the stack, and the data goes beside it.
func TestForwardFTPThroughNAT(t *testing.T) {
	testnet.NeedTool(t, "curl")
	r := newRouter(t)
	r.rules(t, firewall+masquerade+helped)
	r.up(t)
	const size = 48 << 20
	upload := filepath.Join(t.TempDir(), "data")
	if err := os.WriteFile(upload, make([]byte, size), 0o644); err != nil {
		t.Fatal(err)
	}
	servers := map[string]func(*testing.T) (get, put string){
		"linerate": func(t *testing.T) (get, put string) {
			hash, err := bcrypt.GenerateFromPassword([]byte("secret"), bcrypt.MinCost)
			if err != nil {
				t.Fatal(err)
			}
			users := filepath.Join(t.TempDir(), "users")
			if err := os.WriteFile(users, []byte("user:"+string(hash)+":\n"), 0o600); err != nil {
				t.Fatal(err)
			}
			p, err := r.outside.Namespace.Start(t.Context(), os.Args[0], "serve", "ftp", "--users", users, "--listen", "10.2.0.2:21")
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(p.Stop)
			if _, err := p.Await(t.Context(), "10.2.0.2:21"); err != nil {
				t.Fatal(err)
			}
			return "ftp://user:secret@10.2.0.2/zero/48MiB", "ftp://user:secret@10.2.0.2/sink/data"
		},
		"vsftpd": func(t *testing.T) (get, put string) {
			s := testnet.StartFTP(t, r.outside.Namespace, "vsftpd", "10.2.0.2:21", "")
			if err := os.WriteFile(filepath.Join(s.Root, "data"), make([]byte, size), 0o644); err != nil {
				t.Fatal(err)
			}
			return "ftp://10.2.0.2/data", "ftp://10.2.0.2/" + s.Writable + "/data"
		},
	}
	curl := []string{"curl", "-sS", "--max-time", "20"}
	modes := map[string][]string{
		"curl EPSV": curl, "curl PASV": append(curl, "--disable-epsv"),
		"curl EPRT": append(curl, "--ftp-port", "-"), "curl PORT": append(curl, "--ftp-port", "-", "--disable-eprt"),
		"linerate": nil,
	}
	for server, start := range servers {
		t.Run(server, func(t *testing.T) {
			get, put := start(t)
			for mode, client := range modes {
				before, err := r.state()
				if err != nil {
					t.Fatal(err)
				}
				for what, argv := range map[string][]string{
					"get": append(client[:len(client):len(client)], "-o", "/dev/null", get),
					"put": append(client[:len(client):len(client)], "-T", upload, put),
				} {
					if client == nil {
						argv = map[string][]string{"get": {os.Args[0], "get", "-q", "-o", "/dev/null", get}, "put": {os.Args[0], "put", "-q", upload, put}}[what]
					}
					if out, err := r.inside.Namespace.Run(t.Context(), argv...); err != nil {
						t.Errorf("%s, %s: %v\n%s", mode, what, err, out)
					}
				}
				after, err := r.state()
				if err != nil {
					t.Fatal(err)
				}
				fast, slow := after.reason("forwarded")-before.reason("forwarded"), after.reason("unknown")-before.reason("unknown")
				if fast < 2*size/1500*9/10 {
					t.Errorf("%s: %d packets went beside the stack, %d by it: want most", mode, fast, slow)
				}
				for _, f := range after.Connections {
					if f.Original.Target.Port() == 21 {
						t.Errorf("%s: a connection that a helper reads is on the fast path: %v", mode, f.Original)
					}
				}
			}
		})
	}
	if invalid := counter(t, r.do(t, r.box, "nft", "list", "ruleset"), "invalid"); invalid != 0 {
		t.Errorf("%d packets were invalid to the rules", invalid)
	}
}

// TestForwardOutlastsTimeouts: a connection that is busy beside the stack does
// not expire in conntrack, which sees one of its packets now and then; one that
// is idle lives as long as conntrack lets it, 2 h 4 min and more (RFC 5382 REQ-5),
// here of seconds.
func TestForwardOutlastsTimeouts(t *testing.T) {
	r := newRouter(t)
	r.rules(t, firewall+masquerade)
	for _, s := range []string{"udp_timeout", "udp_timeout_stream", "tcp_timeout_established"} {
		if err := r.box.SetSysctl("net.netfilter.nf_conntrack_"+s, "3"); err != nil {
			t.Fatal(err)
		}
	}
	r.up(t, "--recheck", "500ms")
	e := newEcho(t, r.outside.Namespace, "10.2.0.2:7000")
	k := r.talk(t, e.addr, 5*time.Millisecond)
	first := r.fast(t, "fast", 17)
	l, err := r.outside.Namespace.Listen(t.Context(), "tcp", "10.2.0.2:7001")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	idle, err := r.inside.Namespace.DialContext(t.Context(), "tcp", "10.2.0.2:7001")
	if err != nil {
		t.Fatal(err)
	}
	defer idle.Close()
	r.fast(t, "undecided", 6)
	time.Sleep(7 * time.Second)
	if again := r.fast(t, "fast", 17); again.Connection != first.Connection || again.Ways[0].Packets <= first.Ways[0].Packets {
		t.Errorf("the busy connection became another: %+v, before %+v", again, first)
	}
	k.end()
	if k.sent.Load() != e.got.Load() {
		t.Errorf("sent %d, got %d", k.sent.Load(), e.got.Load())
	}
	// What conntrack let go, the fast path lets go too. Conntrack lets go when it
	// is looked at.
	table := r.do(t, r.box, "cat", "/proc/thread-self/net/nf_conntrack")
	if regexp.MustCompile(`tcp .*dport=7001`).MatchString(table) || !strings.Contains(table, "dport=7000") {
		t.Errorf("conntrack has\n%s", table)
	}
	for range 40 {
		s, err := r.state()
		if err != nil {
			t.Fatal(err)
		}
		if len(s.Connections) == 1 {
			return
		}
		time.Sleep(50 * time.Millisecond)
	}
	t.Error("the connection that is over stays on the fast path")
}

// TestBenchReadsTheFastPath: a bench on the router has the fast path's counters
// in its Result.
func TestBenchReadsTheFastPath(t *testing.T) {
	r := newRouter(t)
	r.up(t)
	p, err := r.outside.Namespace.Start(t.Context(), os.Args[0], "serve", "stream", "-q")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(p.Stop)
	if _, err := p.Await(t.Context(), "netperf"); err != nil {
		t.Fatal(err)
	}
	out := r.do(t, r.box, os.Args[0], "bench", "tcp", "10.2.0.2", "--time", "300ms", "--meter", "fastpath", "--json")
	got, err := result.Decode(strings.NewReader(out))
	if err != nil {
		t.Fatal(err)
	}
	for _, x := range got.Readings {
		if n, ok := result.Sum(x.Values, result.FastPathPackets); ok && n > 0 {
			return
		}
	}
	t.Errorf("no packets of the fast path in the readings: %+v", got.Gaps)
}
