package fleet

import (
	"bufio"
	"bytes"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// quick is a time of silence for tests: long against a busy machine's stalls.
const quick = 2 * time.Second

// bench is an agent on loopback and a seat, not paired yet.
type bench struct {
	agent *Agent
	addr  string
	seat  Options
	ended chan struct{} // a session of the verb "hold" has ended
}

func newBench(t *testing.T) *bench {
	t.Helper()
	b := &bench{ended: make(chan struct{}, 8)}
	dir := t.TempDir()
	b.agent = &Agent{Name: "board", Identity: load(t, dir), Store: OpenStore(dir), Allow: []Class{Bench}, Silence: quick, Log: slog.New(slog.DiscardHandler),
		Verbs: []Verb{
			On("echo", Read, func(_ context.Context, _ *Session, in struct {
				Text string `json:"text"`
			}) (string, error) {
				return in.Text, nil
			}),
			On("hold", Bench, func(_ context.Context, s *Session, _ Nothing) (Nothing, error) {
				s.OnEnd(func() { b.ended <- struct{}{} })
				return Nothing{}, nil
			}),
			On("wait", Bench, func(ctx context.Context, s *Session, _ Nothing) (Nothing, error) {
				<-ctx.Done()
				return Nothing{}, ctx.Err()
			}),
			On("set", Tune, func(context.Context, *Session, Nothing) (Nothing, error) { return Nothing{}, nil }),
			On("cannot", Read, func(context.Context, *Session, Nothing) (Nothing, error) {
				return Nothing{}, fmt.Errorf("no rings here: %w", errors.ErrUnsupported)
			}),
		}}
	ctx, stop := context.WithCancel(context.Background())
	a, err := b.agent.Listen(ctx, "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	b.addr = a.String()
	served := make(chan error, 1)
	go func() { served <- b.agent.Serve(ctx) }()
	t.Cleanup(func() {
		stop()
		if err := <-served; err != nil {
			t.Error(err)
		}
	})
	b.seat = b.newSeat(t)
	return b
}

func (b *bench) newSeat(t *testing.T) Options {
	t.Helper()
	dir := t.TempDir()
	return Options{Identity: load(t, dir), Store: OpenStore(dir), Silence: quick}
}

func load(t *testing.T, dir string) Identity {
	t.Helper()
	id, err := LoadIdentity(dir)
	if err != nil {
		t.Fatal(err)
	}
	return id
}

func (b *bench) invite(t *testing.T) string {
	t.Helper()
	code, err := b.agent.Store.Invite(time.Now())
	if err != nil {
		t.Fatal(err)
	}
	return code
}

func (b *bench) pair(t *testing.T) {
	t.Helper()
	if _, err := Pair(t.Context(), b.addr, "desk", b.invite(t), b.seat); err != nil {
		t.Fatal(err)
	}
}

func (b *bench) dial(t *testing.T) *Client {
	t.Helper()
	c, err := Dial(t.Context(), b.addr, b.seat)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	return c
}

func TestPairAndCall(t *testing.T) {
	b := newBench(t)
	if _, err := Dial(t.Context(), b.addr, b.seat); !errors.Is(err, ErrNotTrusted) {
		t.Fatalf("not paired: %v", err)
	}
	code := b.invite(t)
	if _, err := Pair(t.Context(), b.addr, "desk", strings.ToLower(code), b.seat); err != nil {
		t.Fatal(err)
	}
	c := b.dial(t)
	if got, err := Call[string](t.Context(), c, "echo", map[string]string{"text": "hello"}); err != nil || got != "hello" {
		t.Errorf("echo: %q, %v", got, err)
	}
	for _, x := range []struct {
		verb string
		req  any
		want error
	}{
		{"set", Nothing{}, ErrRefused}, // not among Allow
		{"shell", Nothing{}, ErrRefused},
		{"echo", map[string]string{"text": "x", "as": "root"}, ErrProtocol},
		{"echo", []int{1}, ErrProtocol},
		{"cannot", Nothing{}, errors.ErrUnsupported},
	} {
		if _, err := Call[any](t.Context(), c, x.verb, x.req); !errors.Is(err, x.want) {
			t.Errorf("%s %v: %v, want %v", x.verb, x.req, err, x.want)
		}
	}
	if peers, err := b.agent.Store.Peers(); err != nil || len(peers) != 1 || peers[0].Name != "desk" || peers[0].Role != Seat {
		t.Errorf("the agent trusts %+v, %v", peers, err)
	}
	// Used up: the same code pairs nobody else, nor again.
	if _, err := Pair(t.Context(), b.addr, "other", code, b.newSeat(t)); !errors.Is(err, ErrNotTrusted) {
		t.Errorf("a code replayed: %v", err)
	}
}

func TestForgottenAtOnce(t *testing.T) {
	b := newBench(t)
	b.pair(t)
	c := b.dial(t)
	if gone, err := b.agent.Store.Forget("desk"); err != nil || len(gone) != 1 {
		t.Fatalf("forgot %v, %v", gone, err)
	}
	if _, err := Call[string](t.Context(), c, "echo", Nothing{}); !errors.Is(err, ErrNotTrusted) {
		t.Errorf("a session under way: %v", err)
	}
	if _, err := Dial(t.Context(), b.addr, b.seat); !errors.Is(err, ErrNotTrusted) {
		t.Errorf("a new one: %v", err)
	}
}

func TestWrongCodes(t *testing.T) {
	b := newBench(t)
	code := b.invite(t)
	for range codeTries {
		if _, err := Pair(t.Context(), b.addr, "desk", "AAAAA-AAAAA", b.seat); !errors.Is(err, ErrNotTrusted) {
			t.Fatalf("a wrong code: %v", err)
		}
	}
	if _, err := Pair(t.Context(), b.addr, "desk", code, b.seat); !errors.Is(err, ErrNotTrusted) {
		t.Errorf("the right one after too many wrong: %v", err)
	}
	if code, err := b.agent.Store.Invite(time.Now().Add(-CodeLifetime - time.Second)); err != nil {
		t.Fatal(err)
	} else if _, err := Pair(t.Context(), b.addr, "desk", code, b.seat); !errors.Is(err, ErrNotTrusted) {
		t.Errorf("an old code: %v", err)
	}
}

// Somebody in between who passes every message on has a certificate of their
// own at each side: the code proves nothing through them.
func TestPairThroughAnotherFails(t *testing.T) {
	b := newBench(t)
	middle := b.newSeat(t)
	ln, err := tls.Listen("tcp", "127.0.0.1:0", middle.Identity.tls())
	if err != nil {
		t.Fatal(err)
	}
	defer ln.Close()
	go func() {
		for {
			near, err := ln.Accept()
			if err != nil {
				return
			}
			far, err := tls.Dial("tcp", b.addr, middle.Identity.tls())
			if err != nil {
				near.Close()
				return
			}
			go func() { _, _ = io.Copy(far, near); far.Close() }()
			go func() { _, _ = io.Copy(near, far); near.Close() }()
		}
	}()
	if _, err := Pair(t.Context(), ln.Addr().String(), "desk", b.invite(t), b.seat); err == nil {
		t.Error("paired through somebody in between")
	}
	for name, s := range map[string]*Store{"agent": b.agent.Store, "seat": b.seat.Store} {
		if peers, err := s.Peers(); err != nil || len(peers) != 0 {
			t.Errorf("the %s trusts %v, %v", name, peers, err)
		}
	}
}

func TestKeys(t *testing.T) {
	b := newBench(t)
	b.pair(t)
	old, err := NewIdentity(time.Now().Add(-2*time.Hour), time.Hour)
	if err != nil {
		t.Fatal(err)
	}
	seat := b.seat
	seat.Identity = old
	if err := b.agent.Store.Trust(Peer{Name: "old", Role: Seat, Fingerprint: old.Fingerprint()}); err != nil {
		t.Fatal(err)
	}
	if c, err := Dial(t.Context(), b.addr, seat); err == nil {
		c.Close()
		t.Error("an expired key was let in")
	}
	// Another key where one was paired: not followed.
	other := newBench(t)
	if err := b.seat.Store.Trust(Peer{Name: "board", Role: FarSide, Address: other.addr, Fingerprint: b.agent.Identity.Fingerprint()}); err != nil {
		t.Fatal(err)
	}
	if _, err := Dial(t.Context(), other.addr, b.seat); !errors.Is(err, ErrNotTrusted) || !strings.Contains(err.Error(), "in between") {
		t.Errorf("another key: %v", err)
	}
	name := filepath.Join(t.TempDir(), "identity.pem")
	if _, err := makeIdentity(name); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(name, 0o644); err != nil {
		t.Fatal(err)
	}
	if _, err := LoadIdentity(filepath.Dir(name)); err == nil && exposed(0o644) {
		t.Error("a key that others can read was taken")
	}
}

// raw is a paired peer that says what it likes.
func (b *bench) raw(t *testing.T) *tls.Conn {
	t.Helper()
	c, err := tls.Dial("tcp", b.addr, b.seat.Identity.tls())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	return c
}

// closed waits until the agent has hung up.
func closed(t *testing.T, c net.Conn) {
	t.Helper()
	if err := c.SetReadDeadline(time.Now().Add(5 * quick)); err != nil {
		t.Fatal(err)
	}
	if _, err := io.Copy(io.Discard, c); isTimeout(err) {
		t.Error("the agent did not hang up")
	}
}

func TestHostilePeers(t *testing.T) {
	b := newBench(t)
	b.pair(t)
	for name, say := range map[string]func(*tls.Conn){
		"oversize":  func(c *tls.Conn) { _, _ = c.Write(bytes.Repeat([]byte("x"), 2*maxRequest)) },
		"not JSON":  func(c *tls.Conn) { _, _ = c.Write([]byte("GET / HTTP/1.1\r\n\r\n")) },
		"half":      func(c *tls.Conn) { _, _ = c.Write([]byte(`{"id":1,"verb":"ec`)) }, // and then nothing
		"silent":    func(*tls.Conn) {},
		"too much":  func(c *tls.Conn) { _, _ = c.Write(bytes.Repeat([]byte("{\"id\":1,\"verb\":\"wait\"}\n"), atOnce+1)) },
		"unasked":   func(c *tls.Conn) { _, _ = c.Write([]byte("{\"id\":1,\"other\":true}\n")) },
		"two in it": func(c *tls.Conn) { _, _ = c.Write([]byte("{\"id\":1} {\"id\":2}\n")) },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := b.raw(t)
			say(c)
			closed(t, c)
		})
	}
	t.Run("drip", func(t *testing.T) { // a byte now and then is no message
		t.Parallel()
		c := b.raw(t)
		go func() {
			for range 100 {
				if _, err := c.Write([]byte(" ")); err != nil {
					return
				}
				time.Sleep(quick / 10)
			}
		}()
		closed(t, c)
	})
	t.Run("stranger", func(t *testing.T) {
		t.Parallel()
		seat := b.newSeat(t)
		c, err := tls.Dial("tcp", b.addr, seat.Identity.tls())
		if err != nil {
			t.Fatal(err)
		}
		defer c.Close()
		_, _ = c.Write([]byte(`{"id":1,"verb":"echo","body":{"text":"x"}}` + "\n"))
		r := bufio.NewReader(c)
		for range 2 { // "pair first", and the refusal
			m, err := readMessage(r, maxAnswer)
			if err != nil || !errors.Is(m.Failure, ErrNotTrusted) {
				t.Errorf("a stranger was told %+v, %v", m, err)
			}
		}
	})
	t.Run("no key", func(t *testing.T) {
		t.Parallel()
		c, err := tls.Dial("tcp", b.addr, &tls.Config{InsecureSkipVerify: true})
		if err == nil { // TLS 1.3: the refusal comes with the first read
			defer c.Close()
			if _, err = c.Read(make([]byte, 1)); err == nil {
				t.Error("a peer without a key was answered")
			}
		}
	})
}

// What a session started ends with it: when the seat leaves, and when it falls
// silent with its connection open.
func TestSessionEnds(t *testing.T) {
	b := newBench(t)
	b.pair(t)
	over := func(how string) {
		t.Helper()
		select {
		case <-b.ended:
		case <-time.After(10 * quick):
			t.Fatalf("%s: the session goes on", how)
		}
	}
	c := b.dial(t)
	if _, err := Call[Nothing](t.Context(), c, "hold", Nothing{}); err != nil {
		t.Fatal(err)
	}
	waiting := make(chan error, 1)
	go func() { _, err := Call[Nothing](context.Background(), c, "wait", Nothing{}); waiting <- err }()
	time.Sleep(2 * quick) // signs of life keep it
	if got, err := Call[string](t.Context(), c, "echo", map[string]string{"text": "x"}); err != nil || got != "x" {
		t.Fatalf("after a while: %q, %v", got, err)
	}
	c.Close()
	over("closed")
	if err := <-waiting; err == nil {
		t.Error("a request outlived its session")
	}
	silent := b.raw(t)
	if _, err := silent.Write([]byte(`{"id":1,"verb":"hold"}` + "\n")); err != nil {
		t.Fatal(err)
	}
	over("silent")
}

func TestManySessions(t *testing.T) {
	b := newBench(t)
	b.pair(t)
	for range sessions {
		b.dial(t)
	}
	if _, err := Dial(t.Context(), b.addr, b.seat); !errors.Is(err, ErrRefused) {
		t.Errorf("one more: %v", err)
	}
}

func TestClockOffset(t *testing.T) {
	b := newBench(t)
	start := time.Now()
	const ahead = 5 * time.Second
	b.agent.Verbs = append(b.agent.Verbs, On("clock", Read, func(context.Context, *Session, Nothing) (Clock, error) {
		return Clock{int64(time.Since(start) + ahead)}, nil
	}))
	b.pair(t)
	o, err := ClockOffset(t.Context(), b.dial(t), func() int64 { return int64(time.Since(start)) })
	if err != nil || (o.Ahead-ahead).Abs() > o.Error {
		t.Errorf("%v ahead, within %v: %v", o.Ahead, o.Error, err)
	}
}

func FuzzReadMessage(f *testing.F) {
	f.Add([]byte(`{"id":1,"verb":"echo","body":{"text":"x"}}` + "\n"))
	f.Add([]byte(`{"id":1,"failure":{"kind":"refused","text":"no"}}` + "\n"))
	f.Add([]byte("{}\n{\n"))
	f.Fuzz(func(t *testing.T, b []byte) {
		m, err := readMessage(bufio.NewReader(bytes.NewReader(b)), 1<<10)
		if err != nil {
			return
		}
		line, err := appendMessage(m)
		if err != nil {
			t.Fatalf("%+v cannot be sent on: %v", m, err)
		}
		again, err := readMessage(bufio.NewReader(bytes.NewReader(line)), 1<<16)
		if err != nil || again.ID != m.ID || again.Verb != m.Verb {
			t.Errorf("%+v became %+v, %v", m, again, err)
		}
	})
}
