package client

import (
	"strings"
	"testing"
)

func TestParseURL(t *testing.T) {
	for in, want := range map[string]Location{
		"ftp://192.168.1.4":                          {Plain, "192.168.1.4:21", "", "", ""},
		"ftp://user:password@192.168.1.4/":           {Plain, "192.168.1.4:21", "user", "password", ""},
		"ftpes://a%40b:p%2Fw%3A@host:2121/a%20b/ü/c": {Explicit, "host:2121", "a@b", "p/w:", "a b/ü/c"},
		"ftps://host/dir/":                           {Implicit, "host:990", "", "", "dir/"},
		"ftp://host//etc/motd":                       {Plain, "host:21", "", "", "/etc/motd"},
		"ftp://host/%2Fetc/motd;type=i":              {Plain, "host:21", "", "", "/etc/motd"},
		"ftp://[fe80::1]:2100/x%23y":                 {Plain, "[fe80::1]:2100", "", "", "x#y"},
	} {
		if got, err := ParseURL(in); err != nil || got != want {
			t.Errorf("%s: got %+v, %v", in, got, err)
		}
	}
	for _, in := range []string{"http://u:secret@h/", "ftp://", "ftp:///x", "h/x", "ftp://u:secret@h/x?y", "ftp://u:secret@h/a%0d%0aDELE%20b",
		"ftp://u:secret%00@h/", "ftp://u:secret@h:port/", "ftp://u:secret@[::1/"} {
		_, err := ParseURL(in)
		if err == nil {
			t.Errorf("%s was accepted", in)
		} else if strings.Contains(err.Error(), "secret") {
			t.Errorf("%s: the password is in the error: %v", in, err)
		}
	}
}

func TestLocationHidesTheAccount(t *testing.T) {
	for in, want := range map[string]string{
		"ftp://user:password@h/a b":     "ftp://h/a%20b",
		"ftps://user:password@[::1]/x":  "ftps://[::1]/x",
		"ftpes://user:password@h:990//": "ftpes://h:990//",
	} {
		l, err := ParseURL(in)
		if err != nil || l.String() != want {
			t.Errorf("%s shown as %s, %v", in, l, err)
		}
	}
}

func FuzzParseURL(f *testing.F) {
	f.Add("ftpes://a%40b:p%2Fw%3A@host:2121/a%20b")
	f.Fuzz(func(t *testing.T, s string) {
		l, err := ParseURL(s)
		if err == nil && strings.ContainsAny(l.User+l.Password+l.Path, "\n\x00") {
			t.Errorf("%q gave %q", s, l)
		}
	})
}

func TestNetrc(t *testing.T) {
	const text = `# machine commented login x password y
machine one login alice password a#b
macdef init
machine two login macro password macro

machine
  two
  login bob account x password "pw"
default login anonymous password me@here
`
	for host, want := range map[string][2]string{"one": {"alice", "a#b"}, "two": {"bob", `"pw"`}, "three": {"anonymous", "me@here"}} {
		user, password, found, err := Netrc(strings.NewReader(text), host)
		if err != nil || !found || user != want[0] || password != want[1] {
			t.Errorf("%s: %q %q %v %v", host, user, password, found, err)
		}
	}
	if _, _, found, _ := Netrc(strings.NewReader("machine one login a password b"), "other"); found {
		t.Error("another machine's account was taken")
	}
	if user, password, found, err := Netrc(strings.NewReader("machine one login"), "one"); user != "" || password != "" || !found || err != nil {
		t.Errorf("cut off: %q %q %v %v", user, password, found, err)
	}
}

func TestFindSum(t *testing.T) {
	const sum = "9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08"
	for _, c := range []struct {
		text string
		size int
		want string
	}{
		{"SHA-256 0-49 " + strings.ToUpper(sum) + " file", 32, sum},
		{"\"file\" " + sum, 32, sum},
		{"D87F7E0C", 4, "d87f7e0c"},
		{"CRC32 7f7e0c.", 4, "007f7e0c"},
		{"no sum here", 4, ""},
		{"abc " + sum[:62], 32, ""},
	} {
		if got, ok := findSum(c.text, c.size); got != c.want || ok != (c.want != "") {
			t.Errorf("%q: %q, %v", c.text, got, ok)
		}
	}
}
