package report

import (
	"bytes"
	"math"
	"regexp"
	"strings"
	"testing"

	"github.com/linerate/linerate/result"
)

func TestExposition(t *testing.T) {
	var b bytes.Buffer
	err := Exposition(&b, []result.Value{
		result.Bytes.Of(5, "direction", "get"),
		result.Goodput.Of(941.48e6, "peer", "a \"b\"\\\n"),
		result.Bytes.Of(7, "direction", "put"),
		result.Bytes.Of(9, "direction", "put"), // again: must not appear
		result.TCPRTT.Of(math.NaN()),
		{Metric: "new-name", V: math.Inf(1), Labels: map[string]string{"1st": "x"}},
	})
	if err != nil {
		t.Fatal(err)
	}
	const want = `# HELP linerate_payload_bytes_total Payload moved by the workload.
# TYPE linerate_payload_bytes_total counter
linerate_payload_bytes_total{direction="get"} 5
linerate_payload_bytes_total{direction="put"} 7
# HELP linerate_goodput_bits_per_second Payload delivered to the receiving application.
# TYPE linerate_goodput_bits_per_second gauge
linerate_goodput_bits_per_second{peer="a \"b\"\\\n"} 9.4148e+08
# HELP linerate_tcp_round_trip_seconds Smoothed round-trip time.
# TYPE linerate_tcp_round_trip_seconds gauge
linerate_tcp_round_trip_seconds NaN
# HELP linerate_new_name Not in the metric table of this version.
# TYPE linerate_new_name untyped
linerate_new_name{_1st="x"} +Inf
`
	if got := b.String(); got != want {
		t.Errorf("got:\n%s\nwant:\n%s", got, want)
	}
}

// TestPrometheusPages checks every line of whole pages against the grammar of
// the text format, and that no series appears twice.
func TestPrometheusPages(t *testing.T) {
	line := regexp.MustCompile(`^(# HELP [a-zA-Z_:][a-zA-Z0-9_:]* .+|# TYPE [a-zA-Z_:][a-zA-Z0-9_:]* (counter|gauge|untyped)|` +
		`[a-zA-Z_:][a-zA-Z0-9_:]*(\{[a-zA-Z_][a-zA-Z0-9_]*="([^"\\]|\\[\\n"])*"(,[a-zA-Z_][a-zA-Z0-9_]*="([^"\\]|\\[\\n"])*")*\})? \S+)$`)
	for name, r := range map[string]*result.Result{"ladder": sample(t, "ladder"), "stream": sample(t, "stream"), "hostile": hostile()} {
		seen := map[string]bool{}
		for l := range strings.SplitSeq(strings.TrimSuffix(render(t, Prometheus, r), "\n"), "\n") {
			if !line.MatchString(l) {
				t.Errorf("%s: not a line of the format: %q", name, l)
			}
			key := l[:strings.LastIndexByte(l, ' ')]
			if !strings.HasPrefix(l, "#") && seen[key] {
				t.Errorf("%s: twice: %s", name, key)
			}
			seen[key] = true
		}
	}
}
