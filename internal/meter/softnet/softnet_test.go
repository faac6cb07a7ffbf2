package softnet

import (
	"testing"
	"testing/fstest"

	"github.com/linerate/linerate/internal/host"
	"github.com/linerate/linerate/result"
)

// Lines as Linux 6.18 (cores 1 and 3 online), 3.10 and 2.6.32 write them.
const (
	linux618 = "00000017 00000000 00000002 00000000 00000000 00000000 00000000 00000000 00000000 00000000 00000000 00000000 00000001 00000000 00000000\n" +
		"00002694 0000000a 00000000 00000000 00000000 00000000 00000000 00000000 00000000 0000001f 00000003 00000009 00000003 00000000 00000000\n"
	linux310 = "000a1f80 00000000 0000001c 00000000 00000000 00000000 00000000 00000000 00000000 00000000 00000000\n" +
		"00000104 00000000 00000000 00000000 00000000 00000000 00000000 00000000 00000000 000a1f7c 00000000\n"
	linux2632 = "00000a00 00000000 00000001 00000000 00000000 00000000 00000000 00000000 00000000\n"
)

func TestRead(t *testing.T) {
	for _, c := range []struct {
		kernel, stat string
		m            result.Metric
		cpu          string
		want         float64
	}{
		{"6.18", linux618, result.SoftnetFrames, "3", 9876},
		{"6.18", linux618, result.SoftnetSqueezed, "1", 2},
		{"6.18", linux618, result.SoftnetDropped, "3", 10},
		{"6.18", linux618, result.SoftnetRPS, "3", 31},
		{"6.18", linux618, result.SoftnetLimited, "3", 3},
		{"6.18", linux618, result.SoftnetBacklog, "3", 9},
		{"3.10", linux310, result.SoftnetRPS, "1", 663420},
		{"2.6.32", linux2632, result.SoftnetFrames, "0", 2560},
	} {
		vs, err := Meter{host.Recorded(fstest.MapFS{"proc/net/softnet_stat": {Data: []byte(c.stat)}})}.Read(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		if got, ok := result.Get(vs, c.m, "cpu", c.cpu); !ok || got != c.want {
			t.Errorf("Linux %s: %s of core %s = %v, %v; want %v", c.kernel, c.m.Name, c.cpu, got, ok, c.want)
		}
	}
	vs, _ := parse(linux2632)
	if _, ok := result.Get(vs, result.SoftnetRPS); ok {
		t.Error("a column that the kernel lacks reads as zero")
	}
}

func FuzzParse(f *testing.F) {
	for _, s := range []string{linux618, linux310, linux2632, "0 0\n", "zz 0 0\n"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		if vs, err := parse(s); (err == nil) != (len(vs) > 0) {
			t.Errorf("%d values with %v", len(vs), err)
		}
	})
}
