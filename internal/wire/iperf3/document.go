package iperf3

import (
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
)

// Bounds of a JSON document on the control connection, in bytes. iperf3
// itself refuses parameters above MaxParams and has no bound for results; 16
// MiB leave room for 256 streams and the server's whole output.
const (
	MaxParams  = 8192
	MaxResults = 16 << 20
	LengthLen  = 4 // the big-endian length before a document
)

// ErrDocument is wrapped by the errors for a length out of bounds and for JSON
// that cannot be read.
var ErrDocument = errors.New("bad iperf3 JSON document")

// Length returns the length of the document announced by b, which must be
// from 1 to limit.
func Length(b [LengthLen]byte, limit int) (int, error) {
	n := binary.BigEndian.Uint32(b[:])
	if n == 0 || int64(n) > int64(limit) {
		return 0, fmt.Errorf("%w: announced length %d, want 1 to %d", ErrDocument, n, limit)
	}
	return int(n), nil
}

// Frame returns v as JSON behind its length.
func Frame(v any) ([]byte, error) {
	doc, err := json.Marshal(v)
	if err != nil {
		return nil, fmt.Errorf("iperf3 document: %w", err)
	}
	return append(binary.BigEndian.AppendUint32(nil, uint32(len(doc))), doc...), nil
}

// object is a decoded JSON object from which fields are taken leniently: what
// is absent or of another type reads as zero, as in iperf3.
type object map[string]any

func parseObject(b []byte) (object, error) {
	var o object
	if err := json.Unmarshal(b, &o); err != nil {
		return nil, fmt.Errorf("%w: %w", ErrDocument, err)
	}
	if o == nil {
		return nil, fmt.Errorf("%w: null", ErrDocument)
	}
	return o, nil
}

func (o object) has(key string) bool      { _, ok := o[key]; return ok }
func (o object) bool(key string) bool     { v, _ := o[key].(bool); return v }
func (o object) string(key string) string { v, _ := o[key].(string); return v }
func (o object) float(key string) float64 { v, _ := o[key].(float64); return v }

// int reads a whole number. iperf3 3.12 prints -1 as 18446744073709551615, so
// what does not fit an int64 reads as -1.
func (o object) int(key string) int64 {
	v := o.float(key)
	if v >= 1<<63 || v < -1<<63 {
		return -1
	}
	return int64(v)
}

// intOr reads a whole number with a value for absence.
func (o object) intOr(key string, absent int64) int64 {
	if _, ok := o[key].(float64); !ok {
		return absent
	}
	return o.int(key)
}
