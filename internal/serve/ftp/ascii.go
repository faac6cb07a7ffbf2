package ftp

import (
	"bytes"
	"io"
)

// toNetwork turns LF into CRLF for TYPE A (RFC 959 3.1.1.1). A CRLF in the file
// stays as it is.
type toNetwork struct {
	r      io.Reader
	cr     bool // the last byte was CR
	failed error
}

func (t *toNetwork) Read(b []byte) (int, error) {
	if t.failed != nil || len(b) < 2 {
		return 0, t.failed
	}
	// Read into the upper half and spread downwards: no byte becomes more than
	// two, so that the writer never overtakes the reader.
	src := b[len(b)-len(b)/2:]
	n, err := t.r.Read(src)
	t.failed = err
	out := 0
	for _, c := range src[:n] {
		if c == '\n' && !t.cr {
			b[out] = '\r'
			out++
		}
		b[out] = c
		out++
		t.cr = c == '\r'
	}
	if out > 0 {
		err = nil
	}
	return out, err
}

// fromNetwork turns CRLF into LF; a CR before anything else stays. flush ends
// the stream.
type fromNetwork struct {
	w   io.Writer
	cr  bool // a CR waits for what follows
	buf []byte
}

func (f *fromNetwork) Write(b []byte) (int, error) {
	f.buf = f.buf[:0]
	for rest := b; len(rest) > 0; {
		if f.cr && rest[0] != '\n' {
			f.buf = append(f.buf, '\r')
		}
		f.cr = false
		i := bytes.IndexByte(rest, '\r')
		if i < 0 {
			f.buf = append(f.buf, rest...)
			break
		}
		f.buf = append(f.buf, rest[:i]...)
		f.cr, rest = true, rest[i+1:]
	}
	if _, err := f.w.Write(f.buf); err != nil {
		return 0, err
	}
	return len(b), nil
}

func (f *fromNetwork) flush() error {
	if !f.cr {
		return nil
	}
	f.cr = false
	_, err := f.w.Write([]byte{'\r'})
	return err
}
