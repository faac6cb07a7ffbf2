package sa_test

import (
	"fmt"
	"testing"

	"github.com/linerate/linerate/internal/serve/fastpath/ipsec/sa"
)

// BenchmarkSeal and BenchmarkOpen take packets of so many bytes.
func BenchmarkSeal(b *testing.B) {
	for _, suite := range []string{"aes128gcm16", "aes256gcm16", "chacha20poly1305", "aes128-sha256"} {
		for _, n := range []int{64, 512, 1400} {
			b.Run(fmt.Sprintf("%s/%d", suite, n), func(b *testing.B) {
				out, _ := pair(b, with(suite))
				buf, at, end := buffer(packet(false, n-28, 0))
				w := &sa.Scratch{}
				b.SetBytes(int64(n))
				b.ReportAllocs()
				for b.Loop() {
					copy(buf[at:], "\x45") // encrypted meanwhile
					buf[at+2], buf[at+3] = byte(n>>8), byte(n)
					if _, _, why := out.Seal(w, buf, at, end); why != sa.OK {
						b.Fatal(why)
					}
				}
			})
		}
	}
}

func BenchmarkOpen(b *testing.B) {
	for _, n := range []int{64, 512, 1400} {
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			p := with("aes128gcm16")
			p.Window = -1
			out, in := pair(b, p)
			sealed := protect(b, out, packet(false, n-28, 0))
			buf, at, end := buffer(sealed)
			w := &sa.Scratch{}
			b.SetBytes(int64(n))
			b.ReportAllocs()
			for b.Loop() {
				copy(buf[at:], sealed)
				l, _ := sa.Locate(buf, at, end, 0)
				if _, _, why := in.Open(w, buf, l); why != sa.OK {
					b.Fatal(why)
				}
			}
		})
	}
}
