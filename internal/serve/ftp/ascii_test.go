package ftp

import (
	"bytes"
	"io"
	"slices"
	"strings"
	"testing"
	"testing/iotest"
)

// FuzzASCII: where the chunks are cut changes nothing, every LF goes out behind
// a CR, and text comes back as it was.
func FuzzASCII(f *testing.F) {
	for _, s := range []string{"", "a\nb\r\nc", "\r", "\r\r\n\n", "a\r"} {
		f.Add([]byte(s), 3)
	}
	f.Fuzz(func(t *testing.T, in []byte, n int) {
		n = max(1, n&7)
		out, err := io.ReadAll(&toNetwork{r: bytes.NewReader(in)})
		if err != nil {
			t.Fatal(err)
		}
		pieces, err := io.ReadAll(&toNetwork{r: iotest.OneByteReader(bytes.NewReader(in))})
		if err != nil {
			t.Fatal(err)
		}
		same(t, "read in pieces", pieces, out)
		if i := strings.Count(string(out), "\n"); i != strings.Count(string(out), "\r\n") {
			t.Fatalf("%q has a bare LF", out)
		}

		var back bytes.Buffer
		w := &fromNetwork{w: &back}
		for piece := range slices.Chunk(out, n) {
			if _, err := w.Write(piece); err != nil {
				t.Fatal(err)
			}
		}
		if err := w.flush(); err != nil {
			t.Fatal(err)
		}
		same(t, "there and back", back.Bytes(), bytes.ReplaceAll(in, []byte("\r\n"), []byte("\n")))
	})
}
