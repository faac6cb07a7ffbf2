package fleet

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"
)

// Role is what a peer is to this end.
type Role string

// The roles.
const (
	Seat    Role = "seat"  // may drive this end
	FarSide Role = "agent" // is driven from here
)

// Peer is an end whose key was paired.
type Peer struct {
	Name        string      `json:"name"` // as it called itself
	Role        Role        `json:"role"`
	Fingerprint Fingerprint `json:"fingerprint"`
	Address     string      `json:"address,omitempty"` // of an agent, as it was reached
	Since       time.Time   `json:"since"`
}

// Store keeps whom this end trusts in a directory: peers.json, and the open
// invitation. Files are read at each question, so that what another process
// forgets is forgotten at once.
type Store struct {
	dir string
	mu  sync.Mutex
}

// OpenStore returns the store in dir, which need not exist yet.
func OpenStore(dir string) *Store { return &Store{dir: dir} }

func (s *Store) path(name string) string { return filepath.Join(s.dir, name) }

// Peers lists whom this end trusts, in the order of pairing.
func (s *Store) Peers() ([]Peer, error) {
	b, err := readPrivate(s.path("peers.json"))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	var peers []Peer
	if err == nil {
		err = json.Unmarshal(b, &peers)
	}
	if err != nil {
		return nil, fmt.Errorf("trusted peers: %w", err)
	}
	return peers, nil
}

// Trusted returns the peer of this role with this key.
func (s *Store) Trusted(role Role, f Fingerprint) (Peer, error) {
	peers, err := s.Peers()
	if err != nil {
		return Peer{}, err
	}
	i := slices.IndexFunc(peers, func(p Peer) bool { return p.Role == role && p.Fingerprint == f })
	if i < 0 {
		return Peer{}, fmt.Errorf("key %s: %w", f.Short(), ErrNotTrusted)
	}
	return peers[i], nil
}

// Trust adds a peer; an agent reached by the same address, or the same key,
// takes the place of the one before.
func (s *Store) Trust(p Peer) error {
	p.Name = plainName(p.Name)
	return s.change(func(peers []Peer) ([]Peer, error) {
		peers = slices.DeleteFunc(peers, func(o Peer) bool {
			return o.Role == p.Role && (o.Fingerprint == p.Fingerprint || p.Address != "" && o.Address == p.Address)
		})
		return append(peers, p), nil
	})
}

// Forget removes the peers that name says: a name, an address or the beginning
// of a fingerprint of at least eight digits.
func (s *Store) Forget(name string) ([]Peer, error) {
	var gone []Peer
	err := s.change(func(peers []Peer) ([]Peer, error) {
		return slices.DeleteFunc(peers, func(p Peer) bool {
			is := name != "" && (p.Name == name || p.Address == name || len(name) >= 8 && strings.HasPrefix(string(p.Fingerprint), name))
			if is {
				gone = append(gone, p)
			}
			return is
		}), nil
	})
	if err == nil && len(gone) == 0 {
		err = fmt.Errorf("%q: %w", name, fs.ErrNotExist)
	}
	return gone, err
}

func (s *Store) change(f func([]Peer) ([]Peer, error)) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	peers, err := s.Peers()
	if err != nil {
		return err
	}
	if peers, err = f(peers); err != nil {
		return err
	}
	b, err := json.MarshalIndent(peers, "", "  ")
	if err == nil {
		err = writePrivate(s.path("peers.json"), append(b, '\n'))
	}
	if err != nil {
		return fmt.Errorf("trusted peers: %w", err)
	}
	return nil
}

// plainName keeps what a peer calls itself fit for a terminal.
func plainName(name string) string {
	name = strings.Map(func(r rune) rune {
		if r < '!' || r > '~' {
			return -1
		}
		return r
	}, name)
	if name == "" {
		return "unnamed"
	}
	return name[:min(64, len(name))]
}
