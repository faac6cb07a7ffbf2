package facts

import (
	"bytes"
	"maps"
	"os"
	"slices"
	"strings"
	"testing"
	"testing/fstest"
	"time"

	"github.com/linerate/linerate/result"
)

func TestTable(t *testing.T) {
	seen := map[string]bool{}
	for _, f := range Table() {
		if seen[f.Key] || f.Help == "" || strings.HasSuffix(f.Help, ".") {
			t.Errorf("%s: twice, or its help is %q", f.Key, f.Help)
		}
		seen[f.Key] = true
		if f.Number() {
			if m, ok := result.Lookup(f.Metric.Name); !ok || m != f.Metric || len(f.Labels)%2 != 0 {
				t.Errorf("%s: metric %+v, labels %v", f.Key, f.Metric, f.Labels)
			}
		}
		if (f.Kind == Choice || f.Kind == List) != (len(f.Values) > 0) {
			t.Errorf("%s: %s with the values %v", f.Key, f.Kind, f.Values)
		}
	}
	// Two facts that become one value could not be told apart.
	values := map[string]string{}
	for _, f := range Table() {
		if !f.Number() {
			continue
		}
		v := f.Of(1)
		id := v.Metric + strings.Join(slices.Sorted(maps.Keys(v.Labels)), ",") + strings.Join(slices.Sorted(maps.Values(v.Labels)), ",")
		if other, ok := values[id]; ok {
			t.Errorf("%s and %s become the same value", f.Key, other)
		}
		values[id] = f.Key
	}
}

func TestDecode(t *testing.T) {
	r, err := Decode(strings.NewReader(`
board: K2H
protocol: tcp
link: {speed: 1Gbit/s, pause: off, eee: active}
goodput.tx: 11 MB/s
test: {duration: 250ms, bytes: 2.56MB, tool-version: "3.7"}
tcp: {window: 8KiB, rtt: 0.36 ms, rwnd-limited: 55 %}
cpu.clock: 1.2GHz
app.sleeps: yes
errors.crc: some
works: rx, udp
`))
	if err != nil {
		t.Fatal(err)
	}
	number := func(key string) float64 {
		f, _ := Find(key)
		v, ok := result.Get(r.Totals, f.Metric, f.Labels...)
		if !ok {
			t.Errorf("%s is missing", key)
		}
		return v
	}
	for key, want := range map[string]float64{"link.speed": 1e9, "goodput.tx": 88e6, "test.bytes": 2.56e6, "tcp.window": 8192, "tcp.rtt": 0.36e-3,
		"tcp.rwnd-limited": 0.55, "cpu.clock": 1.2e9} {
		if got := number(key); got < 0.999*want || got > 1.001*want {
			t.Errorf("%s: %v, want %v", key, got, want)
		}
	}
	for _, c := range []struct{ key, word string }{{"link.pause", "off"}, {"link.eee", "active"}, {"app.sleeps", "yes"}, {"works", "udp"}, {"test.tool-version", "3.7"}, {"errors.crc", "some"}} {
		if _, ok := result.Get(r.Totals, result.Observed, "fact", c.key, "value", c.word); !ok {
			t.Errorf("%s %s is missing", c.key, c.word)
		}
	}
	if r.Duration != 250*time.Millisecond || r.Ends[0].Facts["board"] != "K2H" {
		t.Errorf("duration %v, end %+v", r.Duration, r.Ends[0])
	}
}

func TestDecodeRefuses(t *testing.T) {
	for text, want := range map[string]string{
		"":                                "none given",
		"link.sped: 1Gbit/s":              "no such fact",
		"window: 8192":                    "perhaps tcp.window",
		"link.speed: fast":                "want a rate",
		"link.speed: 1000":                "want a rate",
		"link.speed: -1":                  "want a rate",
		"tcp.rtt: 5":                      "want a time",
		"cpu.busiest: 55":                 "want a share",
		"cpu.busiest: NaN":                "want a share",
		"app.sleeps: often":               "want yes or no",
		"link.duplex: both":               "want one of full, half",
		"link.duplex: [full, half]":       "want one of full, half",
		"works: [tx, magic]":              "want some of",
		"goodput:":                        "no value",
		"[1, 2]":                          "facts:",
		"a: &a [*a]":                      "facts:",
		"link: {speed: x}\ntcp: {mss: y}": "tcp.mss",
	} {
		if r, err := Decode(strings.NewReader(text)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v, %v, want %q", text, r, err, want)
		}
	}
}

func TestFromFiles(t *testing.T) {
	vs := FromFiles(fstest.MapFS{
		"ethtool/eth0/rings":                        {Data: []byte("rx: 256\nrx-max: 4096\n")},
		"ethtool/eth0/eee":                          {Data: []byte("eee: on\nactive: on\n")},
		"proc/sys/net/netfilter/nf_conntrack_count": {Data: []byte("70000\n")},
		"proc/net/stat/nf_conntrack":                {Data: []byte("entries insert_failed drop early_drop\n00011170 0000000a 0 1\n00011170 00000010 0 0\n")},
	}, "eth0")
	for key, want := range map[string]float64{"ring.rx-max": 4096, "conntrack.count": 70000, "conntrack.insert-failed": 27} {
		f, _ := Find(key)
		if got, ok := result.Get(vs, f.Metric, f.Labels...); !ok || got != want {
			t.Errorf("%s: %v, %v, want %v", key, got, ok, want)
		}
	}
	if _, ok := result.Get(vs, result.Observed, "fact", "link.eee", "value", "active"); !ok {
		t.Errorf("EEE is not seen active: %+v", vs)
	}
	if vs := FromFiles(fstest.MapFS{}, "eth0"); vs != nil {
		t.Errorf("facts of nothing: %+v", vs)
	}
}

// The guide's table is the code's.
func TestGuideListsFacts(t *testing.T) {
	guide, err := os.ReadFile("../../../docs/guides/explain.md")
	if err != nil {
		t.Fatal(err)
	}
	var want bytes.Buffer
	if err := Markdown(&want); err != nil {
		t.Fatal(err)
	}
	if !bytes.Contains(guide, want.Bytes()) {
		t.Errorf("docs/guides/explain.md does not hold this table:\n%s", want.Bytes())
	}
}

func FuzzDecode(f *testing.F) {
	f.Add("link: {speed: 1Gbit/s, pause: off}\nworks: [tx]\ngoodput.rx: 33Mbit/s\n")
	f.Add("tcp.rtt: 1h\nerrors.crc: some\na: {b: {c: 1}}")
	f.Add("? [x]\n: 1")
	f.Fuzz(func(t *testing.T, text string) {
		r, err := Decode(strings.NewReader(text))
		if err != nil {
			return
		}
		for _, v := range r.Totals {
			if v.V < 0 || v.V != v.V {
				t.Errorf("%q: %+v", text, v)
			}
		}
	})
}
