package result

import (
	"crypto/rand"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"
)

// ErrSchema is wrapped by Decode's error for a document of another kind or
// major version.
var ErrSchema = errors.New("not a " + SchemaID + " document")

// maxDocument bounds what Decode reads, in bytes.
const maxDocument = 1 << 30

// NewID returns an identifier that sorts by time and does not collide:
// "20261201T025014Z-9f86d081".
func NewID(at time.Time) string {
	var b [4]byte
	_, _ = rand.Read(b[:]) // crypto/rand.Read never fails since Go 1.24
	return at.UTC().Format("20060102T150405Z") + "-" + hex.EncodeToString(b[:])
}

// Encode writes r as indented JSON.
func Encode(w io.Writer, r *Result) error {
	c := *r
	c.Schema = SchemaID
	enc := json.NewEncoder(w)
	enc.SetIndent("", "  ")
	enc.SetEscapeHTML(false)
	if err := enc.Encode(&c); err != nil {
		return fmt.Errorf("result: encode %s: %w", r.ID, err)
	}
	return nil
}

// Decode reads a Result. Fields it does not know are ignored (a newer minor
// version wrote them); a document of another major version is refused with an
// error that wraps ErrSchema.
func Decode(rd io.Reader) (*Result, error) {
	var r Result
	if err := json.NewDecoder(io.LimitReader(rd, maxDocument)).Decode(&r); err != nil {
		return nil, fmt.Errorf("result: decode: %w", err)
	}
	if r.Schema != SchemaID {
		hint := ""
		if strings.HasPrefix(r.Schema, "linerate.result/") {
			hint = "; read it with the linerate version that wrote it"
		}
		return nil, fmt.Errorf("result: decode: schema %q: %w%s", r.Schema, ErrSchema, hint)
	}
	return &r, nil
}
