// Package ipsec is the policies of IPsec (RFC 4301) and the gateway that packets
// go through: rules and their associations from a file or the kernel, workers
// that seal and open, and the interfaces they move packets between.
package ipsec

import (
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/linerate/linerate/internal/serve/fastpath/ipsec/sa"
)

// Database holds rules and associations. Workers read it a batch at a time, so
// that a change takes no packet's worth of time, and associations that went are
// wiped when nobody uses them.
type Database struct {
	change sync.Mutex   // one Replace at a time
	mu     sync.RWMutex // held for reading during a batch
	now    *state
	secret [32]byte // keys the fingerprints of keys
	drops  [sa.Reasons]atomic.Uint64
}

// state is what one Replace made.
type state struct {
	rules   []*rule
	inbound map[uint32]*bound
}

// rule is a Rule ready to match.
type rule struct {
	Rule
	local, remote network
	protocol      uint8
	out           *bound
	in            []*bound
}

// bound is an association of one or more rules.
type bound struct {
	*sa.SA
	print [sha256.Size]byte // of parameters and keys
}

// NewDatabase makes an empty one.
func NewDatabase() (*Database, error) {
	d := &Database{now: &state{}}
	_, err := rand.Read(d.secret[:])
	return d, err
}

// Replace makes the rules those of c, whose keys it copies. Associations that
// are the same go on with their counters and windows: a change of keys lists old
// and new inbound ones until the peer has changed too, and loses nothing. On an
// error all is as it was.
func (d *Database) Replace(c *Config) error {
	d.change.Lock()
	defer d.change.Unlock()
	kept := map[[sha256.Size]byte]*sa.SA{}
	for _, b := range d.now.all() {
		kept[b.print] = b.SA
	}
	next, made, err := d.build(c, kept)
	if err != nil {
		for _, s := range made {
			s.Wipe()
		}
		return fmt.Errorf("ipsec: %w", err)
	}
	for _, b := range next.all() {
		delete(kept, b.print)
	}
	d.mu.Lock()
	d.now = next
	d.mu.Unlock()
	for _, s := range kept { // no worker is in a batch that knows them
		s.Wipe()
	}
	return nil
}

// Close wipes all associations; workers find no rule any more.
func (d *Database) Close() error { return d.Replace(&Config{}) }

func (s *state) all() (all []*bound) {
	for _, r := range s.rules {
		if r.out != nil {
			all = append(all, r.out)
		}
		all = append(all, r.in...)
	}
	return all
}

func (d *Database) build(c *Config, kept map[[sha256.Size]byte]*sa.SA) (s *state, made []*sa.SA, err error) {
	s = &state{inbound: map[uint32]*bound{}}
	shared := map[[sha256.Size]byte]*bound{} // a second one would use nonces again
	bind := func(r *rule, k *Keys, out bool) (*bound, error) {
		p := r.With.parameters(k, out)
		b := &bound{print: d.fingerprint(p, out)}
		if same := shared[b.print]; same != nil {
			return same, nil
		}
		shared[b.print] = b
		if b.SA = kept[b.print]; b.SA != nil {
			return b, nil
		}
		var err error
		if b.SA, err = sa.New(p); err == nil {
			made = append(made, b.SA)
			if out {
				b.Continue(k.Last)
			}
		}
		return b, err
	}
	for i := range c.Rules {
		r, err := compile(c.Rules[i])
		if err != nil {
			return nil, made, fmt.Errorf("rule %d (%s): %w", i+1, c.Rules[i].Name, err)
		}
		s.rules = append(s.rules, r)
		if r.Action != Protect {
			continue
		}
		if k := r.With.Out; k != nil {
			if r.out, err = bind(r, k, true); err != nil {
				return nil, made, fmt.Errorf("rule %d (%s): out: %w", i+1, r.Name, err)
			}
		}
		for j := range r.With.In {
			b, err := bind(r, &r.With.In[j], false)
			if other := s.inbound[r.With.In[j].SPI]; err == nil && other != nil && other != b {
				err = fmt.Errorf("SPI %#x is another's too", r.With.In[j].SPI)
			}
			if err != nil {
				return nil, made, fmt.Errorf("rule %d (%s): in: %w", i+1, r.Name, err)
			}
			r.in = append(r.in, b)
			s.inbound[r.With.In[j].SPI] = b
		}
		r.With = nil // its keys are not ours
	}
	return s, made, nil
}

// compile checks a rule and makes it ready to match.
func compile(c Rule) (r *rule, err error) {
	if c.Action == "" {
		c.Action = Protect
	}
	if c.Name == "" {
		c.Name = fmt.Sprintf("%v - %v", c.Local, c.Remote)
	}
	r = &rule{Rule: c, local: networkOf(c.Local), remote: networkOf(c.Remote)}
	if r.protocol, err = protocolOf(c.Protocol); err != nil {
		return nil, err
	}
	switch {
	case c.Action != Protect && c.Action != Pass && c.Action != Discard:
		return nil, fmt.Errorf("action %q: want %s, %s or %s", c.Action, Protect, Pass, Discard)
	case (c.Action == Protect) != (c.With != nil):
		return nil, fmt.Errorf("with: what is protected, and only that, says with whom")
	case c.Local.IsValid() && c.Remote.IsValid() && c.Local.Addr().Is4() != c.Remote.Addr().Is4():
		return nil, fmt.Errorf("local and remote: want prefixes of one family")
	}
	return r, nil
}

// fingerprint tells associations apart without keeping their keys.
func (d *Database) fingerprint(p sa.Parameters, out bool) (sum [sha256.Size]byte) {
	m := hmac.New(sha256.New, d.secret[:])
	text, err := json.Marshal(p) // shows no key
	if err != nil {
		panic(err) // plain values marshal
	}
	fmt.Fprintf(m, "%v %s %d", out, text, p.Key.Len())
	p.Key.Digest(m)
	p.AuthKey.Digest(m)
	m.Sum(sum[:0])
	return sum
}

// Age ends associations whose time is over.
func (d *Database) Age(now time.Time) {
	d.mu.RLock()
	defer d.mu.RUnlock()
	for _, b := range d.now.all() {
		b.Age(now)
	}
}
