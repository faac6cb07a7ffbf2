package ipsec

import (
	"context"
	"encoding/binary"
	"fmt"
	"strings"
	"testing"

	"github.com/linerate/linerate/internal/serve/fastpath/ipsec/sa"
)

const secret = "c0ffee01c0ffee02c0ffee03c0ffee0400000009"

// udp makes a packet between hosts of 10.1.0.0/16 and 10.2.0.0/16, or back.
func udp(back bool, port uint16, host byte) (b []byte, at, end int) {
	p := make([]byte, 60)
	p[0], p[3], p[8], p[9] = 0x45, 60, 64, 17
	copy(p[12:], []byte{10, 1, 0, host, 10, 2, 0, host})
	binary.BigEndian.PutUint16(p[20:], 9)
	binary.BigEndian.PutUint16(p[22:], port)
	if back {
		copy(p[12:], []byte{10, 2, 0, host, 10, 1, 0, host})
		binary.BigEndian.PutUint16(p[20:], port)
		binary.BigEndian.PutUint16(p[22:], 9)
	}
	b = append(append(make([]byte, sa.Headroom), p...), make([]byte, sa.Tailroom)...)
	return b, sa.Headroom, sa.Headroom + 60
}

// site is the rules of one end: a is the local side 10.1.0.0/16.
func site(a bool, out uint32, in ...uint32) string {
	local, remote, here, there := "10.1.0.0/16", "10.2.0.0/16", "198.18.0.1", "198.18.0.2"
	if !a {
		local, remote, here, there = remote, local, there, here
	}
	keys := func(spi uint32) string { return fmt.Sprintf("{spi: %d, key: %08x%s}", spi, spi, secret[8:]) }
	var all []string
	for _, i := range in {
		all = append(all, keys(i))
	}
	return fmt.Sprintf(`
rules:
- {name: none of that, action: discard, remote: %[2]s, protocol: udp, remote_port: 53}
- {name: as it is, action: bypass, protocol: udp, remote_port: 123}
- name: site
  local: %[1]s
  remote: %[2]s
  with: {local: %[3]s, remote: %[4]s, suite: aes128gcm16, window: 128, out: %[5]s, in: [%[6]s]}
`, local, remote, here, there, keys(out), strings.Join(all, ", "))
}

func replace(t *testing.T, d *Database, text string) {
	t.Helper()
	c, err := Parse(strings.NewReader(text))
	if err != nil {
		t.Fatal(err)
	}
	defer c.Wipe()
	if err := d.Replace(c); err != nil {
		t.Fatal(err)
	}
}

func database(t *testing.T, text string) (*Database, *Worker) {
	t.Helper()
	d, err := NewDatabase()
	if err != nil {
		t.Fatal(err)
	}
	replace(t, d, text)
	return d, d.Worker()
}

// through seals at one end and opens at the other.
func through(from, to *Worker, back bool, port uint16, host byte) sa.Reason {
	b, at, end := udp(back, port, host)
	from.Begin()
	at, end, why := from.Out(b, at, end)
	from.End()
	if why != sa.OK {
		return why
	}
	to.Begin()
	defer to.End()
	_, _, why = to.In(append(b, make([]byte, 64)...), at, end, 4500)
	return why
}

// TestRulesInOrder has the first rule that matches decide, in and out.
func TestRulesInOrder(t *testing.T) {
	da, a := database(t, site(true, 1001, 1002))
	_, b := database(t, site(false, 1002, 1001))
	for _, c := range []struct {
		port uint16
		want sa.Reason
	}{{7, sa.OK}, {53, sa.Discarded}, {123, sa.Bypass}} {
		for range 2 { // from the cache too
			if got := through(a, b, false, c.port, 1); got != c.want {
				t.Errorf("port %d: %v, want %v", c.port, got, c.want)
			}
		}
	}
	if got := through(a, b, true, 7, 1); got != sa.NoPolicy {
		t.Errorf("from nowhere: %v", got)
	}
	// What b's rules would not send to port 9 of a must not come from there.
	if got := through(b, a, true, 7, 1); got != sa.OK {
		t.Errorf("back: %v", got)
	}
	if got := through(b, a, true, 53, 1); got != sa.NoPolicy {
		t.Errorf("by an association of another rule: %v", got)
	}
	s := da.Status(context.Background())
	if s.Drops[sa.Discarded] != 2 || s.Drops[sa.Bypass] != 2 || s.Drops[sa.NoPolicy] != 2 || s.Rules[2].Out.Packets != 2 {
		t.Errorf("%+v", s)
	}
}

// TestRekeyWithoutLoss changes keys step by step while packets run, some of
// them late.
func TestRekeyWithoutLoss(t *testing.T) {
	da, a := database(t, site(true, 1001, 1002))
	db, b := database(t, site(false, 1002, 1001))
	run := func(step string) {
		t.Helper()
		for i := range 200 {
			if why := through(a, b, false, 7, byte(i)); why != sa.OK {
				t.Fatalf("%s: %v", step, why)
			}
			if why := through(b, a, true, 7, byte(i)); why != sa.OK {
				t.Fatalf("%s, back: %v", step, why)
			}
		}
	}
	run("old keys")
	late, at, end := udp(false, 7, 1)
	a.Begin()
	at, end, _ = a.Out(late, at, end)
	a.End()
	replace(t, db, site(false, 1002, 1001, 2001))
	run("new ones are known at b")
	replace(t, da, site(true, 2001, 1002, 2002))
	run("a sends with new ones")
	b.Begin()
	if _, _, why := b.In(late, at, end, 0); why != sa.TooOld { // the window went on with its association
		t.Errorf("a late packet: %v", why)
	}
	b.End()
	replace(t, db, site(false, 2002, 1001, 2001))
	run("b too")
	old := db.now.inbound[1001].SA
	replace(t, da, site(true, 2001, 2002))
	replace(t, db, site(false, 2002, 2001))
	run("old ones are gone")
	if n := db.Status(context.Background()).Rules[2].In[0].Packets; n != 600 {
		t.Errorf("the new association has %d packets, want 600: it did not go on", n)
	}
	// Wiped, the old one opens nothing that its keys sealed.
	c, err := Parse(strings.NewReader(site(true, 1001, 1002)))
	if err != nil {
		t.Fatal(err)
	}
	p := c.Rules[2].With.parameters(c.Rules[2].With.Out, true)
	again, err := sa.New(p)
	if err != nil {
		t.Fatal(err)
	}
	again.Continue(5000)
	buf, at, end := udp(false, 7, 1)
	at, end, _ = again.Seal(&sa.Scratch{}, buf, at, end)
	l, _ := sa.Locate(buf, at, end, 0)
	if _, _, why := old.Open(&sa.Scratch{}, buf, l); why != sa.Authentication {
		t.Errorf("a wiped association: %v", why)
	}
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
	if why := through(a, b, false, 7, 1); why != sa.NoSA {
		t.Errorf("closed: %v", why)
	}
}

// TestBadFiles are refused without a word of the keys in them, and change
// nothing.
func TestBadFiles(t *testing.T) {
	d, w := database(t, site(true, 1001, 1002))
	good := site(true, 1001, 1002)
	for name, text := range map[string]string{
		"odd key":       strings.Replace(good, secret[8:], secret[8:]+"a", 1),
		"long key":      strings.Replace(good, secret[8:], secret[8:]+"aa", 1),
		"unknown field": strings.Replace(good, "key:", "kee:", 1),
		"not YAML":      strings.Replace(good, "key:", "key: '", 1),
		"a number":      strings.Replace(good, "spi: 1001", "spi: c0ffee01c0ffee02", 1),
		"action":        strings.Replace(good, "bypass", "pass", 1),
		"suite":         strings.Replace(good, "aes128gcm16", "des", 1),
		"families":      strings.Replace(good, "local: 10.1.0.0/16", "local: fd00::/8", 1),
		"protocol":      strings.Replace(good, "udp", "upd", 1),
		"shared SPI":    good + strings.Replace(strings.Split(good, "rules:")[1][strings.Index(strings.Split(good, "rules:")[1], "- name: site"):], secret[8:], strings.Repeat("ab", 16), 3),
	} {
		c, err := Parse(strings.NewReader(text))
		if err == nil {
			err = d.Replace(c)
		}
		if err == nil {
			t.Errorf("%s: taken", name)
		} else if strings.Contains(strings.ToLower(err.Error()), "ffee") {
			t.Errorf("%s: the error shows a key: %v", name, err)
		}
	}
	_, b := database(t, site(false, 1002, 1001))
	if why := through(w, b, false, 7, 1); why != sa.OK {
		t.Errorf("after bad files: %v", why)
	}
	if text := fmt.Sprintf("%+v %v", d.Status(context.Background()), d.now.rules[2]); strings.Contains(text, "ffee") {
		t.Errorf("the status shows a key: %s", text)
	}
}

// TestWorkerAllocatesNothing, whatever a packet's rule is.
func TestWorkerAllocatesNothing(t *testing.T) {
	_, a := database(t, site(true, 1001, 1002))
	_, b := database(t, site(false, 1002, 1001))
	buf, start, stop := udp(false, 7, 1)
	plain := append([]byte(nil), buf...)
	if n := testing.AllocsPerRun(500, func() {
		copy(buf, plain)
		a.Begin()
		at, end, why := a.Out(buf, start, stop)
		a.End()
		b.Begin()
		_, _, opened := b.In(buf, at, end, 4500)
		b.End()
		if why != sa.OK || opened != sa.OK {
			t.Fatal(why, opened)
		}
	}); n != 0 {
		t.Errorf("%v allocations a packet", n)
	}
}
