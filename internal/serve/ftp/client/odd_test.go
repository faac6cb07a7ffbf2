package client_test

import (
	"bytes"
	"context"
	"errors"
	"io"
	"log/slog"
	"net"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/linerate/linerate/internal/serve/ftp/client"
	"github.com/linerate/linerate/internal/serve/ftp/data"
)

// TestOddServers moves a file both ways with servers that bend the rules.
func TestOddServers(t *testing.T) {
	for name, odd := range map[string]func(f *fake){
		"usual":           func(*fake) {},
		"no EPSV":         func(f *fake) { f.answer("EPSV", "502 no") },
		"EPSV of no port": func(f *fake) { f.answer("EPSV", "229 ok (|||0|)") },
		"EPSV port that nobody listens at": func(f *fake) {
			f.answer("EPSV", "229 ok (|||1|)")
		},
		"no FEAT, no TYPE": func(f *fake) { f.answer("FEAT", "500 no"); f.answer("TYPE", "500 no") },
		"FEAT of one line": func(f *fake) { f.answer("FEAT", "211 none") },
		"FEAT with codes":  func(f *fake) { f.answer("FEAT", "211-Extensions\r\n211-SIZE\r\n211-UTF8\r\n211 end") },
		"long greeting": func(f *fake) {
			f.answer("greeting", "220-Welcome\r\n 331 not the end\r\n220-more\r\n\r\n220 now")
		},
		"delayed greeting": func(f *fake) { f.answer("greeting", "120 wait\r\n220 now") },
		"bare LF":          func(f *fake) { f.answer("TYPE", "200-a\n200 b") },
		"no password":      func(f *fake) { f.answer("USER", "230 come in") },
		"telnet":           func(f *fake) { f.answer("TYPE", "\xff\xfb\x01200 ok") },
		"125 for 150": func(f *fake) {
			f.answers["RETR"] = func(s *fakeSession, arg string) { s.say("125 open"); s.send(arg); s.say("250 done") }
		},
		"no preliminary reply": func(f *fake) {
			f.answers["RETR"] = func(s *fakeSession, arg string) { s.send(arg); s.say("226 done") }
			f.answers["STOR"] = func(s *fakeSession, arg string) { s.receive(arg); s.say("226 done") }
		},
		"confirmed before the end": func(f *fake) {
			f.answers["RETR"] = func(s *fakeSession, arg string) { s.say("150 x\r\n226 done"); s.send(arg) }
		},
	} {
		t.Run(name, func(t *testing.T) {
			f := newFake(t)
			odd(f)
			c := f.dial()
			for range 2 { // the second time shows that the dialogue is in step
				var got bytes.Buffer
				if _, err := c.Get(t.Context(), "file", 0, &got, data.Options{}); err != nil || !bytes.Equal(got.Bytes(), f.file("file")) {
					t.Fatalf("get: %d bytes, %v", got.Len(), err)
				}
			}
			if _, err := c.Put(t.Context(), "new", 0, strings.NewReader("hello"), data.Options{}); err != nil || string(f.file("new")) != "hello" {
				t.Errorf("put: %q, %v", f.file("new"), err)
			}
		})
	}
}

// TestServerFails has the server vanish, fall silent or babble in every state.
// The client must come back with an error that says so, in little more than
// its timeout.
func TestServerFails(t *testing.T) {
	faults := map[string]func(s *fakeSession, arg string){
		"vanishes":  func(s *fakeSession, _ string) { s.Conn.Close() },
		"is silent": func(*fakeSession, string) {},
		"babbles":   func(s *fakeSession, _ string) { s.say("\x00\x01hello") },
		"drips": func(s *fakeSession, _ string) {
			for range 100 {
				if _, err := s.Conn.Write([]byte("2")); err != nil {
					return
				}
				time.Sleep(50 * time.Millisecond)
			}
		},
		"never ends its reply": func(s *fakeSession, _ string) {
			s.say("200-first")
			for {
				if _, err := s.Conn.Write(bytes.Repeat([]byte(" more\r\n"), 1000)); err != nil {
					return
				}
			}
		},
		"says goodbye": func(s *fakeSession, _ string) { s.say("421 closing"); s.Conn.Close() },
	}
	// Most of the time goes by waiting, so all of them wait together.
	var all sync.WaitGroup
	for name, fault := range faults {
		for _, verb := range []string{"greeting", "USER", "PASS", "FEAT", "TYPE", "EPSV", "REST", "RETR", "STOR", "SIZE"} {
			f := newFake(t)
			f.answers[verb] = fault
			cfg := f.config()
			cfg.Timeout = 300 * time.Millisecond
			all.Go(func() {
				began := time.Now()
				err := use(t.Context(), cfg)
				if err == nil {
					t.Errorf("%s %s: no error", verb, name)
				} else if strings.Contains(err.Error(), "secret") {
					t.Errorf("%s %s: the password is in %v", verb, name, err)
				}
				if took := time.Since(began); took > 20*time.Second {
					t.Errorf("%s %s: took %v", verb, name, took)
				}
			})
		}
	}
	all.Wait()
}

// use does one of everything.
func use(ctx context.Context, cfg client.Config) error {
	c, err := client.Dial(ctx, cfg)
	if err != nil {
		return err
	}
	defer c.Close()
	_, get := c.Get(ctx, "file", 1, io.Discard, data.Options{})
	_, put := c.Put(ctx, "new", 0, strings.NewReader("hello"), data.Options{})
	_, size := c.Size(ctx, "file")
	return errors.Join(get, put, size)
}

func TestRefusalKeepsTheConnection(t *testing.T) {
	f := newFake(t)
	f.answer("RETR", "550 No such file")
	f.answer("STOR", "553 Not allowed")
	c := f.dial()
	for range 2 {
		if _, err := c.Get(t.Context(), "x", 0, io.Discard, data.Options{}); !client.Refused(err) || client.Temporary(err) {
			t.Errorf("get: %v", err)
		}
		if _, err := c.Put(t.Context(), "x", 0, strings.NewReader("x"), data.Options{}); !client.Refused(err) {
			t.Errorf("put: %v", err)
		}
	}
	if n, err := c.Size(t.Context(), "file"); n != 10000 || err != nil {
		t.Errorf("size %d, %v", n, err)
	}
}

// A server that gives up midway must be heard, and be worth another try.
func TestServerAbortsTransfer(t *testing.T) {
	f := newFake(t)
	f.answers["RETR"] = func(s *fakeSession, _ string) {
		s.say("150 x")
		c := s.accept()
		_, _ = c.Write([]byte("half"))
		c.Close()
		s.say("451 disk error")
	}
	f.answers["STOR"] = func(s *fakeSession, _ string) {
		s.say("150 x")
		c := s.accept()
		s.say("452 disk full")
		_, _ = io.CopyN(io.Discard, c, 1)
		c.Close()
	}
	c := f.dial()
	var got bytes.Buffer
	st, err := c.Get(t.Context(), "file", 0, &got, data.Options{})
	if refusal, ok := errors.AsType[*client.ReplyError](err); !ok || refusal.Reply.Code != 451 || !client.Temporary(err) || st.Bytes != 4 {
		t.Errorf("get: %+v, %v", st, err)
	}
	_, err = c.Put(t.Context(), "new", 0, client.Zeros(1<<30), data.Options{})
	if refusal, ok := errors.AsType[*client.ReplyError](err); !ok || refusal.Reply.Code != 452 {
		t.Errorf("put: %v", err)
	}
	if _, err := c.Size(t.Context(), "file"); err != nil {
		t.Errorf("the dialogue is out of step: %v", err)
	}
}

// A broken upload must not look whole to the server.
func TestBrokenUploadIsReset(t *testing.T) {
	f := newFake(t)
	c := f.dial()
	source := io.MultiReader(bytes.NewReader(make([]byte, 1<<20)), failing{})
	if _, err := c.Put(t.Context(), "new", 0, source, data.Options{}); !errors.Is(err, errBroken) {
		t.Errorf("put: %v", err)
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.last == nil {
		t.Error("the server saw an orderly end of the upload")
	}
}

var errBroken = errors.New("disk of this side")

type failing struct{}

func (failing) Read([]byte) (int, error) { return 0, errBroken }

func TestCancelLeavesTheConnectionUsable(t *testing.T) {
	f := newFake(t)
	f.answers["RETR"] = func(s *fakeSession, _ string) {
		s.say("150 x")
		c := s.accept()
		defer c.Close()
		for {
			if _, err := c.Write(make([]byte, 1<<16)); err != nil {
				break
			}
		}
		s.say("426 you left")
	}
	c := f.dial()
	ctx, cancel := context.WithCancel(t.Context())
	time.AfterFunc(50*time.Millisecond, cancel)
	if _, err := c.Get(ctx, "file", 0, io.Discard, data.Options{}); !errors.Is(err, context.Canceled) || client.Temporary(err) {
		t.Errorf("get: %v", err)
	}
	if n, err := c.Size(t.Context(), "file"); n != 10000 || err != nil {
		t.Errorf("size afterwards: %d, %v", n, err)
	}
}

func TestStalledTransferEnds(t *testing.T) {
	f := newFake(t)
	f.answers["RETR"] = func(s *fakeSession, _ string) {
		s.say("150 x")
		c := s.accept()
		defer c.Close()
		_, _ = c.Write([]byte("a little"))
		_, _ = io.Copy(io.Discard, c) // until the client has had enough
	}
	cfg := f.config()
	cfg.Timeout = 200 * time.Millisecond
	c, err := client.Dial(t.Context(), cfg)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	if _, err := c.Get(t.Context(), "file", 0, io.Discard, data.Options{}); !errors.Is(err, data.ErrStalled) || !client.Temporary(err) {
		t.Errorf("get: %v", err)
	}
}

// A slow line is no stall, however little comes at a time.
func TestSlowLineIsNoStall(t *testing.T) {
	f := newFake(t)
	f.answers["RETR"] = func(s *fakeSession, _ string) {
		s.say("150 x")
		c := s.accept()
		for range 25 {
			_, _ = c.Write(make([]byte, 4<<10))
			time.Sleep(60 * time.Millisecond)
		}
		c.Close()
		s.say("226 x")
	}
	cfg := f.config()
	cfg.Timeout = time.Second
	c, err := client.Dial(t.Context(), cfg)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	var got bytes.Buffer
	if _, err := c.Get(t.Context(), "file", 0, &got, data.Options{}); err != nil || got.Len() != 100<<10 {
		t.Errorf("%d bytes, %v", got.Len(), err)
	}
}

func TestPasswordStaysOut(t *testing.T) {
	f := newFake(t)
	f.answers["PASS"] = func(s *fakeSession, arg string) { s.say("530 wrong password %s", arg) }
	var log bytes.Buffer
	cfg := f.config()
	cfg.Log = slog.New(slog.NewTextHandler(&log, &slog.HandlerOptions{Level: slog.LevelDebug}))
	_, err := client.Dial(t.Context(), cfg)
	if err == nil || strings.Contains(err.Error(), "secret") {
		t.Errorf("error: %v", err)
	}
	if strings.Contains(log.String(), "secret") {
		t.Errorf("log: %s", log.String())
	}
}

// canned is a control connection with every byte of the server known ahead.
type canned struct {
	net.Conn
	in *bytes.Reader
}

func (c canned) Read(p []byte) (int, error) { return c.in.Read(p) }
func (canned) Write(p []byte) (int, error)  { return len(p), nil }
func (canned) Close() error                 { return nil }
func (canned) SetDeadline(time.Time) error  { return nil }
func (canned) RemoteAddr() net.Addr         { return &net.TCPAddr{IP: net.IPv4(127, 0, 0, 1), Port: 21} }
func (canned) LocalAddr() net.Addr          { return &net.TCPAddr{IP: net.IPv4(127, 0, 0, 1), Port: 20} }

// tape answers the first connection and refuses data connections.
type tape struct{ text []byte }

func (n *tape) DialContext(context.Context, string, string) (net.Conn, error) {
	if n.text == nil {
		return nil, errors.New("no data connection")
	}
	c := canned{in: bytes.NewReader(n.text)}
	n.text = nil
	return c, nil
}

func (*tape) Listen(context.Context, string, string) (net.Listener, error) {
	return nil, errors.New("no listener")
}

// FuzzServer feeds the client whatever a server may say.
func FuzzServer(f *testing.F) {
	login := "220 hi\r\n331 ?\r\n230 in\r\n211-Features\r\n UTF8\r\n MLST type*;size*;\r\n HASH SHA-256*\r\n211 End\r\n200 ok\r\n200 ok\r\n"
	f.Add([]byte(login + "229 (|||4000|)\r\n227 (1,2,3,4,5,6)\r\n250-x\r\n Type=file;Size=5; name\r\n250 End\r\n213 20260101000000\r\n"))
	f.Add([]byte("220-a\r\n220 b\r\n230 in\r\n500 no\r\n"))
	f.Fuzz(func(t *testing.T, text []byte) {
		cfg := client.Config{Location: client.Location{Host: "127.0.0.1:21"}, Network: &tape{append([]byte{}, text...)}, Timeout: time.Second}
		c, err := client.Dial(t.Context(), cfg)
		if err != nil {
			return
		}
		_, _ = c.List(t.Context(), "dir")
		_, _ = c.Stat(t.Context(), "name")
		_, _ = c.Hash(t.Context(), "name")
		_, _ = c.ModTime(t.Context(), "name")
		c.Close()
	})
}
