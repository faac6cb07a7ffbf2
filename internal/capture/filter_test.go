package capture

import (
	"bytes"
	"slices"
	"strings"
	"testing"

	"github.com/linerate/linerate/internal/wire/frame"
	"github.com/linerate/linerate/result"
)

// TestFilter counts what passes of a capture whose frames are known: 300
// segments and the handshake one way, half as many acknowledgements back.
func TestFilter(t *testing.T) {
	var file bytes.Buffer
	transfer{segment: 1448, segments: 300, gap: 12_300, rtt: 2_000_000, window: 65535, perACK: 2, timestamps: true}.write(t, &file)
	_, x := filtered(t, file.Bytes(), "")
	all := int64(303 + 150)
	for expression, want := range map[string]int64{
		"":                                   all,
		"tcp":                                all,
		"udp":                                0,
		"not udp":                            all,
		"src host " + x.From.Addr().String(): 302,
		"dst host " + x.From.Addr().String(): 151,
		"tcp[13] & 2 != 0":                   2,
		"tcp[tcpflags] & tcp-push != 0 or greater 1000": 300,
		"vlan": 0,
	} {
		if e, _ := filtered(t, file.Bytes(), expression); e.frames-e.filtered != want {
			t.Errorf("%q: %d of %d frames pass, want %d", expression, e.frames-e.filtered, e.frames, want)
		}
	}
	for _, s := range []string{"(", "host", "tcp[13", "and", "no such word"} {
		if _, err := CompileFilter(s); err == nil || !strings.Contains(err.Error(), "filter") {
			t.Errorf("%q: error %v", s, err)
		}
	}
}

// TestFilterLinks wants an expression for one kind of link to leave out the
// frames of others, and to say so.
func TestFilterLinks(t *testing.T) {
	f, err := CompileFilter("ether broadcast")
	if err != nil {
		t.Fatal(err)
	}
	data := bytes.Repeat([]byte{0xff}, 60)
	e := NewEngine(Options{Filter: f})
	e.Add(&Frame{Data: data, At: 1, Len: 60, Link: frame.LinkEthernet})
	e.Add(&Frame{Data: data, At: 2, Len: 60, Link: frame.LinkRaw})
	e.Add(&Frame{Data: data, At: 3, Len: 60, Link: frame.LinkNFLOG})
	if e.filtered != 2 {
		t.Errorf("%d frames left out, want 2", e.filtered)
	}
	gaps := e.Result(Source{}).Gaps
	for _, link := range []string{"link type 101", "link type 239"} {
		if !slices.ContainsFunc(gaps, func(g result.Gap) bool { return strings.Contains(g.Reason, link) }) {
			t.Errorf("no gap names %s: %v", link, gaps)
		}
	}
}

func filtered(t *testing.T, file []byte, expression string) (*Engine, *Connection) {
	t.Helper()
	f, err := CompileFilter(expression)
	if err != nil {
		t.Fatalf("%q: %v", expression, err)
	}
	e, err := analyze(t, bytes.NewReader(file), Options{Filter: f})
	if err != nil {
		t.Fatal(err)
	}
	cs := e.Connections()
	if len(cs) == 0 {
		return e, nil
	}
	return e, cs[0]
}
