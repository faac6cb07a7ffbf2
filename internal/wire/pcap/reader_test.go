package pcap

import (
	"bytes"
	"encoding/binary"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/linerate/linerate/internal/wire/frame"
)

// scan reads a capture to its end.
func scan(r io.Reader) (packets, tcp, longest int, err error) {
	rd, err := NewReader(r)
	if err != nil {
		return 0, 0, 0, err
	}
	defer rd.Close()
	var rec Record
	var p frame.Packet
	for {
		if err := rd.Next(&rec); err != nil {
			if err == io.EOF {
				err = nil
			}
			return packets, tcp, longest, err
		}
		packets++
		if frame.Decode(uint16(rec.Link), rec.Data, rec.Len, &p).Kind == frame.None && p.Proto == frame.ProtoTCP {
			tcp++
			longest = max(longest, p.Payload)
		}
	}
}

func open(t testing.TB, name string) *os.File {
	t.Helper()
	f, err := os.Open(name)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { f.Close() })
	return f
}

// TestFormats reads the same 600 segments in every format and link type.
func TestFormats(t *testing.T) {
	files, err := filepath.Glob("testdata/formats/fmt_*")
	if err != nil || len(files) < 28 {
		t.Fatalf("%d files, %v", len(files), err)
	}
	for _, name := range files {
		want, wantTCP := 600, 600
		switch {
		case strings.Contains(name, "editcap"):
			want, wantTCP = 1446, 1446
		case strings.Contains(name, "cut"):
			want, wantTCP = 599, 599
		case strings.Contains(name, "snap40"):
			wantTCP = 0
		}
		n, tcp, _, err := scan(open(t, name))
		if strings.Contains(name, "cut") != errors.Is(err, ErrCut) || err != nil && !errors.Is(err, ErrCut) {
			t.Errorf("%s: %v", name, err)
		}
		if n != want || tcp != wantTCP {
			t.Errorf("%s: %d packets, %d TCP, want %d and %d", name, n, tcp, want, wantTCP)
		}
	}
}

// TestPublic compares with what Wireshark reads; the exceptions are packets
// that it can't decode and we can.
func TestPublic(t *testing.T) {
	facts, err := os.ReadFile("testdata/public/FACTS.tsv")
	if err != nil {
		t.Fatal(err)
	}
	better := map[string][2]int{ // TCP segments and the longest of them
		"the-tcpdump-group_tcpdump__bigtcp-ipv6.pcap":            {1, 79968},
		"the-tcpdump-group_tcpdump__bigtcp-ipv4-vxlan-ipv4.pcap": {1, 80000},
		"gopacket_gopacket__linux_sll_oversized_addr.pcapng":     {208, 31245},
	}
	read := 0
	for line := range strings.Lines(string(facts)) {
		f := strings.Split(strings.TrimSpace(line), "\t")
		if _, err := strconv.Atoi(f[3]); err != nil {
			continue // the heading, and files that Wireshark refuses
		}
		name := "testdata/public/" + f[0]
		if !strings.HasSuffix(name, ".gz") {
			name += ".zst"
		}
		file, err := os.Open(name)
		if errors.Is(err, os.ErrNotExist) {
			continue // too large to keep here
		}
		if err != nil {
			t.Fatal(err)
		}
		n, tcp, longest, err := scan(file)
		file.Close()
		read++
		want, wantTCP, wantLongest := atoi(f[3]), atoi(f[5]), atoi(f[11])
		if b, ok := better[f[0]]; ok {
			wantTCP, wantLongest = b[0], b[1]
		}
		if n != want || tcp != wantTCP || longest != wantLongest || err != nil {
			t.Errorf("%s: %d packets, %d TCP up to %d B, %v; want %d, %d, %d", f[0], n, tcp, longest, err, want, wantTCP, wantLongest)
		}
	}
	if read < 75 {
		t.Errorf("read %d files", read)
	}
}

func atoi(s string) int {
	n, _ := strconv.Atoi(s)
	return n
}

// TestRefused wants an error that says what is wrong, and what came before it.
func TestRefused(t *testing.T) {
	for name, c := range map[string]struct {
		b    []byte
		want error
	}{
		"empty":     {nil, ErrCut},
		"text":      {[]byte("hello, this is no capture at all"), ErrFormat},
		"header":    {[]byte{0xd4, 0xc3, 0xb2, 0xa1, 2, 0}, ErrCut},
		"version 9": {append([]byte{0xd4, 0xc3, 0xb2, 0xa1, 9, 0, 4, 0}, make([]byte, 16)...), ErrFormat},
		"xz cut":    {[]byte{0xfd, '7', 'z', 'X', 'Z', 0}, io.ErrUnexpectedEOF},
	} {
		if _, _, _, err := scan(bytes.NewReader(c.b)); !errors.Is(err, c.want) {
			t.Errorf("%s: %v, want %v", name, err, c.want)
		}
	}
	n, _, _, err := scan(open(t, "testdata/public/gopacket_gopacket__test901.pcapng.zst"))
	if n != 1 || !errors.Is(err, ErrFormat) {
		t.Errorf("section of version 2: %d packets, %v", n, err)
	}
}

// TestCutAnywhere cuts captures at every length: what is whole is read, and
// the end is told.
func TestCutAnywhere(t *testing.T) {
	files, err := filepath.Glob("testdata/*/*.zst")
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range files {
		plain, _, err := decompress(open(t, name))
		if err != nil {
			t.Fatal(err)
		}
		b, err := io.ReadAll(plain)
		if err != nil {
			t.Fatal(err)
		}
		all, _, _, _ := scan(bytes.NewReader(b))
		for n := 0; n < len(b); n += 1 + len(b)/25 {
			got, _, _, err := scan(bytes.NewReader(b[:n]))
			if got > all || err != nil && !errors.Is(err, ErrCut) && !errors.Is(err, ErrFormat) && !errors.Is(err, io.ErrUnexpectedEOF) {
				t.Fatalf("%s cut at %d: %d of %d packets, %v", name, n, got, all, err)
			}
		}
	}
}

func TestWriterReadsBack(t *testing.T) {
	var b bytes.Buffer
	w, err := NewWriter(&b, 1, 96)
	if err != nil {
		t.Fatal(err)
	}
	const at = 1_700_000_000_123_456_789
	if err := errors.Join(w.Write(at, []byte{1, 2, 3}, 1514), w.Flush()); err != nil {
		t.Fatal(err)
	}
	rd, err := NewReader(&b)
	if err != nil {
		t.Fatal(err)
	}
	var rec Record
	if err := rd.Next(&rec); err != nil || rec.Time != at || rec.Len != 1514 || !bytes.Equal(rec.Data, []byte{1, 2, 3}) || rec.Link != 1 {
		t.Errorf("%+v, %v", rec, err)
	}
	if err := rd.Next(&rec); err != io.EOF {
		t.Errorf("after the last: %v", err)
	}
}

// TestOldAndRare reads formats of which no file is at hand.
func TestOldAndRare(t *testing.T) {
	swapped := []byte{0xd4, 0xc3, 0xb2, 0xa1, 2, 0, 2, 0, 15: 0, 16: 0xff, 20: 1, 23: 0}
	rec := binary.LittleEndian.AppendUint32(nil, 7)
	rec = binary.LittleEndian.AppendUint32(rec, 5)
	rec = binary.LittleEndian.AppendUint32(rec, 60) // version 2.2: the original length comes first
	rec = binary.LittleEndian.AppendUint32(rec, 4)
	snoop := append([]byte("snoop\x00\x00\x00\x00\x00\x00\x02\x00\x00\x00\x04"), 0, 0, 0, 60, 0, 0, 0, 4, 0, 0, 0, 28, 0, 0, 0, 0, 0, 0, 0, 7, 0, 0, 0, 5)
	for name, b := range map[string][]byte{"pcap 2.2": append(append(swapped, rec...), 1, 2, 3, 4), "snoop": append(snoop, 1, 2, 3, 4)} {
		rd, err := NewReader(bytes.NewReader(b))
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		var r Record
		if err := rd.Next(&r); err != nil || r.Len != 60 || len(r.Data) != 4 || r.Time != 7_000_005_000 {
			t.Errorf("%s: %+v, %v", name, r, err)
		}
	}
}

func FuzzReader(f *testing.F) {
	files, err := filepath.Glob("testdata/*/*test0*.zst")
	if err != nil {
		f.Fatal(err)
	}
	for _, name := range files {
		plain, _, err := decompress(open(f, name))
		if err != nil {
			f.Fatal(err)
		}
		b, err := io.ReadAll(plain)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(b)
	}
	f.Fuzz(func(_ *testing.T, b []byte) {
		_, _, _, _ = scan(bytes.NewReader(b))
	})
}
