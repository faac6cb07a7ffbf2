package iperf3

import (
	"crypto/rand"
	"crypto/rsa"
	"encoding/json"
	"errors"
	"reflect"
	"strings"
	"testing"
	"time"
)

// What iperf3 3.12 -c HOST -u -b 10M -R --get-server-output sends.
const params312 = `{"udp":true,"omit":0,"time":10,"num":0,"blockcount":0,"parallel":1,"reverse":true,"len":1448,"bandwidth":10000000,"pacing_timer":1000,"get_server_output":1,"client_version":"3.12"}`

func TestParseParams(t *testing.T) {
	p, err := ParseParams([]byte(params312))
	if err != nil {
		t.Fatal(err)
	}
	want := Params{UDP: true, Time: 10, Parallel: 1, Reverse: true, Len: 1448, Rate: 10_000_000, PacingTimer: 1000, ServerOutput: true, Version: "3.12"}
	if !reflect.DeepEqual(p, want) {
		t.Errorf("%+v, want %+v", p, want)
	}
	b, err := json.Marshal(p)
	if err != nil || string(b) != params312 {
		t.Errorf("written again: %s, %v", b, err)
	}
}

func TestParseParamsIsLenient(t *testing.T) {
	p, err := ParseParams([]byte(`{"tcp":1,"len":"x","parallel":2.0,"unknown":{},"udp":true,"get_server_output":false}`))
	if err != nil || p.TCP || !p.UDP || p.Len != 0 || p.Parallel != 2 || p.Time != 10 || !bool(p.ServerOutput) {
		t.Errorf("%+v, %v", p, err)
	}
	for _, bad := range []string{"", "[]", "null", "{", strings.Repeat("[", 9000)} {
		if _, err := ParseParams([]byte(bad)); !errors.Is(err, ErrDocument) {
			t.Errorf("%.10q: %v", bad, err)
		}
	}
}

func TestParamsCheck(t *testing.T) {
	ok := Params{TCP: true, Time: 10, Parallel: 1, Len: 131072}
	for _, c := range []struct {
		change func(*Params)
		want   Code
	}{
		{func(*Params) {}, 0}, {func(p *Params) { p.Len = 0 }, CodeBlockSize}, {func(p *Params) { p.Len = 2 << 20 }, CodeBlockSize},
		{func(p *Params) { p.UDP, p.Len = true, 15 }, CodeUDPBlock}, {func(p *Params) { p.Parallel = 129 }, CodeStreams},
		{func(p *Params) { p.Time = 86401 }, CodeDuration}, {func(p *Params) { p.Omit = -1 }, CodeOmit}, {func(p *Params) { p.TOS = 256 }, CodeTOS},
		{func(p *Params) { p.Window = 1 << 30 }, CodeBuffer}, {func(p *Params) { p.MSS = 40000 }, CodeMSS},
		{func(p *Params) { p.Bytes = -1 }, CodeParams}, {func(p *Params) { p.Reverse, p.Bidir = true, true }, CodeParams},
	} {
		p := ok
		c.change(&p)
		err := p.Check()
		if c.want == 0 && err != nil || c.want != 0 && !errors.Is(err, RemoteError{Code: c.want}) {
			t.Errorf("%+v: %v, want code %d", p, err, c.want)
		}
	}
}

// What an iperf3 3.12 server answers: -1 shows as 2^64-1.
func TestParseResults(t *testing.T) {
	r, err := ParseResults([]byte(`{"cpu_util_total":12.5,"cpu_util_user":1,"cpu_util_system":11.5,"sender_has_retransmits":18446744073709551615,` +
		`"congestion_used":"cubic","streams":[{"id":1,"bytes":125000000000,"retransmits":18446744073709551615,"jitter":0.000013,"errors":2,"packets":100,"start_time":0,"end_time":10.0001}]}`))
	if err != nil {
		t.Fatal(err)
	}
	s := r.Streams[0]
	if r.HasRetransmits != -1 || s.Retransmits != -1 || s.Bytes != 125e9 || s.Lost != 2 || s.Packets != 100 || s.End != 10.0001 || r.Congestion != "cubic" {
		t.Errorf("%+v", r)
	}
	for _, bad := range []string{`{}`, `{"streams":{}}`, `{"streams":[1]}`, `{"streams":[` + strings.Repeat(`{},`, 300) + `{}]}`} {
		if _, err := ParseResults([]byte(bad)); !errors.Is(err, ErrDocument) {
			t.Errorf("%.20q: %v", bad, err)
		}
	}
}

func TestStreamIDs(t *testing.T) {
	for i, want := range []int{1, 3, 4, 5} {
		if got := StreamID(i); got != want {
			t.Errorf("stream %d has id %d, want %d", i, got, want)
		}
	}
}

func TestHeader(t *testing.T) {
	h := Header{Sent: 3*time.Second + 7*time.Microsecond, Seq: 1<<32 + 9}
	b := make([]byte, 16)
	h.Put(b, true)
	if want := "\x00\x00\x00\x03\x00\x00\x00\x07\x00\x00\x00\x01\x00\x00\x00\x09"; string(b) != want {
		t.Errorf("% x", b)
	}
	if got, err := ParseHeader(b, true); err != nil || got != h {
		t.Errorf("%+v, %v", got, err)
	}
	h.Put(b, false)
	if got, err := ParseHeader(b[:12], false); err != nil || got.Seq != 9 {
		t.Errorf("%+v, %v", got, err)
	}
	if _, err := ParseHeader(b[:15], true); !errors.Is(err, ErrShort) {
		t.Error(err)
	}
}

func TestRemoteError(t *testing.T) {
	e := RemoteError{Code: CodeAuth, Errno: 13}
	if got := ParseError([8]byte(e.Append(nil))); got != e {
		t.Errorf("%+v", got)
	}
	if AccessDenied.String() != "ACCESS_DENIED" || State(99).String() != "state 99" {
		t.Error(AccessDenied, State(99))
	}
}

func TestToken(t *testing.T) {
	key, err := rsa.GenerateKey(rand.Reader, 2048)
	if err != nil {
		t.Fatal(err)
	}
	// SHA-256 of "{mario}rossi", from iperf3's manual.
	users, err := ParseUsers("# comment\nmario,bf7a49a846d44b454a5d11e7acfaf13d138bbe0b7483aa3e050879700572709b\n")
	if err != nil {
		t.Fatal(err)
	}
	now := time.Unix(1_800_000_000, 0)
	for _, old := range []bool{true, false} {
		tok, err := Credentials{"mario", "rossi", now}.Token(&key.PublicKey, old)
		if err != nil {
			t.Fatal(err)
		}
		c, err := ParseToken(key, tok)
		if err != nil || users.Admit(c, now.Add(9*time.Second), 10*time.Second) != nil {
			t.Errorf("old padding %v: %+v, %v", old, c, err)
		}
		if err := users.Admit(c, now.Add(11*time.Second), 10*time.Second); !errors.Is(err, ErrAuth) {
			t.Errorf("stale token: %v", err)
		}
		c.Password = "verdi"
		if err := users.Admit(c, now, time.Second); !errors.Is(err, ErrAuth) {
			t.Errorf("wrong password: %v", err)
		}
	}
	for _, bad := range []string{"", "!", "AAAA"} {
		if _, err := ParseToken(key, bad); !errors.Is(err, ErrAuth) {
			t.Errorf("%q: %v", bad, err)
		}
	}
	if _, err := ParseUsers("mario rossi"); err == nil {
		t.Error("a line without a hash is taken")
	}
}

func TestCookie(t *testing.T) {
	c := NewCookie()
	if c == NewCookie() || c[36] != 0 || strings.Trim(c.String(), "abcdefghijklmnopqrstuvwxyz234567") != "" {
		t.Errorf("%q", c)
	}
}

func FuzzParams(f *testing.F) {
	f.Add([]byte(params312))
	f.Add([]byte(`{"time":1e400,"num":-9e99,"server_affinity":1,"linerate":{"version":1}}`))
	f.Fuzz(func(t *testing.T, b []byte) {
		p, err := ParseParams(b)
		if err != nil || p.Check() != nil {
			return
		}
		doc, err := json.Marshal(p)
		if err != nil {
			t.Fatal(err)
		}
		if again, err := ParseParams(doc); err != nil || !reflect.DeepEqual(p, again) {
			t.Errorf("%+v reads again as %+v, %v", p, again, err)
		}
	})
}

func FuzzResults(f *testing.F) {
	f.Add([]byte(`{"streams":[{"id":1,"bytes":1,"linerate":{"received":1}}],"server_output_json":{"a":[1]}}`))
	f.Fuzz(func(t *testing.T, b []byte) {
		if r, err := ParseResults(b); err == nil && len(r.Streams) > maxStreams {
			t.Error("too many streams")
		}
	})
}

func FuzzHeader(f *testing.F) {
	f.Add([]byte("0123456789abcdef"), true)
	f.Fuzz(func(t *testing.T, b []byte, wide bool) {
		h, err := ParseHeader(b, wide)
		if err != nil || h.Sent < 0 {
			return
		}
		out := make([]byte, len(b))
		h.Put(out, wide)
		if again, _ := ParseHeader(out, wide); again.Seq != h.Seq {
			t.Errorf("%+v reads again as %+v", h, again)
		}
	})
}

func FuzzToken(f *testing.F) {
	f.Add("user: a\npwd:  b\nts:   1")
	f.Fuzz(func(t *testing.T, text string) { _, _ = parseCredentials(text) })
}
