package filter

import (
	"errors"
	"strings"
	"testing"

	"golang.org/x/net/bpf"

	"github.com/linerate/linerate/internal/wire/frame"
)

// links are the link types that filters are for.
var links = []uint16{frame.LinkEthernet, frame.LinkSLL, frame.LinkSLL2, frame.LinkRaw, frame.LinkIPv4, frame.LinkIPv6, frame.LinkNull, frame.LinkLoop}

func TestEmptyMatchesAll(t *testing.T) {
	p, err := Compile("  ", frame.LinkEthernet)
	if err != nil || !p.Match(nil, 0) || !p.Match([]byte{1}, 1) {
		t.Errorf("%v, %v", p, err)
	}
}

// TestErrors wants the column and what was expected there.
func TestErrors(t *testing.T) {
	for expression, want := range map[string]string{
		"port":                       `column 5: want an address, number or name, have the end`,
		"host 10.0.0.1 and":          `column 18: want a primitive`,
		"tcp or 80":                  `column 8: "80" needs a word before it`,
		"port 80 or or":              `column 12: want a primitive`,
		"tcp[13:3] = 1":              `column 8: want a size of 1, 2 or 4 bytes, have "3"`,
		"tcp[13] & 2":                `column 12: want a comparison (=, !=, <, <=, >, >=), have the end`,
		"(tcp or udp":                `column 12: want ")", have the end`,
		"tcp)":                       `column 4: want and, or, or the end, have ")"`,
		"icmp port 80":               `column 11: icmp has no ports: tcp, udp and sctp have`,
		"net 10.0.0.1/8":             `column 5: 10.0.0.1 has bits set that its mask hasn't`,
		"host example.org":           `column 6: "example.org" is a name, and a filter looks none up`,
		"gateway 10.0.0.1":           `column 1: gateway compares a name's`,
		"ip6 protochain 6":           `column 5: protochain follows headers in a loop`,
		"port nosuch":                `column 6: unknown port "nosuch": write its number`,
		"len / 0 = 1":                `column 5: division by zero`,
		"tcp #":                      `column 5: '#' belongs to no expression`,
		"host 10.0.0.999":            `column 6: 10.0.0.999 is no IPv4 address`,
		"(len > 5) and (len + ) = 2": `column 22: want a number, len, or a protocol with [`,
		strings.Repeat("(", 100):     `column 66: nested more than 64 deep`,
		strings.Repeat("x", 17<<10):  `an expression has up to 16384 bytes`,
		"ether[70000000] = 1":        `offset 70000000 is beyond any packet`,
	} {
		_, err := Compile(expression, frame.LinkEthernet)
		if e, ok := errors.AsType[*Error](err); !ok || !strings.Contains(e.Error(), want) {
			t.Errorf("%.40q: %v, want %s", expression, err, want)
		}
	}
	if _, err := Compile("tcp", 105); err == nil || !strings.Contains(err.Error(), "link type 105") {
		t.Errorf("IEEE 802.11: %v", err)
	}
	many := "len = 1" + strings.Repeat(" or len = 2 or len = 3", 700)
	if _, err := Compile(many, frame.LinkEthernet); err != nil {
		t.Errorf("a long filter that folds: %v", err)
	}
}

// TestLongJumps compiles filters whose tests lie farther apart than a
// conditional jump reaches.
func TestLongJumps(t *testing.T) {
	var hosts []string
	for i := range 200 {
		hosts = append(hosts, "10.1.0."+string(rune('0'+i%10))+" or 10.2."+string(rune('0'+i/10%10))+"."+string(rune('0'+i%10)))
	}
	p, err := Compile("ip host "+strings.Join(hosts, " or ")+" or not udp", frame.LinkEthernet)
	if err != nil {
		t.Fatal(err)
	}
	if len(p.Instructions()) < 600 {
		t.Errorf("%d instructions", len(p.Instructions()))
	}
	for source, want := range map[string]bool{"10.1.0.7": true, "10.2.9.9": true, "10.2.99.9": false} {
		b := ether(typeIPv4, ipv4([2]string{source, "1.1.1.1"}, 17, 0, 0, udp(1, 2, 3)))
		if got := p.Match(b, len(b)); got != want {
			t.Errorf("%s: %v", source, got)
		}
	}
	validate(t, "hosts", p.Instructions())
}

// validate wants code that another machine's checks let pass: known
// instructions, jumps inside the program, no division by a constant zero.
func validate(t *testing.T, name string, code []Instruction) {
	t.Helper()
	var list []bpf.Instruction
	for _, in := range code {
		decoded := bpf.RawInstruction{Op: in.Op, Jt: in.Jt, Jf: in.Jf, K: in.K}.Disassemble()
		if in.Op == ClassLoad|ModeLength {
			decoded = bpf.LoadExtension{Num: bpf.ExtLen}
		}
		list = append(list, decoded)
	}
	if _, err := bpf.NewVM(list); err != nil {
		t.Errorf("%s: %v", name, err)
	}
}

func FuzzCompile(f *testing.F) {
	for _, e := range expressions(f) {
		f.Add(e, uint8(0), []byte(nil))
	}
	f.Add("tcp port 80", uint8(3), ipv4([2]string{"10.0.0.1", "10.0.0.2"}, 6, 0, 0, tcp(1, 80, 2, 0)))
	f.Fuzz(func(t *testing.T, e string, link uint8, b []byte) {
		p, err := Compile(e, links[int(link)%len(links)])
		if err != nil {
			if found, ok := errors.AsType[*Error](err); !ok || found.Column < 1 || found.Column > max(len(e), MaxExpression)+1 {
				t.Errorf("%q: %v", e, err)
			}
			return
		}
		if len(p.code) > MaxInstructions {
			t.Errorf("%q: %d instructions", e, len(p.code))
		}
		validate(t, e, p.code)
		p.Match(b, len(b))
	})
}

func BenchmarkMatch(b *testing.B) {
	frames := etherFrames()
	for _, e := range []string{"tcp port 80", "tcp or udp and port 53", "host 10.0.0.1 and (port 80 or 443)"} {
		b.Run(e, func(b *testing.B) {
			p, err := Compile(e, frame.LinkEthernet)
			if err != nil {
				b.Fatal(err)
			}
			i := 0
			for b.Loop() {
				k := frames[i%len(frames)].data
				p.Match(k, len(k))
				i++
			}
		})
	}
}
