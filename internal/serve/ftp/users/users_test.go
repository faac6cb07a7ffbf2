package users

import (
	"context"
	"errors"
	"net/netip"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

var peer = netip.MustParseAddr("192.0.2.1")

// cheap is the argon2id hash of "secret" at the least cost, which tests can
// afford many times.
const cheap = "$argon2id$v=19$m=8,t=1,p=1$c2FsdHNhbHQ$mjgqN2mYQwKLKXAuLlBpcXRK2gqcv1KvnHNhdBUXdZw"

func TestHash(t *testing.T) {
	h := Hash("pass:word")
	if !strings.HasPrefix(h, "$argon2id$v=19$m=19456,t=2,p=1$") || strings.Contains(h, ":") {
		t.Errorf("hash %s", h)
	}
	if !verify(h, "pass:word") || verify(h, "password") || verify(h, "") {
		t.Error("the hash does not tell passwords apart")
	}
	// Made by htpasswd -nbB.
	const bcrypted = "$2y$05$aAUH8wbqHUQiplvjzDwVxOrlSLVoLTgJUrB2EySyBJK9TYPpcXeh6"
	if err := checkHash(bcrypted); err != nil {
		t.Error(err)
	}
	for _, bad := range []string{"", "plain", "$1$md5$x", "$argon2id$v=19$m=99999999,t=1,p=1$c2FsdHNhbHQ$AAAAAAAAAAAAAAAAAAAAAA", "$argon2id$v=19$m=8,t=0,p=1$c2FsdHNhbHQ$AAAAAAAAAAAAAAAAAAAAAA"} {
		if checkHash(bad) == nil {
			t.Errorf("hash %q is taken", bad)
		}
	}
}

func TestFile(t *testing.T) {
	got, err := parse(strings.NewReader("# comment\n\nalice:" + cheap + ":root=/srv/a,quota=10GB,rate=8Mbit/s\nbob:" + cheap + ":read-only,sessions=2\ncarol:" + cheap + "\n"))
	if err != nil {
		t.Fatal(err)
	}
	want := map[string]Account{
		"alice": {Name: "alice", Root: "/srv/a", Quota: 10e9, Rate: 1e6},
		"bob":   {Name: "bob", ReadOnly: true, Sessions: 2},
		"carol": {Name: "carol"},
	}
	for name, a := range want {
		if got[name].Account != a {
			t.Errorf("%s: %+v, want %+v", name, got[name].Account, a)
		}
	}
	for bad, why := range map[string]string{
		"alice":                               "line 1: want name:hash",
		"a:" + cheap + "\na:" + cheap:         "line 2: user \"a\" is there already",
		"a:secret":                            "passwd",
		"a:" + cheap + ":sesions=1":           "there are root=",
		"a:" + cheap + ":quota=much":          "quota",
		":" + cheap:                           "line 1",
		"a:" + cheap + ":sessions=-1":         "range",
		"a:" + cheap + ":rate=fast,read-only": "rate",
	} {
		if _, err := parse(strings.NewReader(bad)); err == nil || !strings.Contains(err.Error(), why) {
			t.Errorf("%q: %v, want it to say %q", bad, err, why)
		}
	}
}

func FuzzFile(f *testing.F) {
	f.Add("a:" + cheap + ":root=/x,quota=1GB\n# c\nb:$2y$05$aAUH8wbqHUQiplvjzDwVxOrlSLVoLTgJUrB2EySyBJK9TYPpcXeh6")
	f.Fuzz(func(t *testing.T, s string) {
		users, err := parse(strings.NewReader(s))
		if err != nil {
			return
		}
		for name, e := range users {
			if name == "" || name != e.Name || checkHash(e.hash) != nil || e.Quota < 0 || e.Rate < 0 || e.Sessions < 0 {
				t.Fatalf("%q gave %+v", s, e)
			}
		}
	})
}

func directory(t *testing.T) *Directory {
	t.Helper()
	name := filepath.Join(t.TempDir(), "users")
	if err := os.WriteFile(name, []byte("alice:"+Hash("secret")+":read-only\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	d, err := Load(name, NewThrottle())
	if err != nil {
		t.Fatal(err)
	}
	return d
}

func TestLogin(t *testing.T) {
	d := directory(t)
	for range 2 { // the second time without the hash
		a, err := d.Login(t.Context(), "alice", "secret", peer)
		if err != nil || !a.ReadOnly {
			t.Fatalf("%+v, %v", a, err)
		}
	}
	for _, c := range [][2]string{{"alice", "wrong"}, {"bob", "secret"}} {
		if _, err := d.Login(t.Context(), c[0], c[1], peer); !errors.Is(err, ErrRefused) {
			t.Errorf("%v: %v", c, err)
		}
	}
	if len(d.proven) != 1 {
		t.Errorf("%d proofs", len(d.proven))
	}
	over, cancel := context.WithCancel(t.Context())
	cancel()
	for range cap(d.work) {
		d.work <- struct{}{}
	}
	if _, err := d.Login(over, "alice", "wrong", peer); !errors.Is(err, context.Canceled) {
		t.Errorf("while every place is taken: %v", err)
	}
}

// TestUnknownUserCostsAsMuch: an unknown name goes through the same hash.
func TestUnknownUserCostsAsMuch(t *testing.T) {
	d := directory(t)
	if d.decoy != d.users["alice"].hash {
		t.Error("the decoy costs otherwise than the users' hashes")
	}
	if _, err := d.Login(t.Context(), "nobody", "secret", peer); !errors.Is(err, ErrRefused) {
		t.Errorf("the decoy's password opens: %v", err)
	}
}

func TestThrottle(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		th := NewThrottle()
		other := netip.MustParseAddr("192.0.2.2")
		took := func(a netip.Addr) (time.Duration, error) {
			begin := time.Now()
			err := th.wait(t.Context(), a)
			return time.Since(begin), err
		}
		for range th.Free {
			if d, err := took(peer); d != 0 || err != nil {
				t.Fatalf("free try: %s, %v", d, err)
			}
			th.fail(peer)
		}
		last := time.Duration(0)
		for range th.Most - th.Free {
			d, err := took(peer)
			if err != nil || d < last || d == 0 || d > maxDelay {
				t.Fatalf("delay %s after %s, %v", d, last, err)
			}
			th.fail(peer)
			last = d
		}
		if _, err := took(peer); !errors.Is(err, ErrThrottled) {
			t.Errorf("after %d wrong passwords: %v", th.Most, err)
		}
		if d, err := took(other); d != 0 || err != nil {
			t.Errorf("another address: %s, %v", d, err)
		}
		time.Sleep(th.Forget)
		if _, err := took(peer); err != nil {
			t.Errorf("after a minute: %v", err)
		}
		time.Sleep(time.Duration(th.Most) * th.Forget)
		if d, err := took(peer); d != 0 || err != nil {
			t.Errorf("after all is forgotten: %s, %v", d, err)
		}
		// One attacker has a whole /64 of IPv6.
		for i := range th.Most {
			th.fail(netip.AddrFrom16([16]byte{0x20, 1, 0xd, 0xb8, 15: byte(i)}))
		}
		if _, err := took(netip.MustParseAddr("2001:db8::ffff")); !errors.Is(err, ErrThrottled) {
			t.Errorf("another address of the /64: %v", err)
		}
	})
}

func TestThrottleIsBounded(t *testing.T) {
	th := NewThrottle()
	for i := range maxAddresses + 1000 {
		th.fail(netip.AddrFrom4([4]byte{10, byte(i >> 16), byte(i >> 8), byte(i)}))
	}
	if n := len(th.wrong); n > maxAddresses {
		t.Errorf("%d addresses are remembered", n)
	}
}

func TestFixed(t *testing.T) {
	f := Fixed{Account: Account{Name: "user"}, Password: "password"}
	if _, err := f.Login(t.Context(), "user", "password", peer); err != nil {
		t.Error(err)
	}
	for _, c := range [][2]string{{"user", ""}, {"", "password"}, {"user\x00password", ""}} {
		if _, err := f.Login(t.Context(), c[0], c[1], peer); !errors.Is(err, ErrRefused) {
			t.Errorf("%q: %v", c, err)
		}
	}
}
