package client

import (
	"bytes"
	"io"
	"testing"
)

// Every way that a source may be read must give the same bytes, again after a
// seek.
func TestZeros(t *testing.T) {
	for _, n := range []int64{0, 1, 1 << 20, 9<<20 + 7} {
		z := Zeros(n)
		for _, offset := range []int64{0, n / 3, n} {
			want := make([]byte, n-offset)
			seek := func() {
				if _, err := z.Seek(offset, io.SeekStart); err != nil {
					t.Fatal(err)
				}
			}
			seek()
			if got, err := io.ReadAll(struct{ io.Reader }{z}); err != nil || !bytes.Equal(got, want) {
				t.Errorf("read of %d from %d: %d bytes, %v", n, offset, len(got), err)
			}
			seek()
			var b bytes.Buffer
			if _, err := z.(io.WriterTo).WriteTo(&b); err != nil || !bytes.Equal(b.Bytes(), want) {
				t.Errorf("write of %d from %d: %d bytes, %v", n, offset, b.Len(), err)
			}
			seek()
			if extents := z.(generated).Extents(); extents != nil {
				total := int64(0)
				for e := range extents {
					total += e.Length
				}
				if total != n-offset {
					t.Errorf("extents of %d from %d: %d bytes", n, offset, total)
				}
			}
		}
		if _, err := z.Seek(n+1, io.SeekStart); err == nil {
			t.Error("seek beyond the end")
		}
	}
}
