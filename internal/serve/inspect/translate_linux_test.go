package inspect

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/cilium/ebpf"
	"github.com/cilium/ebpf/asm"

	"github.com/linerate/linerate/internal/testnet"
	"github.com/linerate/linerate/internal/wire/filter"
	"github.com/linerate/linerate/internal/wire/frame"
	"github.com/linerate/linerate/internal/wire/pcap"
)

// TestTranslation runs every expression of the filter's corpus in the kernel
// over frames of other people's captures and wants the verdict of the filter in
// Go, which tcpdump agrees with.
func TestTranslation(t *testing.T) {
	testnet.NeedRoot(t)
	b, err := os.ReadFile("../../wire/filter/testdata/expressions.txt")
	if err != nil {
		t.Fatal(err)
	}
	frames := captured(t)
	compared, passed := 0, 0
	for e := range strings.Lines(string(b)) {
		e = strings.TrimSpace(e)
		f, err := filter.Compile(e, frame.LinkEthernet)
		if err != nil || e == "" || e[0] == '#' {
			continue
		}
		p := kernelFilter(t, e, f)
		for i, data := range frames {
			verdict, err := p.Run(&ebpf.RunOptions{Data: data})
			if err != nil {
				t.Fatalf("%q: frame %d: %v", e, i, err)
			}
			want := f.Match(data, len(data))
			if got := verdict == xdpPass; got != want {
				t.Errorf("%q: frame %d: %v, want %v\n%x", e, i, got, want, data)
			}
			compared++
			if want {
				passed++
			}
		}
		p.Close()
	}
	t.Logf("%d verdicts compared, %d passed", compared, passed)
	if compared < 50_000 || passed == 0 || passed == compared {
		t.Errorf("%d verdicts compared, %d passed", compared, passed)
	}
}

const xdpPass = 2

// kernelFilter loads a program that passes what a filter passes.
func kernelFilter(tb testing.TB, e string, f *filter.Program) *ebpf.Program {
	tb.Helper()
	body, err := translate("filter", f.Instructions())
	if err != nil {
		tb.Fatalf("%q: %v", e, err)
	}
	code := asm.Instructions{
		asm.LoadMem(asm.R2, asm.R1, 4, asm.Word), // xdp_md.data_end
		asm.LoadMem(asm.R1, asm.R1, 0, asm.Word), // xdp_md.data
		asm.Mov.Reg(asm.R3, asm.R2),
		asm.Sub.Reg(asm.R3, asm.R1),
		asm.Call.Label("filter"),
		asm.Add.Imm(asm.R0, 1), // XDP_DROP is 1, XDP_PASS 2
		asm.Return(),
	}
	p, err := ebpf.NewProgram(&ebpf.ProgramSpec{Type: ebpf.XDP, License: "GPL", Instructions: append(code, body...)})
	if err != nil {
		var v *ebpf.VerifierError
		if errors.As(err, &v) {
			tb.Fatalf("%q: %+v", e, v)
		}
		tb.Fatalf("%q: %v", e, err)
	}
	return p
}

// captured returns frames of captures, whole and cut.
func captured(tb testing.TB) [][]byte {
	files, err := filepath.Glob("../../wire/pcap/testdata/public/*.zst")
	if err != nil || len(files) == 0 {
		tb.Fatal(err)
	}
	var out [][]byte
	for _, name := range files {
		f, err := os.Open(name)
		if err != nil {
			tb.Fatal(err)
		}
		r, err := pcap.NewReader(f)
		if err != nil {
			f.Close()
			continue // a damaged one
		}
		var rec pcap.Record
		for i := 0; i < 12 && r.Next(&rec) == nil; i++ {
			if rec.Link != frame.LinkEthernet || len(rec.Data) < 14 || len(rec.Data) > 3500 {
				continue
			}
			out = append(out, append([]byte(nil), rec.Data...))
			if n := 14 + i*6; n < len(rec.Data) {
				out = append(out, append([]byte(nil), rec.Data[:n]...))
			}
		}
		r.Close()
		f.Close()
	}
	return out
}
