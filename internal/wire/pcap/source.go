package pcap

import "io"

// blockSize is how much of the file is in memory: large enough that a read
// costs nothing per record, small enough to stay in the cache.
const blockSize = 1 << 20

// source is a window on a stream. Bytes that it returns stay in place until
// the next call of peek or skip.
type source struct {
	r        io.Reader
	buf      []byte
	pos, end int
	base     int64 // stream offset of buf[0]
	err      error
}

func (s *source) offset() int64 { return s.base + int64(s.pos) }

// peek returns the next n bytes without consuming them. At the end of the
// stream it returns io.EOF if no byte is left and io.ErrUnexpectedEOF if some
// are.
func (s *source) peek(n int) ([]byte, error) {
	if s.end-s.pos < n {
		if err := s.fill(n); err != nil {
			return nil, err
		}
	}
	return s.buf[s.pos : s.pos+n : s.pos+n], nil
}

func (s *source) fill(n int) error {
	if s.pos > 0 {
		s.base += int64(s.pos)
		s.end = copy(s.buf, s.buf[s.pos:s.end])
		s.pos = 0
	}
	if n > len(s.buf) {
		grown := make([]byte, n)
		copy(grown, s.buf[:s.end])
		s.buf = grown
	}
	for idle := 0; s.end < n; {
		if s.err == nil {
			var got int
			got, s.err = s.r.Read(s.buf[s.end:])
			s.end += got
			if got == 0 {
				if idle++; idle > 100 && s.err == nil {
					s.err = io.ErrNoProgress
				}
			}
			continue
		}
		if s.err != io.EOF {
			return s.err
		}
		if s.end == 0 {
			return io.EOF
		}
		return io.ErrUnexpectedEOF
	}
	return nil
}

// skip consumes n bytes, also more than the buffer holds.
func (s *source) skip(n int) error {
	for n > s.end-s.pos {
		n -= s.end - s.pos
		s.pos = s.end
		if err := s.fill(1); err != nil {
			if err == io.EOF {
				return io.ErrUnexpectedEOF
			}
			return err
		}
	}
	s.pos += n
	return nil
}
