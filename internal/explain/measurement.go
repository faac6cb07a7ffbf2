package explain

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/linerate/linerate/result"
)

// measurementRules ask first whether the figure is real.
func measurementRules() []Rule {
	return []Rule{
		{ID: "test.default-rate", Code: "R-MEAS-1",
			Title:  "The generator runs at its default rate",
			Ref:    "iperf(1) -b; zephyr issue 60144",
			Gain:   "none for the link: the figure is the tool's",
			Trade:  "UDP at line rate may crowd out other traffic",
			Next:   "repeat with the rate given: -b 1G",
			Levers: []result.Advice{{Lever: "bench.udp.rate", Value: "line rate"}},
			needs:  []clue{saw(0.3, "protocol", "udp"), defaultRate(0.8)},
			clues:  []clue{saw(0.3, "same", "settings", "size", "buffers"), saw(0.2, "test.tool", "iperf2", "iperf3")},
			doubts: []clue{atLeast(0.9, "test.offered", 2*defaultUDPRate)}},
		{ID: "test.sender-count", Code: "R-MEAS-2",
			Title: "The figure is the sender's count",
			Ref:   "RFC 2285 3.5; esp-idf issue 10870",
			Gain:  "the true figure", Trade: "none", Next: "count at the receiver",
			needs: []clue{first(saw(0.5, "test.report-missing"), fasterThanLine(0.6))},
			clues: []clue{saw(0.2, "protocol", "udp")}},
		{ID: "test.tool-bound", Code: "R-MEAS-3",
			Title:  "The measuring program is the limit",
			Ref:    "iperf3 3.16 release notes; esnet/iperf 1870",
			Gain:   "the link's own figure",
			Trade:  "several streams hide what one stream can do",
			Next:   "repeat with two and four streams or processes",
			Levers: []result.Advice{{Lever: "bench.streams", Value: "4"}},
			needs: []clue{
				first(atLeast(0.6, "app.cpu", fullProcess), every(0.6, singleThread(), some(0, "cpu.full-cores")),
					better(0.65, "more-streams", clearly),
					every(0.3, some(0, "cpu.full-cores"), slow(0, "goodput", unfilled)),
					every(0.25, saw(0, "test.tool", "iperf3"), atLeast(0, "link.speed", 10e9), slow(0, "goodput", unfilled)),
				),
			},
			clues:  []clue{every(0.2, singleThread())},
			doubts: []clue{atLeast(0.5, "cpu.softirq", freeCore), saw(0.6, "same", "streams")}},
		{ID: "test.too-short", Code: "R-MEAS-5", Title: "The test is short", Ref: "RFC 6349 3.3", Check: tooShort},
		{ID: "test.storage", Code: "R-MEAS-6", Title: "Storage is in the path", Ref: "raspberrypi/linux issue 301 (practice)",
			Gain:   "the link's own figure",
			Trade:  "memory to memory says nothing of the file service",
			Next:   "repeat from memory to memory",
			Levers: []result.Advice{{Lever: "ftp.store", Value: "memory"}},
			needs:  []clue{saw(0.35, "test.storage")},
			clues:  []clue{ratio(0.6, "goodput", "test.storage-rate", func(x float64) bool { return x > 0.8 && x < 1.2 })}},
	}
}

// defaultRate holds for the rate that iperf offers when none is given.
func defaultRate(weight float64) clue {
	near := func(x float64) bool { return x > 0.94*defaultUDPRate && x < 1.02*defaultUDPRate }
	return either(weight, compare(weight, "goodput", near), compare(weight, "goodput.tx", near), compare(weight, "goodput.rx", near), compare(weight, "test.offered", near))
}

// fasterThanLine holds where the sender says it sent more than the line takes.
func fasterThanLine(weight float64) clue {
	return ratio(weight, "test.sent", "link.speed", over(overLine))
}

// singleThread holds for tools that serve all streams on one core: iperf3
// before 3.16 does.
func singleThread() clue {
	return clue{[]string{"test.tool", "test.tool-version"}, func(v View) sign {
		major, rest, _ := strings.Cut(v.Word("test.tool-version"), ".")
		minor, _, _ := strings.Cut(rest, ".")
		m, err := strconv.Atoi(minor)
		if v.Word("test.tool") != "iperf3" || major != "3" || err != nil || m >= threadedMinor {
			return sign{}
		}
		return sign{holds: true, texts: []string{"iperf3 " + v.Word("test.tool-version") + " serves all streams on one core"}}
	}}
}

// tooShort doubts figures that slow start and a single pause decide.
func tooShort(v View) (result.Finding, bool) {
	n, counted := v.Sum(result.Bytes)
	short := v.Duration > 0 && v.Duration < shortTest
	if !short && (!counted || n >= fewBytes) {
		return result.Finding{}, false
	}
	f := result.Finding{Verdict: result.Unknown, Confidence: 0.3, Next: "repeat for 10 s or 100 MB"}
	f.Text = "The test is short"
	if v.Duration > 0 {
		f.Text += fmt.Sprintf(": %v", v.Duration)
	}
	if counted {
		f.Text += ", " + result.FormatSize(n)
		f.Evidence = append(f.Evidence, result.Bytes.Of(n))
	}
	f.Gain, f.Trade = "a figure that repeats", "time"
	return f, true
}
