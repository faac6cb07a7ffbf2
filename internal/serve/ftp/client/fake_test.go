package client_test

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"log/slog"
	"net"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/linerate/linerate/internal/serve/ftp/client"
)

// fake is a server that does what the public ones don't: answer oddly, fall
// silent, vanish. A test replaces the answer to a verb; "greeting" is one.
type fake struct {
	t       *testing.T
	ln      net.Listener
	answers map[string]func(s *fakeSession, arg string)

	mu    sync.Mutex
	files map[string][]byte
	last  error // of the latest upload's data connection
}

type fakeSession struct {
	*fake
	net.Conn
	data net.Listener
	rest int64
}

func newFake(t *testing.T) *fake {
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	f := &fake{t: t, ln: ln, files: map[string][]byte{"file": bytes.Repeat([]byte("0123456789"), 1000)}, answers: map[string]func(*fakeSession, string){}}
	t.Cleanup(func() { ln.Close() })
	return f
}

// config starts the server, whose answers must not change any more.
func (f *fake) config() client.Config {
	var wg sync.WaitGroup
	wg.Go(func() {
		for {
			c, err := f.ln.Accept()
			if err != nil {
				return
			}
			wg.Go(func() { f.serve(c) })
		}
	})
	f.t.Cleanup(func() { f.ln.Close(); wg.Wait() })
	return client.Config{Location: client.Location{Host: f.ln.Addr().String(), User: "u", Password: "secret"}, Timeout: 2 * time.Second,
		Log: slog.New(slog.NewTextHandler(f.t.Output(), &slog.HandlerOptions{Level: slog.LevelDebug}))}
}

// dial logs in and says goodbye at the end of the test.
func (f *fake) dial() *client.Conn {
	f.t.Helper()
	c, err := client.Dial(f.t.Context(), f.config())
	if err != nil {
		f.t.Fatal(err)
	}
	f.t.Cleanup(func() { c.Close() })
	return c
}

// answer makes every use of a verb get a fixed reply.
func (f *fake) answer(verb, reply string) {
	f.answers[verb] = func(s *fakeSession, _ string) { s.say(reply) }
}

func (s *fakeSession) say(format string, args ...any) { fmt.Fprintf(s.Conn, format+"\r\n", args...) }

func (f *fake) serve(c net.Conn) {
	s := &fakeSession{fake: f, Conn: c}
	defer c.Close()
	defer s.closeData()
	_ = c.SetDeadline(time.Now().Add(20 * time.Second)) // no test takes so long
	s.do("greeting", "")
	in := bufio.NewScanner(c)
	for in.Scan() {
		verb, arg, _ := strings.Cut(in.Text(), " ")
		s.do(verb, arg)
		if verb == "QUIT" {
			return
		}
	}
}

func (s *fakeSession) do(verb, arg string) {
	if a := s.answers[verb]; a != nil {
		a(s, arg)
		return
	}
	switch verb {
	case "greeting":
		s.say("220 fake")
	case "USER":
		s.say("331 password")
	case "PASS":
		s.say("230 in")
	case "FEAT":
		s.say("211-Features\r\n SIZE\r\n REST STREAM\r\n211 End")
	case "TYPE", "OPTS", "NOOP":
		s.say("200 ok")
	case "QUIT":
		s.say("221 bye")
	case "EPSV", "PASV":
		s.listen(verb)
	case "REST":
		fmt.Sscan(arg, &s.rest)
		s.say("350 at %d", s.rest)
	case "SIZE":
		s.say("213 %d", len(s.file(arg)))
	case "RETR":
		s.say("150 here it comes")
		s.send(arg)
		s.say("226 done")
	case "STOR":
		s.say("150 go on")
		s.receive(arg)
		s.say("226 done")
	default:
		s.say("502 what?")
	}
}

func (s *fakeSession) closeData() {
	if s.data != nil {
		s.data.Close()
	}
}

func (s *fakeSession) listen(verb string) {
	s.closeData()
	var err error
	if s.data, err = net.Listen("tcp", "127.0.0.1:0"); err != nil {
		s.say("425 %v", err)
		return
	}
	port := s.data.Addr().(*net.TCPAddr).Port
	if verb == "EPSV" {
		s.say("229 ok (|||%d|)", port)
	} else {
		s.say("227 ok (10,1,2,3,%d,%d)", port>>8, port&255) // the address behind its NAT
	}
}

func (s *fakeSession) accept() net.Conn {
	c, err := s.data.Accept()
	if err != nil {
		return nil
	}
	return c
}

func (f *fake) file(name string) []byte {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.files[name]
}

func (s *fakeSession) send(name string) {
	if c := s.accept(); c != nil {
		defer c.Close()
		_, _ = c.Write(s.file(name)[s.rest:])
		s.rest = 0
	}
}

func (s *fakeSession) receive(name string) {
	if c := s.accept(); c != nil {
		defer c.Close()
		b, err := io.ReadAll(c)
		s.mu.Lock()
		defer s.mu.Unlock()
		s.files[name], s.last = append(s.files[name][:s.rest:s.rest], b...), err
		s.rest = 0
	}
}
