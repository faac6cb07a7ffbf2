package frame

import "testing"

func TestSignatureRoundTrip(t *testing.T) {
	for _, s := range []Signature{{}, {1, 2, 3}, {65535, 1<<40 - 1, 1<<64 - 1}} {
		b := s.Append(nil)
		if len(b) != SignatureBytes {
			t.Fatalf("%d bytes", len(b))
		}
		if got, ours, intact := ParseSignature(b); got != s || !ours || !intact {
			t.Errorf("%+v reads back as %+v, ours %v, intact %v", s, got, ours, intact)
		}
	}
}

// A single bit that flips anywhere must show.
func TestSignatureShowsEveryBit(t *testing.T) {
	b := Signature{Flow: 0x1234, Sequence: 0x56789abcde, Stamp: 0x1122334455667788}.Append(nil)
	for i := range 8 * len(b) {
		b[i/8] ^= 1 << (i % 8)
		if _, ours, intact := ParseSignature(b); ours && intact {
			t.Errorf("bit %d flipped unseen", i)
		}
		b[i/8] ^= 1 << (i % 8)
	}
}

func FuzzParseSignature(f *testing.F) {
	f.Add(Signature{Flow: 7}.Append(nil))
	f.Fuzz(func(t *testing.T, b []byte) {
		if s, ours, intact := ParseSignature(b); ours && intact {
			if again, _, ok := ParseSignature(s.Append(nil)); !ok || again != s {
				t.Errorf("%+v reads back as %+v", s, again)
			}
		}
	})
}
