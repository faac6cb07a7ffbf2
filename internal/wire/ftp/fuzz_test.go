package ftp

import (
	"bytes"
	"slices"
	"strings"
	"testing"
)

// FuzzLineDecoder: how the bytes are cut into reads changes nothing, no line
// exceeds the limit, and what Command.Append writes is read back.
func FuzzLineDecoder(f *testing.F) {
	for _, s := range []string{"USER a\r\n", "\xff\xf4\xff\xf2ABOR\r\n", "RETR \xff\xff\r\x00\r\n", "\xff\xfa\n\xff\xf0\n", "\r\r\n\xff"} {
		f.Add([]byte(s), 3)
	}
	f.Fuzz(func(t *testing.T, in []byte, n int) {
		whole := lines(t, &LineDecoder{Max: 32}, string(in), max(len(in), 1))
		pieces := lines(t, &LineDecoder{Max: 32}, string(in), max(1, n&15))
		if !slices.Equal(whole, pieces) {
			t.Fatalf("%q, in pieces %q", whole, pieces)
		}
		for _, l := range whole {
			if len(l) > 32 {
				t.Fatalf("line of %d bytes", len(l))
			}
			c, err := ParseCommand([]byte(l))
			if err != nil {
				continue
			}
			back := lines(t, &LineDecoder{}, string(c.Append(nil)), 7)
			if len(back) != 1 || strings.TrimRight(back[0], " ") != strings.TrimRight(c.Verb+" "+c.Arg, " ") {
				t.Fatalf("%+v came back as %q", c, back)
			}
		}
	})
}

// FuzzReply: a reply that was read, written and read again stays the same.
func FuzzReply(f *testing.F) {
	for _, s := range []string{"220 hi", "211-a\n b\n211 c", "230-\n230-x\n230 ", "200"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, in string) {
		r, ok := decodeReply(in)
		if !ok || strings.ContainsAny(in, "\r\x00") {
			return
		}
		ls := lines(t, &LineDecoder{Max: MaxReplyLine}, string(r.Append(nil)), 1<<20)
		again, ok := decodeReply(strings.Join(ls, "\n"))
		if !ok || again.Code != r.Code || !slices.Equal(again.Lines, r.Lines) {
			t.Fatalf("%+v came back as %+v", r, again)
		}
	})
}

func decodeReply(s string) (Reply, bool) {
	var r Reply
	for l := range strings.SplitSeq(s, "\n") {
		done, err := r.Add(l)
		if err != nil || done {
			return r, done
		}
	}
	return r, false
}

// FuzzText: every parser of text refuses or gives something its writer can
// repeat.
func FuzzText(f *testing.F) {
	for _, s := range []string{"192,168,1,4,8,58", "|2|::1|6275|", "(|||6446|)", `"a""b" c`, "Type=file;Size=1; a", "20261201020304.5", "Type;Size;"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		if a, err := ParsePASV(s); err == nil {
			if b, err := ParsePort(FormatPort(a)); err != nil || b != a {
				t.Fatalf("PASV %s: %s, %v", a, b, err)
			}
		}
		if a, err := ParseEPRT(s); err == nil {
			if b, err := ParseEPRT(FormatEPRT(a)); err != nil || b.Addr().Unmap() != a.Addr().Unmap() {
				t.Fatalf("EPRT %s: %s, %v", a, b, err)
			}
		}
		if p, err := ParseEPSV(s); err == nil {
			if q, err := ParseEPSV(FormatEPSV(p)); err != nil || q != p {
				t.Fatalf("EPSV %d: %d, %v", p, q, err)
			}
		}
		if p, rest, err := ParseQuoted(s); err == nil {
			if q, r, err := ParseQuoted(QuotePath(p) + rest); err != nil || q != p || r != rest {
				t.Fatalf("quoted %q: %q, %v", p, q, err)
			}
		}
		if e, err := ParseEntry(s); err == nil {
			e.Append(nil, AllFacts)
		}
		if at, err := ParseTime(s); err == nil {
			if _, err := ParseTime(FormatTime(at)); err != nil {
				t.Fatal(err)
			}
		}
		if set := ParseFacts(s); ParseFacts(set.String()) != set {
			t.Fatalf("facts %s", set)
		}
		if bytes.ContainsAny(NewReply(200, "%s", s).Append(nil)[:4], "\r\n") {
			t.Fatal("reply broken")
		}
	})
}
