package ftp

import (
	"errors"
	"net/netip"
	"slices"
	"strings"
	"testing"
	"time"
)

// lines decodes everything in, fed in pieces of n bytes.
func lines(t *testing.T, d *LineDecoder, in string, n int) []string {
	t.Helper()
	var out []string
	for piece := range slices.Chunk([]byte(in), n) {
		for len(piece) > 0 {
			line, rest, done, err := d.Next(piece)
			if err != nil {
				out = append(out, "!"+err.Error())
			} else if done {
				out = append(out, string(line))
			}
			piece = rest
		}
	}
	return out
}

func TestLineDecoder(t *testing.T) {
	for _, c := range []struct {
		name, in string
		want     []string
	}{
		{"CRLF and bare LF, pipelined", "USER a\r\nPASS b\nQUIT\r\n", []string{"USER a", "PASS b", "QUIT"}},
		{"IP and Synch before ABOR", "\xff\xf4\xff\xf2ABOR\r\n", []string{"ABOR"}},
		{"Synch whose mark went out of band", "NOOP\r\n\xff\xf4ABOR\r\n", []string{"NOOP", "ABOR"}},
		{"negotiation, its option a line feed", "\xff\xfd\nNOOP\r\n", []string{"NOOP"}},
		{"subnegotiation", "\xff\xfa\x18\x01\n\xff\xf0NOOP\r\n", []string{"NOOP"}},
		{"doubled 0xFF", "RETR \xff\xff\r\n", []string{"RETR \xff"}},
		{"single 0xFF in Latin-1", "RETR \xffa\r\n", []string{"RETR \xffa"}},
		{"CR NUL is a CR", "RETR a\r\x00b\r\n", []string{"RETR a\rb"}},
		{"CR CR LF", "NOOP\r\r\n", []string{"NOOP\r"}},
		{"empty line", "\r\nNOOP\r\n", []string{"", "NOOP"}},
	} {
		for n := range 4 {
			if got := lines(t, &LineDecoder{}, c.in, n+1); !slices.Equal(got, c.want) {
				t.Errorf("%s in pieces of %d: %q, want %q", c.name, n+1, got, c.want)
			}
		}
	}
}

func TestLineDecoderLimit(t *testing.T) {
	d := &LineDecoder{Max: 8}
	got := lines(t, d, strings.Repeat("x", 4096)+"\r\nNOOP\r\n", 100)
	if want := []string{"!line too long", "NOOP"}; !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
	if d.line != nil {
		t.Error("an idle decoder holds memory")
	}
}

func TestLineDecoderRefusesOptions(t *testing.T) {
	d := &LineDecoder{}
	lines(t, d, "\xff\xfd\x01\xff\xfb\x03\xff\xfe\x01", 1)
	if got, want := string(d.Answers()), "\xff\xfc\x01\xff\xfe\x03"; got != want {
		t.Errorf("answers %q, want %q", got, want)
	}
	lines(t, d, strings.Repeat("\xff\xfd\x01", 1000), 64)
	if n := len(d.Answers()); n > maxAnswers+3 {
		t.Errorf("%d bytes of answers kept", n)
	}
}

func TestCommand(t *testing.T) {
	c, err := ParseCommand([]byte("retr  a \xff\rb"))
	if err != nil || c.Verb != "RETR" || c.Arg != " a \xff\rb" {
		t.Fatalf("%+v, %v", c, err)
	}
	if got, want := string(c.Append(nil)), "RETR  a \xff\xff\r\x00b\r\n"; got != want {
		t.Errorf("wire form %q, want %q", got, want)
	}
	if c, err := ParseCommand([]byte("\xf4\xffABOR")); err != nil || c.Verb != "ABOR" {
		t.Errorf("behind a Synch in pieces: %+v, %v", c, err)
	}
	for _, bad := range []string{"", " ", "RE\x00TR", "RETR\ta", "TOOLONGVERB", "RETR a\x00", "\xe9"} {
		if _, err := ParseCommand([]byte(bad)); !errors.Is(err, ErrSyntax) {
			t.Errorf("%q: %v, want a syntax error", bad, err)
		}
	}
	if s := (Command{"PASS", "secret"}).String(); strings.Contains(s, "secret") {
		t.Errorf("the log would show %q", s)
	}
}

func TestReply(t *testing.T) {
	for _, c := range []struct {
		r    Reply
		wire string
	}{
		{NewReply(200, "OK"), "200 OK\r\n"},
		{Reply{Code: 211, Lines: []string{"Features:", "SIZE", "220 tricky", "End"}}, "211-Features:\r\n SIZE\r\n 220 tricky\r\n211 End\r\n"},
		{Reply{Code: 230}, "230 \r\n"},
		{NewReply(550, "%s", "a\r\n226 b\xff"), "550 a??226 b\xff\xff\r\n"},
	} {
		if got := string(c.r.Append(nil)); got != c.wire {
			t.Errorf("%q, want %q", got, c.wire)
		}
	}
}

func TestReplyAdd(t *testing.T) {
	for _, c := range []struct {
		in   string
		want Reply
	}{
		{"220 hi", NewReply(220, "hi")},
		{"200", NewReply(200, "")},
		{"211-Features:\n SIZE\n123 not the end\n211 End", Reply{Code: 211, Lines: []string{"Features:", "SIZE", "123 not the end", "End"}}},
		{"230-one\n230-two\n230 three", Reply{Code: 230, Lines: []string{"one", "two", "three"}}},
	} {
		var r Reply
		var done bool
		for l := range strings.SplitSeq(c.in, "\n") {
			if done {
				t.Fatalf("%q: complete too early", c.in)
			}
			var err error
			if done, err = r.Add(l); err != nil {
				t.Fatal(err)
			}
		}
		if !done || r.Code != c.want.Code || !slices.Equal(r.Lines, c.want.Lines) {
			t.Errorf("%q: %+v (complete %v)", c.in, r, done)
		}
	}
	for _, bad := range []string{"", "2x0 a", "hello", "99 a", "2000 a", "700 a"} {
		if _, err := new(Reply).Add(bad); !errors.Is(err, ErrSyntax) {
			t.Errorf("%q: %v, want a syntax error", bad, err)
		}
	}
}

func TestAddresses(t *testing.T) {
	v4 := netip.MustParseAddrPort("192.168.1.4:2106")
	v6 := netip.MustParseAddrPort("[fe80::1]:2106")
	if a, err := ParsePort(FormatPort(v4)); err != nil || a != v4 {
		t.Errorf("PORT: %v, %v", a, err)
	}
	for _, text := range []string{"Entering Passive Mode (192,168,1,4,8,58).", "= 192,168,1,4,8,58", "27 ports 192,168,1,4,8,58"} {
		if a, err := ParsePASV(text); err != nil || a != v4 {
			t.Errorf("PASV %q: %v, %v", text, a, err)
		}
	}
	for _, a := range []netip.AddrPort{v4, v6} {
		if got, err := ParseEPRT(FormatEPRT(a)); err != nil || got != a {
			t.Errorf("EPRT %s: %v, %v", a, got, err)
		}
	}
	if p, err := ParseEPSV(FormatEPSV(6446)); err != nil || p != 6446 {
		t.Errorf("EPSV: %d, %v", p, err)
	}
	for _, bad := range []string{"", "1,2,3,4,5", "256,0,0,1,1,1", "1,2,3,4,5,6,7", "a,b,c,d,e,f", "-1,2,3,4,5,6"} {
		if _, err := ParsePort(bad); !errors.Is(err, ErrSyntax) {
			t.Errorf("PORT %q: %v", bad, err)
		}
	}
	for _, bad := range []string{"", "|", "|1|::1|21|", "|2|1.2.3.4|21|", "|1|1.2.3.4|65536|", "|1|1.2.3.4|21", "|2|fe80::1%eth0|21|"} {
		if _, err := ParseEPRT(bad); !errors.Is(err, ErrSyntax) || errors.Is(err, ErrProtocol) {
			t.Errorf("EPRT %q: %v", bad, err)
		}
	}
	if _, err := ParseEPRT("|3|x|21|"); !errors.Is(err, ErrProtocol) {
		t.Errorf("EPRT of protocol 3: %v", err)
	}
	for _, bad := range []string{"", "(|||0|)", "(||||)", "(|||1|", "(|a|1|)", "(|||65536|)"} {
		if _, err := ParseEPSV(bad); !errors.Is(err, ErrSyntax) {
			t.Errorf("EPSV %q: %v", bad, err)
		}
	}
}

func TestEntry(t *testing.T) {
	e := Entry{
		Name: " a b", Type: TypeFile, Size: 5 << 30, Perm: "adfr", Unique: "1gdf", Mode: 0o644,
		Modify: time.Date(2026, 12, 1, 2, 3, 4, 120e6, time.UTC),
	}
	line := string(e.Append(nil, AllFacts))
	if want := "Type=file;Size=5368709120;Modify=20261201020304.12;Perm=adfr;Unique=1gdf;UNIX.mode=0644;  a b"; line != want {
		t.Errorf("%q, want %q", line, want)
	}
	if got, err := ParseEntry(line); err != nil || got != e {
		t.Errorf("%+v, %v", got, err)
	}
	if got := string(Entry{Name: "\xff\r\n\x00"}.Append(nil, 0)); got != " \xff???" {
		t.Errorf("name that no line can hold: %q", got)
	}
	if got := string(e.Append(nil, 0)); got != "  a b" {
		t.Errorf("without facts: %q", got)
	}
	if s := ParseFacts("size;bogus;TYPE;"); s != FactSize|FactType || s.String() != "Type;Size;" {
		t.Errorf("facts %s", s)
	}
	if f := (FactType | FactPerm).Feature(); f != "MLST Type*;Size;Modify;Perm*;Unique;UNIX.mode;" {
		t.Errorf("feature %q", f)
	}
	for _, bad := range []string{"", "type=file;", "type=file name", "; "} {
		if _, err := ParseEntry(bad); !errors.Is(err, ErrSyntax) {
			t.Errorf("%q: %v", bad, err)
		}
	}
}

func TestTime(t *testing.T) {
	want := time.Date(2026, 12, 1, 2, 3, 4, 0, time.UTC)
	if got, err := ParseTime("20261201020304"); err != nil || !got.Equal(want) {
		t.Errorf("%v, %v", got, err)
	}
	if got, err := ParseTime("191261201020304"); err != nil || !got.Equal(want) {
		t.Errorf("year 19126: %v, %v", got, err)
	}
	for _, bad := range []string{"", "2026120102030", "20261301020304", "20261201020304.x", "+0261201020304"} {
		if _, err := ParseTime(bad); !errors.Is(err, ErrSyntax) {
			t.Errorf("%q: %v", bad, err)
		}
	}
}

func TestQuote(t *testing.T) {
	for _, p := range []string{"/", `/a "b" c`, `"`, ""} {
		got, rest, err := ParseQuoted(QuotePath(p) + " created")
		if err != nil || got != p || rest != " created" {
			t.Errorf("%q: %q, %q, %v", p, got, rest, err)
		}
	}
	for _, bad := range []string{"", "/a", `"a`, `"a""`} {
		if _, _, err := ParseQuoted(bad); !errors.Is(err, ErrSyntax) {
			t.Errorf("%q: %v", bad, err)
		}
	}
}
