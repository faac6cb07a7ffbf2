package fleet

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
)

// message is a line of JSON: a request has a verb, an answer has a body or a
// failure under the request's ID. ID 0 is a sign of life that wants no answer.
type message struct {
	ID      uint64          `json:"id"`
	Verb    string          `json:"verb,omitempty"`
	Body    json.RawMessage `json:"body,omitempty"`
	Failure *failure        `json:"failure,omitempty"`
}

// failure is an error on its way.
type failure struct {
	Kind string `json:"kind,omitempty"`
	Text string `json:"text"`
}

// kinds are the errors that stay what they are across the wire.
func kinds() map[string]error {
	return map[string]error{"unsupported": errors.ErrUnsupported, "refused": ErrRefused, "untrusted": ErrNotTrusted, "protocol": ErrProtocol}
}

func failureOf(err error) *failure {
	f := &failure{Text: err.Error()}
	for kind, target := range kinds() {
		if errors.Is(err, target) {
			f.Kind = kind
		}
	}
	return f
}

// Error makes failure an error again; kinds keep their identity.
func (f *failure) Error() string { return f.Text }

// Unwrap returns the error that the kind stands for.
func (f *failure) Unwrap() error { return kinds()[f.Kind] }

// readMessage reads one line of at most limit bytes. Memory grows with what
// has arrived, never with what is promised.
func readMessage(r *bufio.Reader, limit int) (message, error) {
	var m message
	var line []byte
	for {
		part, err := r.ReadSlice('\n')
		if len(line)+len(part) > limit {
			return m, fmt.Errorf("a message of more than %d bytes: %w", limit, ErrProtocol)
		}
		line = append(line, part...)
		if err == nil {
			break
		}
		if !errors.Is(err, bufio.ErrBufferFull) {
			if errors.Is(err, io.EOF) && len(line) > 0 {
				err = io.ErrUnexpectedEOF
			}
			return m, err
		}
	}
	if err := decodeStrict(line, &m); err != nil {
		return m, fmt.Errorf("%w: %w", ErrProtocol, err)
	}
	return m, nil
}

// appendMessage makes the line of a message.
func appendMessage(m message) ([]byte, error) {
	line, err := json.Marshal(m)
	if err != nil {
		return nil, err
	}
	return append(line, '\n'), nil
}

// decodeStrict reads exactly one JSON value whose fields all are known; an
// empty body is an empty object.
func decodeStrict(b []byte, v any) error {
	if len(b) == 0 {
		return nil
	}
	d := json.NewDecoder(bytes.NewReader(b))
	d.DisallowUnknownFields()
	if err := d.Decode(v); err != nil {
		return err
	}
	if _, err := d.Token(); !errors.Is(err, io.EOF) {
		return errors.New("more than one value")
	}
	return nil
}
