package report

import (
	"bufio"
	"fmt"
	"io"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/linerate/linerate/result"
)

// prefix of every metric name that linerate exposes.
const prefix = "linerate_"

// Exposition writes values in the Prometheus text format, version 0.0.4: one
// family per metric with its HELP and TYPE. A second value of the same metric
// and labels would make the page invalid and is left out.
func Exposition(w io.Writer, vs []result.Value) error {
	families := map[string][]result.Value{}
	var order []string
	for _, v := range vs {
		name := validName(v.Metric)
		if _, seen := families[name]; !seen {
			order = append(order, name)
		}
		families[name] = append(families[name], v)
	}
	out := bufio.NewWriter(w)
	for _, name := range order {
		kind, help := "untyped", "Not in the metric table of this version."
		if m, ok := result.Lookup(families[name][0].Metric); ok {
			kind, help = string(m.Kind), m.Help
		}
		_, _ = fmt.Fprintf(out, "# HELP %s%s %s\n# TYPE %s%s %s\n", prefix, name, escapeHelp(help), prefix, name, kind)
		seen := map[string]bool{}
		for _, v := range families[name] {
			if key := promLabels(v.Labels); !seen[key] {
				seen[key] = true
				_, _ = fmt.Fprintf(out, "%s%s%s %s\n", prefix, name, key, promFloat(v.V))
			}
		}
	}
	return out.Flush()
}

// Prometheus writes what a Result came to as a page for a textfile collector:
// its totals, the last reading of each end, and the medians of its trials.
func Prometheus(w io.Writer, r *result.Result) error {
	var vs []result.Value
	with := func(v result.Value, more map[string]string) {
		l := map[string]string{}
		for k, s := range more {
			if s != "" {
				l[k] = s
			}
		}
		maps.Copy(l, v.Labels)
		v.Labels = l
		vs = append(vs, v)
	}
	for _, v := range r.Totals {
		with(v, nil)
	}
	last := map[string]result.Reading{}
	for _, rd := range r.Readings {
		last[rd.End] = rd
	}
	for _, end := range sortedKeys(last) {
		for _, v := range last[end].Values {
			with(v, map[string]string{"end": end})
		}
	}
	for _, g := range gather(r.Trials) {
		l := maps.Clone(g.params)
		if l == nil {
			l = map[string]string{}
		}
		l["trial"] = g.name
		for _, f := range g.figures() {
			f.value.V = result.Summarize(f.vs).Median
			with(f.value, l)
		}
	}
	return Exposition(w, vs)
}

// validName keeps to [a-zA-Z_:][a-zA-Z0-9_:]*; the prefix supplies the first.
func validName(s string) string {
	return strings.Map(func(r rune) rune {
		if r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || r == '_' {
			return r
		}
		return '_'
	}, s)
}

// promLabels writes {name="value",...} with the escapes of the format. Names
// that become equal once they are valid keep their first value.
func promLabels(m map[string]string) string {
	var parts, used []string
	for _, k := range sortedKeys(m) {
		name := validName(k)
		if name == "" || name[0] >= '0' && name[0] <= '9' {
			name = "_" + name
		}
		if slices.Contains(used, name) {
			continue
		}
		used = append(used, name)
		value := strings.NewReplacer(`\`, `\\`, "\n", `\n`, `"`, `\"`).Replace(strings.ToValidUTF8(m[k], "\uFFFD"))
		parts = append(parts, name+`="`+value+`"`)
	}
	if len(parts) == 0 {
		return ""
	}
	return "{" + strings.Join(parts, ",") + "}"
}

func escapeHelp(s string) string { return strings.NewReplacer(`\`, `\\`, "\n", `\n`).Replace(s) }

// promFloat writes NaN, +Inf and -Inf as the format spells them.
func promFloat(v float64) string { return strconv.FormatFloat(v, 'g', -1, 64) }
