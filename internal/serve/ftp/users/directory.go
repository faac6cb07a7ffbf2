package users

import (
	"context"
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"crypto/subtle"
	"errors"
	"fmt"
	"net/netip"
	"os"
	"runtime"
	"sync"
)

// Why a login is refused.
var (
	ErrRefused   = errors.New("wrong user or password")
	ErrThrottled = errors.New("too many wrong passwords from this address")
)

// Directory knows the users and answers logins. It is safe for concurrent use.
type Directory struct {
	users    map[string]entry
	decoy    string // hash that an unknown user's password is checked against
	throttle *Throttle
	work     chan struct{} // a place for each hash computed at a time, which takes megabytes

	key    [32]byte // of this process, for proven
	mu     sync.Mutex
	proven map[[32]byte]struct{} // logins that were right, so that each costs the hash once
}

// maxProven bounds the logins remembered.
const maxProven = 4096

// Load reads the users file name. throttle keeps its count from one Directory
// to the next, as a reload must not give an attacker new tries.
func Load(name string, throttle *Throttle) (*Directory, error) {
	f, err := os.Open(name)
	if err != nil {
		return nil, fmt.Errorf("users file: %w", err)
	}
	defer f.Close()
	users, err := parse(f)
	if err != nil {
		return nil, fmt.Errorf("users file %s: %w", name, err)
	}
	return newDirectory(users, throttle), nil
}

func newDirectory(users map[string]entry, throttle *Throttle) *Directory {
	d := &Directory{
		users: users, decoy: Hash(rand.Text()), throttle: throttle, work: make(chan struct{}, runtime.GOMAXPROCS(0)),
		proven: map[[32]byte]struct{}{},
	}
	_, _ = rand.Read(d.key[:])
	for _, e := range users { // hashes of one file cost alike; the decoy must too
		d.decoy = e.hash
		break
	}
	return d
}

// Accounts returns every account, for who checks or prepares their roots.
func (d *Directory) Accounts() []Account {
	var out []Account
	for _, e := range d.users {
		out = append(out, e.Account)
	}
	return out
}

// Login checks a password. An unknown user costs as much time as a known one.
func (d *Directory) Login(ctx context.Context, user, password string, peer netip.Addr) (Account, error) {
	if err := d.throttle.wait(ctx, peer); err != nil {
		return Account{}, err
	}
	e, known := d.users[user]
	if !known {
		e.hash = d.decoy
	}
	right, err := d.check(ctx, e, password)
	if err != nil {
		return Account{}, err
	}
	if !right {
		d.throttle.fail(peer)
		return Account{}, fmt.Errorf("user %q: %w", user, ErrRefused)
	}
	d.throttle.succeed(peer)
	return e.Account, nil
}

// check reports whether e, an account or the nameless decoy, has this password.
func (d *Directory) check(ctx context.Context, e entry, password string) (bool, error) {
	proof := d.proof(e.Name, e.hash, password)
	d.mu.Lock()
	_, seen := d.proven[proof]
	d.mu.Unlock()
	if seen {
		return true, nil
	}
	select {
	case d.work <- struct{}{}:
		defer func() { <-d.work }()
	case <-ctx.Done():
		return false, context.Cause(ctx)
	}
	if !verify(e.hash, password) || e.Name == "" {
		return false, nil
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	if len(d.proven) >= maxProven {
		clear(d.proven)
	}
	d.proven[proof] = struct{}{}
	return true, nil
}

// proof names a login without keeping its password: an HMAC under a key that
// never leaves this process.
func (d *Directory) proof(user, hash, password string) (out [32]byte) {
	m := hmac.New(sha256.New, d.key[:])
	for _, s := range []string{user, hash, password} {
		fmt.Fprintf(m, "%d:%s", len(s), s)
	}
	m.Sum(out[:0])
	return out
}

// Fixed knows one user whose password is public, for a server that only this
// host can reach.
type Fixed struct {
	Account  Account
	Password string
}

// Login implements the server's Authenticator.
func (f Fixed) Login(_ context.Context, user, password string, _ netip.Addr) (Account, error) {
	right := subtle.ConstantTimeCompare([]byte(user+"\x00"+password), []byte(f.Account.Name+"\x00"+f.Password))
	if right != 1 {
		return Account{}, fmt.Errorf("user %q: %w", user, ErrRefused)
	}
	return f.Account, nil
}
