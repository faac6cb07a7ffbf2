package ftp

import (
	"bytes"
	"net"
	"net/netip"
	"strings"
	"testing"

	"github.com/linerate/linerate/internal/serve/ftp/store"
	"github.com/linerate/linerate/internal/serve/ftp/store/synthetic"
	"github.com/linerate/linerate/internal/serve/ftp/users"
	wire "github.com/linerate/linerate/internal/wire/ftp"
)

// The tests of this package follow the cases that servers are known to get
// wrong; each names the RFC that decides.

func TestEPSVAllRefusesEverythingElse(t *testing.T) { // RFC 2428 4
	p := login(t, serve(t, Config{}).addr)
	p.do(200, "EPSV ALL")
	p.do(503, "PASV")
	p.do(503, "PORT 127,0,0,1,200,1")
	p.do(503, "EPRT |1|127.0.0.1|51201|")
	p.put([]byte("x"), "STOR x") // by EPSV
	p.do(503, "PASV")
}

func TestActiveModeServesNoThirdParty(t *testing.T) { // RFC 2577 3
	p := login(t, serve(t, Config{}).addr)
	for _, cmd := range []string{
		"PORT 192,0,2,1,200,1", "PORT 127,0,0,1,0,22", "EPRT |1|192.0.2.1|51201|", "EPRT |1|127.0.0.1|1023|", "EPRT |2|::1|51201|",
	} {
		p.do(504, "%s", cmd)
		p.do(425, "LIST")
	}
	p.do(501, "PORT 1,2,3")
	p.do(501, "EPRT 127.0.0.1")
	p.do(522, "EPRT |3|127.0.0.1|51201|")
	q := login(t, serve(t, Config{NoActive: true}).addr)
	q.do(502, "PORT 127,0,0,1,200,1")
}

func TestActiveMode(t *testing.T) { // RFC 959 4.1.2, RFC 2428 2
	p := login(t, serve(t, Config{}).addr)
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	at := addrOf(l.Addr())
	want := noise(100_000)
	for _, cmd := range []string{"PORT " + wire.FormatPort(at), "EPRT " + wire.FormatEPRT(at)} {
		p.do(200, "%s", cmd)
		p.send("STOR a\r\n")
		c, err := l.Accept()
		if err != nil {
			t.Fatal(err)
		}
		p.want(150)
		c.Write(want)
		c.Close()
		p.want(226)
		same(t, cmd, p.get("RETR a"), want)
	}
	l.Close()
	p.do(200, "PORT %s", wire.FormatPort(at))
	p.do(425, "RETR a")
}

func TestPASVAdvertisesTheConfiguredAddress(t *testing.T) {
	nat := netip.MustParseAddr("192.0.2.7")
	p := login(t, serve(t, Config{Advertise: nat}).addr)
	a, err := wire.ParsePASV(p.do(227, "PASV").Text())
	if err != nil || a.Addr() != nat {
		t.Errorf("PASV: %s, %v; want %s", a, err, nat)
	}
}

func TestIPv6WantsEPSV(t *testing.T) { // RFC 2428 3
	p := login(t, serveOn(t, "[::1]:0", Config{}).addr)
	if r := p.do(522, "PASV"); !strings.Contains(r.Text(), "EPSV") {
		t.Errorf("%s does not name EPSV", r)
	}
	p.put([]byte("six"), "STOR a")
	same(t, "get", p.get("RETR a"), []byte("six"))
	p.do(229, "EPSV 2")
	if r := p.do(522, "EPSV 1"); !strings.Contains(r.Text(), "(2)") {
		t.Errorf("%s does not name protocol 2", r)
	}
	p.do(522, "EPSV 3")
}

func TestIPv4MappedControlConnection(t *testing.T) {
	r := serveOn(t, "[::]:0", Config{})
	_, port, _ := net.SplitHostPort(r.addr)
	p := login(t, net.JoinHostPort("127.0.0.1", port))
	a, err := wire.ParsePASV(p.do(227, "PASV").Text())
	if err != nil || a.Addr() != localhost {
		t.Errorf("PASV over mapped IPv6: %s, %v", a, err)
	}
	p.put([]byte("mapped"), "STOR a")
	same(t, "get", p.get("RETR a"), []byte("mapped"))
	p.do(504, "EPRT |2|::1|51201|")
	p.do(200, "EPRT |1|127.0.0.1|51201|")
}

func TestRest(t *testing.T) { // RFC 3659 5
	p := login(t, serve(t, Config{}).addr)
	content := noise(10_000)
	p.put(content, "STOR a")
	for _, n := range []int{0, 1, 5000, 9999, 10_000} {
		p.do(350, "REST %d", n)
		same(t, "RETR", p.get("RETR a"), content[n:])
	}
	p.do(350, "REST 10001")
	p.do(229, "EPSV")
	p.do(554, "RETR a")

	p.do(350, "REST 4294967296") // beyond 2^32
	p.do(229, "EPSV")
	p.do(554, "RETR a")
	p.do(350, "REST 4294967296")
	p.do(229, "EPSV")
	p.do(554, "STOR a")

	// REST, then the data connection, then STOR: both orders are in use.
	p.do(350, "REST 5000")
	p.put([]byte("tail"), "STOR a")
	same(t, "STOR at 5000", p.get("RETR a"), append(bytes.Clone(content[:5000]), "tail"...))
	p.put([]byte("more"), "APPE a")
	same(t, "APPE", p.get("RETR a"), append(bytes.Clone(content[:5000]), "tailmore"...))
	p.do(350, "REST 2")
	p.put([]byte("cut"), "APPE a")
	same(t, "APPE at 2", p.get("RETR a"), append(bytes.Clone(content[:2]), "cut"...))

	// Any other command ends it.
	p.do(350, "REST 3")
	p.do(257, "PWD")
	same(t, "RETR after PWD", p.get("RETR a"), append(bytes.Clone(content[:2]), "cut"...))

	p.do(501, "REST -1")
	p.do(501, "REST x")
	p.do(200, "TYPE A")
	p.do(504, "REST 1")
	p.do(350, "REST 0")
}

func TestSize(t *testing.T) { // RFC 3659 4
	p := login(t, serve(t, Config{}).addr)
	p.put(noise(1234), "STOR a")
	if r := p.do(213, "SIZE a"); r.Text() != "1234" {
		t.Errorf("SIZE: %s", r)
	}
	p.do(257, "MKD d")
	p.do(550, "SIZE d")
	p.do(550, "SIZE missing")
	p.do(200, "TYPE A")
	p.do(550, "SIZE a")
}

func TestMachineListings(t *testing.T) { // RFC 3659 7
	p := login(t, serve(t, Config{}).addr)
	p.do(257, "MKD d")
	p.put([]byte("1234"), "STOR d/a b")
	p.do(213, "MFMT 20010203040506 d/a b")
	p.do(501, "MLSD d/a b")
	p.do(550, "MLSD missing")

	r := p.do(250, "MLST d/a b")
	if len(r.Lines) != 3 {
		t.Fatalf("MLST: %q", r.Lines)
	}
	e, err := wire.ParseEntry(r.Lines[1])
	if err != nil || e.Name != "/d/a b" || e.Size != 4 || e.Type != wire.TypeFile || wire.FormatTime(e.Modify) != "20010203040506" {
		t.Errorf("MLST: %+v, %v", e, err)
	}
	entries := strings.Split(strings.TrimSuffix(string(p.get("MLSD d")), "\r\n"), "\r\n")
	if len(entries) != 1 {
		t.Fatalf("MLSD: %q", entries)
	}
	f, err := wire.ParseEntry(entries[0])
	if err != nil || f.Name != "a b" || f.Unique == "" || f.Unique != e.Unique {
		t.Errorf("MLSD: %+v, %v; MLST had unique %q", f, err, e.Unique)
	}

	if r := p.do(200, "OPTS MLST size;nonsense;"); r.Text() != "MLST OPTS Size;" {
		t.Errorf("OPTS MLST: %s", r)
	}
	if got := string(p.get("MLSD d")); got != "Size=4; a b\r\n" {
		t.Errorf("MLSD with one fact: %q", got)
	}
	if r := p.do(211, "FEAT"); !strings.Contains(r.Text(), "MLST Type;Size*;Modify;") {
		t.Errorf("FEAT does not show the facts chosen: %s", r)
	}
	p.do(501, "OPTS MLST fish cakes;") // the RFC's own example
	p.do(200, "OPTS MLST")
	if got := string(p.get("MLSD d")); got != " a b\r\n" {
		t.Errorf("MLSD without facts: %q", got)
	}

	// IAC is doubled on the control connection, and on that only (RFC 854).
	p.do(257, "MKD t")
	p.put(nil, "STOR t/\xff\xff")
	if r := p.do(250, "MLST t/\xff\xff"); !strings.HasSuffix(r.Lines[1], "/\xff\xff") || strings.HasSuffix(r.Lines[1], "\xff\xff\xff") {
		t.Errorf("MLST: %q", r.Lines[1])
	}
	if got := string(p.get("MLSD t")); got != " \xff\r\n" {
		t.Errorf("MLSD: %q", got)
	}
	if got := string(p.get("NLST t")); got != "t/\xff\r\n" {
		t.Errorf("NLST: %q", got)
	}
}

func TestASCII(t *testing.T) { // RFC 959 3.1.1.1
	p := login(t, serve(t, Config{}).addr)
	const stored = "a\nb\r\nc\rd\n\n\r"
	p.put([]byte(stored), "STOR bin")
	p.do(200, "TYPE A")
	if got, want := string(p.get("RETR bin")), "a\r\nb\r\nc\rd\r\n\r\n\r"; got != want {
		t.Errorf("get: %q, want %q", got, want)
	}
	p.put([]byte("a\r\nb\nc\rd\r\r\n\r"), "STOR text")
	p.do(200, "TYPE I")
	if got, want := string(p.get("RETR text")), "a\nb\nc\rd\r\n\r"; got != want {
		t.Errorf("put: %q, want %q", got, want)
	}
}

func TestListings(t *testing.T) { // RFC 959 4.1.3
	p := login(t, serve(t, Config{}).addr)
	p.do(257, "MKD empty")
	p.do(257, "MKD d")
	for _, name := range []string{"one", "two", "a[1]", "-x", "*"} {
		p.put([]byte("x"), "STOR d/%s", name)
	}
	p.do(229, "EPSV")
	p.do(550, "NLST missing")
	p.do(229, "EPSV")
	p.do(550, "LIST missing")
	same(t, "NLST empty", p.get("NLST empty"), nil)
	same(t, "LIST empty", p.get("LIST empty"), nil)
	if got := string(p.get("NLST d/")); !strings.Contains(got, "\r\nd/one\r\n") || got != string(p.get("NLST d")) {
		t.Errorf("NLST of a directory: %q", got)
	}
	p.do(212, "STAT d")
	p.do(250, "CWD d")
	for arg, want := range map[string]string{
		"":        "*\r\n-x\r\na[1]\r\none\r\ntwo\r\n",
		" t*":     "two\r\n",
		" a[1]":   "a[1]\r\n", // a name, not a pattern
		" *":      "*\r\n",
		" -x":     "-x\r\n",
		" -la":    "*\r\n-x\r\na[1]\r\none\r\ntwo\r\n",
		" z?":     "",
		" ./o*":   "./one\r\n",
		" /d/o*":  "/d/one\r\n",
		" /empty": "",
	} {
		if got := string(p.get("NLST%s", arg)); got != want {
			t.Errorf("NLST%s: %q, want %q", arg, got, want)
		}
	}
	if got := string(p.get("LIST -a one")); !strings.HasPrefix(got, "-rw") || !strings.HasSuffix(got, " one\r\n") {
		t.Errorf("LIST -a one: %q", got)
	}
	if r := p.do(213, "STAT one"); len(r.Lines) != 3 || !strings.HasSuffix(r.Lines[1], " one") {
		t.Errorf("STAT one: %q", r.Lines)
	}
}

func TestNames(t *testing.T) { // RFC 2640, RFC 959 appendix II
	p := login(t, serve(t, Config{}).addr)
	for _, name := range []string{
		"with space", " leading", "-dash", `a "quoted" name`, "caf\u00e9", "cafe\u0301", "latin\xe91", "\xff\xff",
	} {
		p.put([]byte(name), "STOR %s", strings.ReplaceAll(name, "\xff", "\xff\xff"))
		if got := string(p.get("RETR %s", strings.ReplaceAll(name, "\xff", "\xff\xff"))); got != name {
			t.Errorf("%q came back as %q", name, got)
		}
	}
	all := string(p.get("NLST"))
	for _, name := range []string{"caf\u00e9\r\n", "cafe\u0301\r\n", "latin\xe91\r\n"} {
		if !strings.Contains(all, name) {
			t.Errorf("NLST lacks %q", name)
		}
	}
	r := p.do(257, `MKD say "hi"`)
	if got, _, err := wire.ParseQuoted(r.Text()); err != nil || got != `/say "hi"` {
		t.Errorf("MKD: %q, %v", got, err)
	}
	p.do(250, `CWD say "hi"`)
	if got, _, err := wire.ParseQuoted(p.do(257, "PWD").Text()); err != nil || got != `/say "hi"` {
		t.Errorf("PWD: %q, %v", got, err)
	}
	p.do(553, "MKD a\r\x00b") // CR NUL is a carriage return in the name
	p.do(200, "OPTS UTF8 ON")
	p.do(257, "MKD d.latin\xe91")
	p.do(200, "OPTS UTF8 OFF")
	p.do(250, "RMD d.latin\xe91")
}

func TestRename(t *testing.T) { // RFC 959 4.1.3
	p := login(t, serve(t, Config{}).addr)
	p.put([]byte("a"), "STOR a")
	p.do(503, "RNTO b")
	p.do(350, "RNFR a")
	p.do(200, "NOOP")
	p.do(503, "RNTO b")
	p.do(550, "RNFR missing")
	p.do(503, "RNTO b")
	p.do(350, "RNFR a")
	p.do(250, "RNTO b")
	p.do(503, "RNTO c")
	p.do(550, "SIZE a")
	p.do(213, "SIZE b")
}

func TestTimes(t *testing.T) { // RFC 3659 3, draft-somers-ftp-mfxx
	p := login(t, serve(t, Config{}).addr)
	p.put([]byte("a"), "STOR a")
	for _, set := range []string{"MFMT 19991231235959 a", "MDTM 20380119031408 a"} {
		p.do(213, "%s", set)
		if r, want := p.do(213, "MDTM a"), strings.Fields(set)[1]; r.Text() != want {
			t.Errorf("after %s: %s", set, r)
		}
	}
	p.do(200, "SITE UTIME 202001020304 a")
	if r := p.do(213, "MDTM a"); r.Text() != "20200102030400" {
		t.Errorf("SITE UTIME: %s", r)
	}
	p.do(200, "SITE UTIME a 20200102030405 20210102030405 20220102030405 UTC")
	if r := p.do(213, "MDTM a"); r.Text() != "20210102030405" {
		t.Errorf("SITE UTIME with three times: %s", r)
	}
	p.put([]byte("b"), "STOR 20010101000000 a")
	if r := p.do(213, "MDTM 20010101000000 a"); r.Text() == "20010101000000" {
		t.Error("MDTM of a file whose name looks like a time changed another file")
	}
	p.do(501, "MFMT yesterday a")
	p.do(550, "MFMT 19991231235959 missing")
	p.do(550, "MDTM missing")
}

func TestStandardReplies(t *testing.T) {
	p := dial(t, serve(t, Config{}).addr)
	p.do(530, "PWD")
	p.do(503, "PASS password")
	p.do(211, "FEAT")
	p.do(215, "SYST")
	p.do(220, "HOST example.net")
	p.do(331, "USER user")
	p.do(331, "USER user") // a second USER starts again
	p.do(530, "PASS wrong")
	p.do(503, "PASS password")
	p.do(503, "ACCT a")
	p.auth()
	p.do(503, "PASS password")
	p.do(503, "HOST example.net")
	p.do(202, "ACCT a")
	for cmd, code := range map[string]int{
		"TYPE A N": 200, "TYPE L 8": 200, "TYPE E": 504, "TYPE": 501, "STRU F": 200, "STRU R": 504, "MODE S": 200, "MODE B": 504,
		"ALLO 100": 200, "ALLO 100 R 10": 200, "ALLO x": 501, "NOOP": 200, "HELP": 214, "HELP RETR": 214, "HELP X": 502,
		"SITE HELP": 214, "SITE CHMOD 644 missing": 550, "SITE CHMOD 9 a": 501, "SITE X": 504, "SMNT /": 502, "XYZZY": 500, "": 500,
		"LANG": 200, "LANG en-GB": 200, "LANG fr": 504, "OPTS UTF8 ON": 200, "OPTS X": 501, "PWD x": 501, "CDUP": 250, "ABOR": 226,
		"PROT P": 502, "PBSZ 0": 503, "AUTH TLS": 502, "CCC": 533, "CWD missing": 550, "RMD missing": 550, "DELE missing": 550,
	} {
		p.do(code, "%s", cmd)
	}
	p.do(220, "REIN")
	p.do(530, "PWD")
	p.auth()
	p.do(221, "QUIT")
}

func TestLinesOnTheControlConnection(t *testing.T) { // RFC 854, RFC 1123 4.1.2.12
	p := login(t, serve(t, Config{}).addr)
	p.send("NOOP\nPWD\r\nSYST\r\n\xff\xfd\x06NOOP\r\n") // bare LF, pipelined, DO TIMING-MARK
	p.want(200)
	p.want(257)
	p.want(215)
	if b, err := p.r.Peek(3); err != nil || string(b) != "\xff\xfc\x06" {
		t.Errorf("negotiation answered %q, %v; want WONT", b, err)
	}
	p.r.Discard(3)
	p.want(200)
	p.send("RETR " + strings.Repeat("x", 100_000) + "\r\nNOOP\r\n")
	p.want(500)
	p.want(200)
	p.send("RETR a\x00b\r\n\x00\x01\x02\r\nNOOP\r\n")
	p.want(500)
	p.want(500)
	p.want(200)
}

func TestHash(t *testing.T) { // draft-bryan-ftpext-hash
	p := login(t, serve(t, Config{}).addr)
	p.put([]byte("0123456789"), "STOR a b")
	const (
		whole = "84d89877f0d4041efb6bf91a16f0248f2fd573e6af05c19f96bedb9f882f7882" // printf 0123456789 | sha256sum
		part  = "38083c7ee9121e17401883566a148aa5c2e2d55dc53bc4a94a026517dbff3c6b" // printf 2345 | sha256sum
	)
	if r := p.do(213, "HASH a b"); r.Text() != "SHA-256 0-9 "+whole+" a b" {
		t.Errorf("HASH: %s", r)
	}
	p.do(350, "RANG 2 5")
	if r := p.do(213, "HASH a b"); r.Text() != "SHA-256 2-5 "+part+" a b" {
		t.Errorf("HASH of a range: %s", r)
	}
	p.do(350, "RANG 2 5")
	same(t, "RETR of a range", p.get("RETR a b"), []byte("2345"))
	same(t, "RETR after it", p.get("RETR a b"), []byte("0123456789"))
	p.do(350, "RANG 8 20")
	same(t, "RETR beyond the end", p.get("RETR a b"), []byte("89"))
	p.do(350, "RANG 0 1")
	p.do(229, "EPSV")
	p.do(504, "STOR x")
	p.do(501, "RANG 1")
	if r := p.do(250, `XSHA256 "a b" 2 6`); r.Text() != strings.ToUpper(part) {
		t.Errorf("XSHA256: %s", r)
	}
	if r := p.do(250, "XCRC a b"); r.Text() != "A684C7C6" {
		t.Errorf("XCRC: %s", r)
	}
	if r := p.do(250, "XMD5 a b"); r.Text() != "781E5E245D69B566979B86E28D23F2C7" {
		t.Errorf("XMD5: %s", r)
	}
	p.do(200, "OPTS HASH MD5")
	if r := p.do(213, "HASH a b"); r.Text() != "MD5 0-9 781e5e245d69b566979b86e28d23f2c7 a b" {
		t.Errorf("HASH MD5: %s", r)
	}
	p.do(501, "OPTS HASH ROT13")
	p.do(550, "HASH missing")
	p.do(501, `XMD5 "a b" 6 2`)
	p.do(554, `XMD5 "a b" 11`)
}

func TestStoreUnique(t *testing.T) { // RFC 1123 4.1.2.9
	p := login(t, serve(t, Config{}).addr)
	seen := map[string]bool{}
	for range 3 {
		c := p.passive()
		r := p.do(150, "STOU")
		name, ok := strings.CutPrefix(r.Text(), "FILE: ")
		if !ok || seen[name] {
			t.Fatalf("STOU: %s", r)
		}
		seen[name] = true
		c.Write([]byte(name))
		c.Close()
		p.want(226)
		same(t, name, p.get("RETR %s", name), []byte(name))
	}
}

func TestModeZ(t *testing.T) { // draft-preston-ftpext-deflate
	p := login(t, serve(t, Config{}).addr)
	want := bytes.Repeat([]byte("compress me "), 50_000)
	p.put(want, "STOR a")
	p.do(200, "MODE Z")
	packed := p.get("RETR a")
	if len(packed) > len(want)/10 {
		t.Errorf("%d bytes for %d", len(packed), len(want))
	}
	p.put(packed, "STOR b")
	same(t, "empty listing is a whole stream", unzlib(t, p.get("NLST missing*")), nil)
	p.do(200, "MODE S")
	same(t, "MODE Z both ways", p.get("RETR b"), want)
	p.do(200, "MODE Z")
	c := p.passive()
	p.do(150, "STOR c")
	c.Write(packed[:len(packed)/2])
	c.Close()
	p.want(426)
	c = p.passive()
	p.do(150, "STOR c")
	c.Write([]byte("this is no zlib stream"))
	c.Close()
	p.want(426)
}

func TestAbortOfAHash(t *testing.T) {
	zero, err := synthetic.NewZero()
	if err != nil {
		t.Fatal(err)
	}
	defer zero.Close()
	p := login(t, serve(t, Config{Store: func(users.Account) (store.Store, error) { return zero, nil }}).addr)
	p.send("HASH 100TB\r\nNOOP\r\nABOR\r\n")
	p.want(426)
	p.want(200)
	p.want(226)
}
