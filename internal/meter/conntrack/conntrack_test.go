package conntrack

import (
	"testing"
	"testing/fstest"

	"github.com/linerate/linerate/internal/host"
	"github.com/linerate/linerate/result"
)

const stat = `entries  clashres found new invalid ignore delete chainlength insert insert_failed drop early_drop icmp_error
0000000a  00000000 00000000 00000000 00000000 00000000 00000000 00000000 00000000 00000001 00000010 00000002 00000000
0000000a  00000000 00000000 00000000 00000000 00000000 00000000 00000000 00000000 00000000 00000001 00000000 00000000
`

func TestReadsTableAndFailures(t *testing.T) {
	tree := fstest.MapFS{}
	for name, text := range map[string]string{"proc/sys/net/netfilter/nf_conntrack_count": "95\n", "proc/sys/net/netfilter/nf_conntrack_max": "100\n",
		"proc/sys/net/netfilter/nf_conntrack_buckets": "32\n", "proc/net/stat/nf_conntrack": stat} {
		tree[name] = &fstest.MapFile{Data: []byte(text)}
	}
	vs, err := Meter{host.Recorded(tree)}.Read(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if n, _ := result.Get(vs, result.ConntrackEntries, "bound", "now"); n != 95 {
		t.Errorf("%v entries", n)
	}
	if n, _ := result.Get(vs, result.NetworkCounter, "counter", "ConntrackFailed"); n != 1+16+2+1 {
		t.Errorf("%v failures, want 20", n)
	}
	if vs, err := (Meter{host.Recorded(fstest.MapFS{})}).Read(t.Context()); err != nil || len(vs) > 0 {
		t.Errorf("without tracking: %v, %v", vs, err)
	}
}

func FuzzParse(f *testing.F) {
	f.Add(stat)
	f.Add("drop\nzz\n")
	f.Fuzz(func(t *testing.T, s string) { _, _ = parse(s) })
}
