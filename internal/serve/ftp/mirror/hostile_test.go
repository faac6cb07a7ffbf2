package mirror_test

import (
	"bufio"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/linerate/linerate/internal/serve/ftp/client"
	"github.com/linerate/linerate/internal/serve/ftp/mirror"
)

// hostile serves any file anywhere, and lists whatever names it is given down
// to some levels of directories.
func hostile(t *testing.T, listing string, levels int) client.Config {
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { ln.Close() })
	go func() {
		for {
			c, err := ln.Accept()
			if err != nil {
				return
			}
			go speak(c, listing, levels)
		}
	}()
	return client.Config{Location: client.Location{Host: ln.Addr().String()}, Timeout: 5 * time.Second}
}

func speak(c net.Conn, listing string, levels int) {
	defer c.Close()
	say := func(s string) { fmt.Fprint(c, s+"\r\n") }
	var data net.Listener
	say("220 hi")
	for in := bufio.NewScanner(c); in.Scan(); {
		verb, arg, _ := strings.Cut(in.Text(), " ")
		switch verb {
		case "USER":
			say("230 in")
		case "FEAT":
			say("211-x\r\n MLST type*;\r\n MLSD\r\n211 x")
		case "REST":
			say("502 not here")
		case "EPSV":
			if data != nil {
				data.Close()
			}
			data, _ = net.Listen("tcp", "127.0.0.1:0")
			say(fmt.Sprintf("229 (|||%d|)", data.Addr().(*net.TCPAddr).Port))
		case "MLSD", "RETR":
			say("150 x")
			d, err := data.Accept()
			if err != nil {
				return
			}
			switch {
			case verb == "RETR":
				fmt.Fprint(d, "payload")
			case strings.Count(arg, "/") < levels:
				fmt.Fprint(d, listing)
			}
			d.Close()
			say("226 x")
		default:
			say("200 ok")
		}
	}
}

func TestNothingIsWrittenOutside(t *testing.T) {
	top := t.TempDir()
	target := filepath.Join(top, "target")
	for _, dir := range []string{target, filepath.Join(top, "outside")} {
		if err := os.Mkdir(dir, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	// A link that was there before must not lead the download out either.
	if err := os.Symlink(filepath.Join(top, "outside"), filepath.Join(target, "linked")); err != nil {
		t.Skipf("no symbolic links here: %v", err)
	}
	var listing strings.Builder
	for _, name := range []string{"../evil", "..", "/etc/evil", "a/b", filepath.Join(top, "evil"), "good", "sub\x00evil"} {
		fmt.Fprintf(&listing, "Type=file;Size=7; %s\r\n", name)
	}
	listing.WriteString("Type=dir; ..\r\nType=dir; ../up\r\nType=dir; .\r\nType=dir; dir\r\n")
	cfg := hostile(t, listing.String(), 3)
	o := mirror.Options{Streams: 2, Tally: &mirror.Tally{}}
	if err := mirror.GetTree(t.Context(), cfg, "x", openRoot(t, target), o); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"good", "dir/good"} {
		if got, err := os.ReadFile(filepath.Join(target, want)); err != nil || string(got) != "payload" {
			t.Errorf("%s: %q, %v", want, got, err)
		}
	}
	if o.Tally.Skipped.Load() == 0 {
		t.Error("nothing was left out")
	}

	cfg = hostile(t, "Type=dir; linked\r\nType=file;Size=7; evil\r\n", 3)
	if err := mirror.GetTree(t.Context(), cfg, "x/y/z", openRoot(t, target), mirror.Options{}); err == nil {
		t.Error("a directory that is a link here was followed")
	}
	for _, dir := range []string{top, filepath.Join(top, "outside")} {
		entries, err := os.ReadDir(dir)
		if err != nil {
			t.Fatal(err)
		}
		for _, e := range entries {
			if strings.Contains(e.Name(), "evil") {
				t.Errorf("%s was written in %s", e.Name(), dir)
			}
		}
	}
}

func TestTreeWithoutEnd(t *testing.T) {
	cfg := hostile(t, "Type=dir; again\r\n", 1000)
	err := mirror.GetTree(t.Context(), cfg, "", openRoot(t, t.TempDir()), mirror.Options{})
	if err == nil || !strings.Contains(err.Error(), "deep") {
		t.Errorf("a tree without end: %v", err)
	}
}

func TestServerThatCannotResume(t *testing.T) {
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "f"+mirror.PartialSuffix), []byte("pay"), 0o644); err != nil {
		t.Fatal(err)
	}
	if err := mirror.Get(t.Context(), hostile(t, "", 0), "f", openRoot(t, dir), "f", mirror.Options{Resume: true}); err != nil {
		t.Fatal(err)
	}
	if got, err := os.ReadFile(filepath.Join(dir, "f")); err != nil || string(got) != "payload" {
		t.Errorf("%q, %v", got, err)
	}
}
