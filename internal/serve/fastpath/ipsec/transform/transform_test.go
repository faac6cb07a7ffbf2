package transform_test

import (
	"bytes"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/linerate/linerate/internal/serve/fastpath/ipsec/transform"
)

func unhex(t testing.TB, s string) []byte {
	t.Helper()
	b, err := hex.DecodeString(strings.Join(strings.Fields(s), ""))
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// counting is a key of n bytes.
func counting(n int) transform.Key {
	b := make([]byte, n)
	for i := range b {
		b[i] = byte(i*7 + 1)
	}
	return transform.NewKey(b)
}

func suite(t testing.TB, name string) transform.Transform {
	t.Helper()
	s, err := transform.Lookup(name)
	if err != nil {
		t.Fatal(err)
	}
	tr, err := s.New(counting(s.Key), counting(s.AuthKey))
	if err != nil {
		t.Fatal(err)
	}
	return tr
}

// TestVectors opens packets of the standards; all but the first are whole ESP
// packets of their examples.
func TestVectors(t *testing.T) {
	for _, v := range []struct {
		name, suite, key, auth string
		seq                    transform.Sequence
		packet, plain          string
	}{
		{"draft-mcgrew-gcm-test-01 section 4, with an extended sequence number", "aes128gcm16",
			"4c80cdefbb5d10da906ac73c3613a634 2e443b68", "", transform.Sequence{Number: 0x8765432100000000, Extended: true},
			`00004321 00000000 4956ed7e3b244cfe fecf537e729d5b07dc30df528dd22b768d1b98736696a6fd348509fa13ceac34cfa2436f14a3f3cf65925bf1f4a13c5d
			15b21e1884f5ff6247aeabb786b93bce61bc17d768fd9732 459018148f6cbe722fd04796562dfdb4`,
			`45000048699a000080114db7c0a80102c0a801010a9bf15638d3010000010000 00000000045f736970045f756470037369700963796265726369747902646b00 0021000101020201`},
		{"RFC 7634 appendix A", "chacha20poly1305", "808182838485868788898a8b8c8d8e8f909192939495969798999a9b9c9d9e9f a0a1a2a3", "", transform.Sequence{Number: 5},
			`01020304 00000005 1011121314151617 24039428b97f417e3c13753a4f05087b67c352e6a7fab1b982d466ef407ae5c614ee8099d52844eb61aa95dfab4c02f7
			2aa71e7c4c4f64c9befe2facc638e8f3cbec163fac469b502773f6fb94e664da9165b82829f641e0 76aaa8266b7fb0f7b11b369907e1ad43`,
			`45000054a6f200004001e778c6336405c000020508005b7a3a080000553bec100007362708090a0b0c0d0e0f101112131415161718191a1b1c1d1e1f
			202122232425262728292a2b2c2d2e2f303132333435363701020204`},
	} {
		t.Run(v.name, func(t *testing.T) {
			s, err := transform.Lookup(v.suite)
			if err != nil {
				t.Fatal(err)
			}
			tr, err := s.New(transform.NewKey(unhex(t, v.key)), transform.NewKey(unhex(t, v.auth)))
			if err != nil {
				t.Fatal(err)
			}
			b := append(make([]byte, 8), unhex(t, v.packet)...)
			if !tr.Open(&transform.Scratch{}, b, 8, len(b), v.seq) {
				t.Fatal("not authentic")
			}
			if got, want := b[8+8+tr.IV():len(b)-tr.ICV()], unhex(t, v.plain); !bytes.Equal(got, want) {
				t.Errorf("plain %x, want %x", got, want)
			}
		})
	}
}

// TestCBC opens RFC 3602's case 1 behind an ICV that the standard library's
// HMAC makes.
func TestCBC(t *testing.T) {
	auth := unhex(t, strings.Repeat("0b", 32))
	b := unhex(t, "00000100 00000007 3dafba429d9eb430b422da802c9fac41 e353779c1079aeb82708942dbe77181a")
	m := hmac.New(sha256.New, auth)
	m.Write(b)
	b = m.Sum(b)[:len(b)+16]
	s, _ := transform.Lookup("aes128-sha256")
	tr, err := s.New(transform.NewKey(unhex(t, "06a9214036b8a15b512e03d534120006")), transform.NewKey(auth))
	if err != nil {
		t.Fatal(err)
	}
	if !tr.Open(&transform.Scratch{}, b, 0, len(b), transform.Sequence{Number: 7}) || string(b[24:40]) != "Single block msg" {
		t.Errorf("opened %q", b[24:40])
	}
}

// TestMAC checks the sums of RFC 4868 2.7.2 (AUTH cases 1), cut.
func TestMAC(t *testing.T) {
	for name, v := range map[string]struct {
		key int
		sum string
	}{
		"sha256": {32, "198a607eb44bfbc69903a0f1cf2bbdc5"},
		"sha384": {48, "b6a8d5636f5c6a7224f9977dcf7ee6c7fb6d0c48cbdee973"},
		"sha512": {64, "637edc6e01dce7e6742a99451aae82df23da3e92439e590e43e761b33e910fb8"},
	} {
		m, err := transform.NewMAC(name, transform.NewKey(unhex(t, strings.Repeat("0b", v.key))))
		if err != nil {
			t.Fatal(err)
		}
		if got := m.Sum(&transform.Scratch{}, transform.Sequence{}, []byte("Hi "), []byte("There")); hex.EncodeToString(got) != v.sum {
			t.Errorf("%s: %x, want %s", name, got, v.sum)
		}
	}
}

// TestEverySuite seals, opens, refuses every flipped byte, keeps what is around,
// and allocates nothing.
func TestEverySuite(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	for _, name := range transform.Names() {
		for _, esn := range []bool{false, true} {
			t.Run(fmt.Sprint(name, esn), func(t *testing.T) {
				tr, w := suite(t, name), &transform.Scratch{}
				seq := transform.Sequence{Number: 1<<32 + 9, Extended: esn}
				const esp, size = 32, 96
				end := esp + 8 + tr.IV() + size
				b := make([]byte, end+tr.ICV()+8)
				for i := range b {
					b[i] = byte(random.Uint32())
				}
				binary.BigEndian.PutUint32(b[esp+4:], uint32(seq.Number))
				plain := bytes.Clone(b)
				tr.Seal(w, b, esp, end, seq)
				sealed := bytes.Clone(b)
				if !bytes.Equal(b[:esp+8], plain[:esp+8]) || !bytes.Equal(b[end+tr.ICV():], plain[end+tr.ICV():]) {
					t.Fatal("Seal writes where it must not")
				}
				for i := esp; i < end+tr.ICV(); i++ {
					copy(b, sealed)
					b[i] ^= 1 << (i % 8)
					if tr.Open(w, b, esp, end+tr.ICV(), seq) {
						t.Fatalf("a flipped bit of byte %d is not noticed", i-esp)
					}
				}
				if copy(b, sealed); tr.Open(w, b, esp, end+tr.ICV(), transform.Sequence{Number: seq.Number + 1<<32, Extended: true}) {
					t.Error("another high half of the sequence number is not noticed")
				}
				if copy(b, sealed); !tr.Open(w, b, esp, end+tr.ICV(), seq) || !bytes.Equal(b[esp+8+tr.IV():end], plain[esp+8+tr.IV():end]) {
					t.Error("not opened to what was sealed")
				}
				if n := testing.AllocsPerRun(200, func() {
					tr.Seal(w, b, esp, end, seq)
					tr.Open(w, b, esp, end+tr.ICV(), seq)
				}); n != 0 {
					t.Errorf("%v allocations", n)
				}
			})
		}
	}
}

// TestWipe wants nothing to be openable after a wipe: the expanded keys are
// other ones.
func TestWipe(t *testing.T) {
	for _, name := range transform.Names() {
		a, b, w := suite(t, name), suite(t, name), &transform.Scratch{}
		p, end := make([]byte, 512), 16+8+a.IV()+96
		a.Seal(w, p, 16, end, transform.Sequence{Number: 1})
		sealed := bytes.Clone(p)
		if !b.Open(w, p, 16, end+b.ICV(), transform.Sequence{Number: 1}) {
			t.Fatalf("%s: two of the same keys differ", name)
		}
		b.Wipe()
		if b.Open(w, sealed, 16, end+b.ICV(), transform.Sequence{Number: 1}) {
			t.Errorf("%s: opens after its keys are wiped", name)
		}
	}
}

// TestKeysStaySecret prints, logs and encodes a key in every way there is.
func TestKeysStaySecret(t *testing.T) {
	k, err := transform.ParseKey("0x00c0ffee11c0ffee22c0ffee33c0ffee")
	if err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	type holder struct {
		K transform.Key
		P *transform.Key
	}
	for _, f := range []string{"%v", "%+v", "%#v", "%s", "%x", "%X", "%q", "%d"} {
		fmt.Fprintf(&out, f+f+f, k, holder{k, &k}, []transform.Key{k})
	}
	for _, h := range []slog.Handler{slog.NewJSONHandler(&out, nil), slog.NewTextHandler(&out, nil)} {
		slog.New(h).Info("key", "k", k, "holder", holder{k, &k})
	}
	if err := json.NewEncoder(&out).Encode(holder{k, &k}); err != nil {
		t.Fatal(err)
	}
	text := strings.ToLower(out.String())
	for _, secret := range []string{"c0ffee", "192 255 238", "192,255,238", "c0, 0xff"} {
		if strings.Contains(text, secret) {
			t.Errorf("%q in %s", secret, text)
		}
	}
	if _, err := transform.ParseKey("c0ffee1"); err == nil || strings.Contains(err.Error(), "c0ff") {
		t.Errorf("the error of a bad key: %v", err)
	}
	other := k
	k.Wipe()
	if !other.Equal(transform.NewKey(make([]byte, 16))) {
		t.Error("a wiped key is still there")
	}
}
