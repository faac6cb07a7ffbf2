package fleet

import (
	"crypto/hmac"
	"crypto/pbkdf2"
	"crypto/rand"
	"crypto/sha256"
	"crypto/tls"
	"encoding/base32"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strings"
	"time"
)

// Pairing makes two ends that have never met trust each other's certificates.
// The agent shows a code once; whoever types it at the seat proves to know it
// by a message authentication code over both certificates and the TLS session
// (its exporter, RFC 8446 7.5), and the agent proves the same in return. Someone
// in the middle has two sessions with other certificates, so that what one
// side proves says nothing to the other; guessing the code from a proof costs
// 2^50 times the key derivation, while the code lasts for minutes and one use.
const (
	codeBytes  = 7 // 56 bits, of which ten characters show 50
	codeLength = 10
	codeWork   = 50_000 // rounds of PBKDF2; about a second on a slow board
	codeTries  = 5
)

// CodeLifetime is how long an invitation stands.
const CodeLifetime = 15 * time.Minute

// invitation is a code that was shown and not used yet.
type invitation struct {
	Code  string    `json:"code"`
	Until time.Time `json:"until"`
	Tries int       `json:"tries"`
}

// Invite makes a code that pairs one seat, in place of an earlier one.
func (s *Store) Invite(now time.Time) (code string, err error) {
	b := make([]byte, codeBytes)
	_, _ = rand.Read(b) // never fails since Go 1.24
	code = base32.StdEncoding.EncodeToString(b)[:codeLength]
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := s.writeInvitation(invitation{Code: code, Until: now.Add(CodeLifetime), Tries: codeTries}); err != nil {
		return "", err
	}
	return code[:codeLength/2] + "-" + code[codeLength/2:], nil
}

func (s *Store) writeInvitation(i invitation) error {
	b, err := json.Marshal(i)
	if err == nil {
		err = writePrivate(s.path("invitation.json"), b)
	}
	if err != nil {
		return fmt.Errorf("pairing code: %w", err)
	}
	return nil
}

// redeem uses the open invitation up if matches says that the code is the one,
// and counts the try if not.
func (s *Store) redeem(now time.Time, matches func(code string) bool) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	b, err := readPrivate(s.path("invitation.json"))
	if errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("no pairing code is open: run 'linerate agent code' at the far end: %w", ErrNotTrusted)
	}
	var i invitation
	if err == nil {
		err = json.Unmarshal(b, &i)
	}
	if err != nil {
		return fmt.Errorf("pairing code: %w", err)
	}
	over := func(why string) error {
		if err := os.Remove(s.path("invitation.json")); err != nil {
			return fmt.Errorf("pairing code: %w", err)
		}
		if why == "" {
			return nil
		}
		return fmt.Errorf("%s: run 'linerate agent code' at the far end for another: %w", why, ErrNotTrusted)
	}
	switch {
	case now.After(i.Until):
		return over("the pairing code is too old")
	case matches(i.Code):
		return over("")
	case i.Tries <= 1:
		return over("wrong pairing code, too often")
	}
	i.Tries--
	return errors.Join(s.writeInvitation(i), fmt.Errorf("wrong pairing code: %w", ErrNotTrusted))
}

// pairing is request and answer of the verb "pair".
type pairing struct {
	Name  string `json:"name"`
	Proof string `json:"proof"`
}

// prover makes the proofs of one connection.
type prover struct {
	key         []byte
	agent, seat Fingerprint
}

func newProver(code string, state tls.ConnectionState, agent, seat Fingerprint) (prover, error) {
	code = strings.ToUpper(strings.NewReplacer("-", "", " ", "").Replace(code))
	session, err := state.ExportKeyingMaterial("EXPORTER-linerate-pairing", nil, 32)
	if err != nil {
		return prover{}, fmt.Errorf("pairing: %w", err)
	}
	key, err := pbkdf2.Key(sha256.New, code, session, codeWork, 32)
	if err != nil {
		return prover{}, fmt.Errorf("pairing: %w", err)
	}
	return prover{key, agent, seat}, nil
}

func (p prover) proof(of Role) string {
	m := hmac.New(sha256.New, p.key)
	fmt.Fprintf(m, "%s\n%s\n%s\n", of, p.agent, p.seat)
	return hex.EncodeToString(m.Sum(nil))
}

func (p prover) holds(of Role, proof string) bool {
	return hmac.Equal([]byte(p.proof(of)), []byte(proof))
}
