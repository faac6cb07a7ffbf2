package capture

import (
	"bytes"
	"errors"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"testing"

	"github.com/klauspost/compress/zstd"

	"github.com/linerate/linerate/internal/wire/pcap"
	"github.com/linerate/linerate/result"
)

// plain returns the bytes of a compressed capture.
func plain(tb testing.TB, name string) []byte {
	tb.Helper()
	f, err := os.Open(name)
	if err != nil {
		tb.Fatal(err)
	}
	defer f.Close()
	z, err := zstd.NewReader(f)
	if err != nil {
		tb.Fatal(err)
	}
	defer z.Close()
	b, err := io.ReadAll(z)
	if err != nil {
		tb.Fatal(err)
	}
	return b
}

// TestDamaged analyses captures with bytes changed and the end missing: any
// answer will do, as long as there is one.
func TestDamaged(t *testing.T) {
	files, err := filepath.Glob("../wire/pcap/testdata/*/*.zst")
	if err != nil || len(files) < 100 {
		t.Fatalf("%d files, %v", len(files), err)
	}
	rng := rand.New(rand.NewPCG(1, 2))
	for _, name := range files {
		whole := plain(t, name)
		for range 4 {
			b := bytes.Clone(whole[:rng.IntN(len(whole)+1)])
			for range len(b) / 300 {
				b[rng.IntN(len(b))] = byte(rng.Uint32())
			}
			if e, err := analyze(t, bytes.NewReader(b), Options{Series: true}); e != nil {
				r := e.Result(Source{Name: name})
				if err := errors.Join(err, result.Encode(io.Discard, r)); e.Frames() > 0 && len(r.Totals) == 0 || err != nil && !errors.Is(err, io.ErrUnexpectedEOF) && !errors.Is(err, pcap.ErrFormat) {
					t.Errorf("%s: %d totals, %v", name, len(r.Totals), err)
				}
			}
		}
	}
}

func FuzzEngine(f *testing.F) {
	for _, name := range []string{"public/zeek_zeek__retransmit-fast009.pcap", "public/zeek_zeek__handshake-reorder.pcap", "public/the-tcpdump-group_tcpdump__geneve.pcap"} {
		f.Add(plain(f, "../wire/pcap/testdata/"+name+".zst"))
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		if e, _ := analyze(t, bytes.NewReader(b), Options{Series: true}); e != nil {
			e.Largest()
			e.Result(Source{})
		}
	})
}
