package filter

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/linerate/linerate/internal/testnet"
	"github.com/linerate/linerate/internal/wire/frame"
	"github.com/linerate/linerate/internal/wire/pcap"
)

// TestVerdicts gives the same packets to tcpdump and to us, with every
// expression of the corpus, and wants the same verdict on each packet. tcpdump
// is asked in two ways: what its own machine lets through without its optimizer
// (-O), and what ours makes of the code with it (-ddd). The optimizer reorders
// and drops loads, so that of packets cut inside a header it lets others
// through; there either verdict is right.
func TestVerdicts(t *testing.T) {
	tcpdump := testnet.NeedTool(t, "tcpdump")
	corpus := expressions(t)
	if len(corpus) < 150 {
		t.Fatalf("%d expressions", len(corpus))
	}
	for _, set := range packetSets(t) {
		t.Run(set.name, func(t *testing.T) {
			file := set.write(t)
			compared, passed := 0, 0
			for _, e := range corpus {
				p, err := Compile(e, set.link)
				theirs, refused := tcpdumpVerdicts(t, file, len(set.packets), tcpdump, "-O", "--", e)
				if err != nil || refused != "" {
					if (err == nil) != (refused == "") && !differs(e, set.link) {
						t.Errorf("%q: we say %v, tcpdump %q", e, err, refused)
					}
					continue
				}
				code := tcpdumpCode(t, tcpdump, file, e)
				for i, k := range set.packets {
					ours, optimized := p.Match(k.data, k.wire), run(code, k.data, uint32(k.wire)) != 0
					cut := len(k.data) < k.wire
					if ours != theirs[i] && !(cut && ours == optimized) && !differs(e, set.link) {
						t.Errorf("%q: packet %d (%s): %v, tcpdump %v", e, i, k.name, ours, theirs[i])
					}
					if !cut && optimized != theirs[i] {
						t.Errorf("%q: packet %d (%s): our machine runs tcpdump's code to %v", e, i, k.name, optimized)
					}
					compared++
					if ours {
						passed++
					}
				}
			}
			t.Logf("%d packets, %d verdicts compared, %d passed", len(set.packets), compared, passed)
			if compared == 0 || passed == 0 || passed == compared {
				t.Error("the corpus distinguishes nothing here")
			}
		})
	}
}

// differs reports whether we follow a newer libpcap than 1.10.3, the one that
// Debian 12 has: it lacks vxlan, forgets to load the byte for & and |, and
// takes numbers that no field can hold.
func differs(e string, link uint16) bool {
	return strings.Contains(e, "vxlan") || strings.HasPrefix(e, "byte 0 & ") || strings.HasPrefix(e, "byte 0 | ") ||
		slices.Contains([]string{"byte 0 = 256", "proto 256", "ip proto 300"}, e)
}

func expressions(t testing.TB) []string {
	b, err := os.ReadFile("testdata/expressions.txt")
	if err != nil {
		t.Fatal(err)
	}
	var out []string
	for line := range strings.Lines(string(b)) {
		if line = strings.TrimSpace(line); line != "" && !strings.HasPrefix(line, "#") {
			out = append(out, line)
		}
	}
	return out
}

// write makes a capture whose time stamps are the packets' numbers.
func (s packetSet) write(t *testing.T) string {
	t.Helper()
	name := filepath.Join(t.TempDir(), "packets.pcap")
	f, err := os.Create(name)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	w, err := pcap.NewWriter(f, pcap.LinkType(s.link), 262144)
	if err != nil {
		t.Fatal(err)
	}
	for i, k := range s.packets {
		if err := w.Write(int64(i)*1e9, k.data, k.wire); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Flush(); err != nil {
		t.Fatal(err)
	}
	return name
}

func tcpdumpVerdicts(t *testing.T, file string, n int, tcpdump string, args ...string) (passed []bool, refused string) {
	t.Helper()
	var out, diag bytes.Buffer
	cmd := exec.CommandContext(t.Context(), tcpdump, append([]string{"-n", "-r", file, "-w", "-"}, args...)...)
	cmd.Stdout, cmd.Stderr = &out, &diag
	if err := cmd.Run(); err != nil {
		if _, ok := errors.AsType[*exec.ExitError](err); !ok {
			t.Fatal(err)
		}
		if strings.Contains(diag.String(), "rejects all packets") { // an error there, a constant here
			return make([]bool, n), ""
		}
		return nil, diag.String()
	}
	passed = make([]bool, n)
	r, err := pcap.NewReader(&out)
	if err != nil {
		t.Fatalf("%q: %v: %s", args, err, diag.String())
	}
	defer r.Close()
	var rec pcap.Record
	for {
		switch err := r.Next(&rec); {
		case err == io.EOF:
			return passed, ""
		case err != nil:
			t.Fatal(err)
		}
		passed[rec.Time/1e9] = true
	}
}

func tcpdumpCode(t *testing.T, tcpdump, file, expression string) []Instruction {
	t.Helper()
	out, err := exec.CommandContext(t.Context(), tcpdump, "-n", "-r", file, "-ddd", "--", expression).Output()
	if err != nil {
		return []Instruction{{Op: ClassReturn}} // it rejects all packets
	}
	var code []Instruction
	for line := range strings.Lines(string(out)) {
		f := strings.Fields(line)
		if len(f) != 4 {
			continue
		}
		var v [4]uint64
		for i := range f {
			if v[i], err = strconv.ParseUint(f[i], 10, 32); err != nil {
				t.Fatal(err)
			}
		}
		code = append(code, Instruction{uint16(v[0]), uint8(v[1]), uint8(v[2]), uint32(v[3])})
	}
	return code
}

type packet struct {
	name string
	data []byte
	wire int
}

type packetSet struct {
	name    string
	link    uint16
	packets []packet
}

// packetSets are frames of many kinds, each also cut at many lengths, behind
// each link type's header, and captures of other people's.
func packetSets(t *testing.T) []packetSet {
	ethernet := packetSet{"Ethernet", frame.LinkEthernet, nil}
	raw := packetSet{"raw IP", frame.LinkRaw, nil}
	sll := packetSet{"cooked", frame.LinkSLL, nil}
	sll2 := packetSet{"cooked 2", frame.LinkSLL2, nil}
	loop := packetSet{"BSD loopback", frame.LinkLoop, nil}
	null := packetSet{"BSD null", frame.LinkNull, nil}
	for _, k := range etherFrames() {
		ethernet.add(k.name, k.data)
		typ, payload := k.data[12:14], k.data[14:]
		cooked := append([]byte{0, byte(len(k.data) % 5), 0, 1, 0, 6, 2, 0, 0, 0, 0, 1, 0, 0}, typ...)
		sll.add(k.name, append(cooked, payload...))
		cooked2 := append(append([]byte{}, typ...), 0, 0, 0, 0, 0, 2, 0, 1, byte(len(k.data)%5), 6, 2, 0, 0, 0, 0, 1, 0, 0)
		sll2.add(k.name, append(cooked2, payload...))
		family := uint32(2)
		switch binary.BigEndian.Uint16(typ) {
		case typeIPv6:
			family = []uint32{24, 28, 30}[len(payload)%3]
		case typeIPv4:
		default:
			continue
		}
		raw.add(k.name, payload)
		loop.add(k.name, append(binary.BigEndian.AppendUint32(nil, family), payload...))
		null.add(k.name, append(binary.LittleEndian.AppendUint32(nil, family), payload...))
	}
	sets := []packetSet{ethernet, sll, sll2, raw, loop, null}
	public := packetSet{"public captures", frame.LinkEthernet, nil}
	files, err := filepath.Glob("../pcap/testdata/public/*.zst")
	if err != nil || len(files) == 0 {
		t.Fatal(err)
	}
	for _, name := range files {
		public.read(t, name)
	}
	return append(sets, public)
}

// read takes the first frames of a capture.
func (s *packetSet) read(t *testing.T, name string) {
	f, err := os.Open(name)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	r, err := pcap.NewReader(f)
	if err != nil {
		return // a damaged one
	}
	defer r.Close()
	var rec pcap.Record
	for i := 0; i < 25 && r.Next(&rec) == nil; i++ {
		if uint16(rec.Link) == s.link {
			s.packets = append(s.packets, packet{fmt.Sprintf("%s:%d", filepath.Base(name), i), bytes.Clone(rec.Data), rec.Len})
		}
	}
}

// add appends a frame whole and cut.
func (s *packetSet) add(name string, b []byte) {
	s.packets = append(s.packets, packet{name, b, len(b)})
	for _, n := range []int{10, 13, 17, 23, 33, 35, 37, 41, 53, 55, 60, 67, 75} {
		if n < len(b) {
			s.packets = append(s.packets, packet{fmt.Sprintf("%s, cut to %d", name, n), b[:n], len(b)})
		}
	}
}
