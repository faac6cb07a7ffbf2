package client

import (
	"bytes"
	"io"
	"testing"
)

// Every way that a source may be read must give the same bytes.
func TestZeros(t *testing.T) {
	for _, n := range []int64{0, 1, zeroChunk, zeroChunk*3 + 7} {
		want := make([]byte, n)
		if got, err := io.ReadAll(struct{ io.Reader }{Zeros(n)}); err != nil || !bytes.Equal(got, want) {
			t.Errorf("read of %d: %d bytes, %v", n, len(got), err)
		}
		var b bytes.Buffer
		if m, err := Zeros(n).(io.WriterTo).WriteTo(&b); err != nil || m != n || !bytes.Equal(b.Bytes(), want) {
			t.Errorf("write of %d: %d bytes, %v", n, m, err)
		}
	}
	z := &zeros{size: zeroExtent*2 + 5}
	if _, err := z.Seek(3, io.SeekStart); err != nil {
		t.Fatal(err)
	}
	extents := z.Extents()
	if extents == nil {
		return // this system has no file for it
	}
	total := int64(0)
	for e := range extents {
		st, err := e.File.Stat()
		if err != nil || e.Offset+e.Length > st.Size() {
			t.Errorf("extent %d+%d of a file of %v, %v", e.Offset, e.Length, st, err)
		}
		total += e.Length
	}
	if total != z.size-3 {
		t.Errorf("extents of %d bytes, want %d", total, z.size-3)
	}
	if _, err := z.Seek(-1, io.SeekStart); err == nil {
		t.Error("seek before the start")
	}
}
