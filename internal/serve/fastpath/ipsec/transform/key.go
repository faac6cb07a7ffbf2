// Package transform is the cryptography of IPsec: what protects and opens the
// payload of ESP and AH under one key, in place and without allocating.
package transform

import (
	"encoding/hex"
	"errors"
	"fmt"
	"hash"
	"log/slog"
	"strings"
)

// Key is secret. Whatever prints, logs or encodes it gets a placeholder.
type Key struct{ b []byte }

// placeholder is what a Key shows of itself.
const placeholder = "[key]"

// NewKey copies a key; the caller may wipe its own copy then.
func NewKey(b []byte) Key { return Key{append([]byte(nil), b...)} }

// ParseKey reads hexadecimal digits, with or without a leading 0x. Its error
// repeats nothing of the text.
func ParseKey(text string) (Key, error) {
	b, err := hex.DecodeString(strings.TrimPrefix(text, "0x"))
	if err != nil {
		return Key{}, errors.New("key: want an even number of hexadecimal digits")
	}
	return Key{b}, nil
}

// Len returns the length in bytes.
func (k Key) Len() int { return len(k.b) }

// Equal reports whether both keys are the same bytes. It is for comparing
// configurations, not for authentication: it takes no constant time.
func (k Key) Equal(o Key) bool { return string(k.b) == string(o.b) }

// Digest writes the key into a keyed hash, to tell keys apart without keeping
// them.
func (k Key) Digest(h hash.Hash) { _, _ = h.Write(k.b) }

// Wipe overwrites the key; all copies of the Key share it.
func (k Key) Wipe() { clear(k.b) }

// String returns a placeholder.
func (Key) String() string { return placeholder }

// Format writes a placeholder for every verb.
func (Key) Format(f fmt.State, _ rune) { _, _ = f.Write([]byte(placeholder)) }

// LogValue returns a placeholder.
func (Key) LogValue() slog.Value { return slog.StringValue(placeholder) }

// MarshalText writes a placeholder, for JSON and YAML too.
func (Key) MarshalText() ([]byte, error) { return []byte(placeholder), nil }

// UnmarshalText reads what ParseKey reads.
func (k *Key) UnmarshalText(text []byte) (err error) {
	*k, err = ParseKey(string(text))
	return err
}
