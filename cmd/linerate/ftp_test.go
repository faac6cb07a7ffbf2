package main

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/linerate/linerate/result"
)

// shell runs one command line and returns its exit status and what it printed.
func shell(t *testing.T, args ...string) (status int, stdout, stderr string) {
	t.Helper()
	var out, errs bytes.Buffer
	status = run(t.Context(), cli{strings.NewReader("from standard input"), &out, &errs}, args)
	return status, out.String(), errs.String()
}

// lines is a stream that a server writes its messages to.
type lines struct {
	mu  sync.Mutex
	buf bytes.Buffer
}

func (l *lines) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.buf.Write(p)
}

func (l *lines) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.buf.String()
}

// serveFTP runs "serve ftp" on dir and returns its URL.
func serveFTP(t *testing.T, dir string) string {
	t.Helper()
	t.Setenv("NETRC", filepath.Join(t.TempDir(), "none"))
	said := &lines{}
	ctx, stop := context.WithCancel(context.Background())
	over := make(chan int, 1)
	go func() {
		over <- run(ctx, cli{strings.NewReader(""), said, said}, []string{"serve", "ftp", dir, "--listen", "127.0.0.1:0"})
	}()
	t.Cleanup(func() { stop(); <-over })
	for range 500 {
		if _, rest, ok := strings.Cut(said.String(), "ftp://"); ok && strings.Contains(rest, "/") {
			host, _, _ := strings.Cut(rest, "/")
			return "ftp://user:password@" + host + "/"
		}
		time.Sleep(20 * time.Millisecond)
	}
	t.Fatalf("serve ftp said only %q", said)
	return ""
}

func TestFTPVerbs(t *testing.T) {
	served, local := t.TempDir(), t.TempDir()
	url := serveFTP(t, served)
	t.Chdir(local)
	if err := os.WriteFile("a b.txt", []byte("hello"), 0o644); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		args   []string
		status int
		stdout string // contained in it
		stderr string
	}{
		{[]string{"put", "a b.txt", url}, exitDone, "", "5 B in"},
		{[]string{"put", "-q", "-", url + "dir.txt"}, exitDone, "", ""},
		{[]string{"put", "-", url}, exitUsage, "", "name the file to make"},
		{[]string{"put", "zero:1MB", url + "sink/"}, exitDone, "", "1.0 MB in"},
		{[]string{"put", "zero:much", url}, exitUsage, "", "much"},
		{[]string{"put", "missing", url}, exitFailed, "", "missing"},
		{[]string{"ls", url}, exitDone, "a b.txt", ""},
		{[]string{"ls", "--json", url}, exitDone, `"size_bytes": 5`, ""},
		{[]string{"ls", url + "nowhere/"}, exitFailed, "", "550"},
		{[]string{"get", url + "a%20b.txt", "-o", "-"}, exitDone, "hello", "5 B in"},
		{[]string{"get", url + "dir.txt", "-o", "-", "-q"}, exitDone, "from standard input", ""},
		{[]string{"get", "--verify", url + "a%20b.txt", "-o", "c.txt"}, exitDone, "", "verified"},
		{[]string{"get", url + "zero/10MB", "-o", "/dev/null", "--json"}, exitDone, `"ftp.retr"`, ""},
		{[]string{"get", url + "zero/10MB", "-o", "/dev/null", "--expect", "9000Tbit/s"}, exitMissed, "", "missed"},
		{[]string{"get", url}, exitUsage, "", "--recursive"},
		{[]string{"get", url + "gone"}, exitFailed, "", "550"},
		{[]string{"get", "http://host/x"}, exitUsage, "", "ftp://"},
		{[]string{"get", "--ca", "c.txt", url + "x"}, exitUsage, "", "no certificate"},
		{[]string{"get", url + "x", "--limit", "fast"}, exitUsage, "", "--limit"},
		{[]string{"get", strings.Replace(url, "password", "secret", 1) + "x"}, exitFailed, "", "530"},
		{[]string{"bench", "nonsense"}, exitUsage, "", "ftp://"},
		{[]string{"bench", url, "--direction", "up"}, exitUsage, "", "--direction"},
	} {
		status, stdout, stderr := shell(t, c.args...)
		if status != c.status || !strings.Contains(stdout, c.stdout) || !strings.Contains(stderr, c.stderr) {
			t.Errorf("%q: status %d, want %d\nstdout: %.300s\nstderr: %s", c.args, status, c.status, stdout, stderr)
		}
		if strings.Contains(stdout+stderr, "secret") {
			t.Errorf("%q: the password is in what it printed", c.args)
		}
	}
	if got, err := os.ReadFile("c.txt"); err != nil || string(got) != "hello" {
		t.Errorf("c.txt: %q, %v", got, err)
	}
}

func TestFTPBench(t *testing.T) {
	url := serveFTP(t, t.TempDir())
	status, stdout, stderr := shell(t, "bench", url, "--size", "2MB", "--repeat", "2", "--streams", "2", "--json")
	if status != exitDone {
		t.Fatalf("status %d: %s", status, stderr)
	}
	if strings.Contains(stdout, "password") {
		t.Error("the password is in the result")
	}
	r, err := result.Decode(strings.NewReader(stdout))
	if err != nil {
		t.Fatal(err)
	}
	if r.Ending != result.Completed || len(r.Trials) != 4 || r.Workload.Kind != "ftp" {
		t.Fatalf("%s, %d trials of %s", r.Ending, len(r.Trials), r.Workload.Kind)
	}
	for _, tr := range r.Trials {
		if n, _ := result.Get(tr.Values, result.Bytes); n != 4e6 || !tr.Pass {
			t.Errorf("%s: %g bytes, pass %v %s", tr.Name, n, tr.Pass, tr.Note)
		}
	}
	for _, d := range []string{"get", "put"} {
		if g, ok := result.Get(r.Totals, result.Goodput, "direction", d); !ok || g <= 0 {
			t.Errorf("no goodput of %s in the totals", d)
		}
	}
}

// A file that was named is the user's to keep.
func TestFTPBenchKeepsWhatWasNamed(t *testing.T) {
	served := t.TempDir()
	if err := os.Mkdir(filepath.Join(served, "dir"), 0o755); err != nil {
		t.Fatal(err)
	}
	url := serveFTP(t, served)
	status, _, stderr := shell(t, "bench", url, "--put", "/dir/"+benchFile, "--get", "/dir/"+benchFile, "--size", "1MB", "--repeat", "1")
	if status != exitDone {
		t.Fatalf("status %d: %s", status, stderr)
	}
	if entries, err := os.ReadDir(filepath.Join(served, "dir")); err != nil || len(entries) != 1 {
		t.Errorf("a file that was named stays: %v, %v", entries, err)
	}
}

func TestProgressLine(t *testing.T) {
	var out bytes.Buffer
	line := progressLine{out: &out, width: func() int { return 80 }}
	at := time.Unix(0, 0)
	line.draw(at, work{label: "big.bin", done: 0, total: 200e6, unit: "B"})
	line.draw(at.Add(time.Second), work{label: "big.bin", done: 50e6, total: 200e6, unit: "B"})
	if s := out.String(); !strings.Contains(s, "25 %") || !strings.Contains(s, "400.0 Mbit/s") || !strings.Contains(s, "3s left") {
		t.Errorf("line %q", s)
	}
	for _, width := range []int{20, 40, 60, 120} {
		text := work{label: strings.Repeat("ü", 100), done: 1, total: 3, unit: "B", note: "1 of 2 files"}.format(1, width)
		if n := len([]rune(text)); n > width {
			t.Errorf("%d columns in %d: %q", n, width, text)
		}
	}
	out.Reset()
	line.clear()
	if strings.Trim(out.String(), "\r ") != "" {
		t.Errorf("left behind: %q", out.String())
	}
}

func TestProgressIsQuietInAPipe(t *testing.T) {
	var errs bytes.Buffer
	stop := showProgress(cli{err: &errs}, func() work { return work{done: 1} })
	time.Sleep(2 * progressEvery)
	stop()
	if errs.Len() > 0 {
		t.Errorf("wrote %q", errs.String())
	}
}
