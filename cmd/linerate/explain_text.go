package main

import (
	"cmp"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/linerate/linerate/internal/explain"
	"github.com/linerate/linerate/internal/explain/facts"
	"github.com/linerate/linerate/result"
)

// text shows the explanations of r, best first.
func (o *explainOptions) text(w io.Writer, r *result.Result) error {
	var b strings.Builder
	for _, e := range r.Ends {
		if board := cmp.Or(e.Facts["board"], e.Host); board != "" {
			fmt.Fprintf(&b, "%s\n", board)
		}
	}
	shown := explain.Hypotheses(r.Findings)
	if len(shown) == 0 && len(r.Findings) > 0 { // undecided, and perhaps what does not limit
		shown = r.Findings[:1]
	}
	shown, also := onceEach(shown)
	below := slices.ContainsFunc(r.Findings, func(f result.Finding) bool { return f.Rule == "line.at-rate" && f.Verdict != result.Limits })
	if len(shown) > 0 && shown[0].Rule == "line.at-rate" && !below {
		b.WriteString("At line rate: stop. What follows can only matter for other figures than goodput.\n")
	}
	for i, f := range shown[:min(o.top, len(shown))] {
		if i == 0 {
			b.WriteString("\n")
		}
		showFinding(&b, fmt.Sprintf("%d.", i+1), f, also[f.Rule])
	}
	if rest := len(shown) - o.top; rest > 0 {
		fmt.Fprintf(&b, "%d more: --top %d\n", rest, len(shown))
	}
	cleared := 0
	for _, f := range r.Findings {
		if f.Verdict != result.DoesNotLimit {
			continue
		}
		if cleared++; o.all {
			if cleared == 1 {
				b.WriteString("\nWhat does not limit\n")
			}
			writeWrapped(&b, "  ", f.Code, f.Rule+": "+trialText(f)+f.Text)
		}
	}
	if cleared > 0 && !o.all {
		fmt.Fprintf(&b, "%d do not limit: --all\n", cleared)
	}
	for _, g := range r.Gaps {
		writeWrapped(&b, "", "not read", g.Source+": "+g.Reason)
	}
	_, err := io.WriteString(w, b.String())
	return err
}

// onceEach keeps of the findings of one rule in several trials the surest, the
// surest rule first, and names the other trials.
func onceEach(fs []result.Finding) (kept []result.Finding, also map[string][]string) {
	also = map[string][]string{}
	trials := map[string]bool{}
	for _, f := range fs {
		trials[f.Trial] = true
		i := slices.IndexFunc(kept, func(k result.Finding) bool { return k.Rule == f.Rule })
		switch {
		case i < 0:
			kept = append(kept, f)
			continue
		case f.Confidence > kept[i].Confidence:
			f, kept[i] = kept[i], f
		}
		if !slices.Contains(also[f.Rule], f.Trial) && f.Trial != kept[i].Trial {
			also[f.Rule] = append(also[f.Rule], f.Trial)
		}
	}
	if len(trials) > 1 {
		slices.SortStableFunc(kept, func(a, b result.Finding) int { return cmp.Compare(b.Confidence, a.Confidence) })
	}
	return kept, also
}

// showFinding shows one explanation, and the other trials it was seen in.
func showFinding(w io.Writer, place string, f result.Finding, also []string) {
	sure := f.Verdict
	if f.Confidence > 0 {
		sure = fmt.Sprintf("%s, confidence %.0f %%", map[string]string{result.Limits: "limits", result.Unknown: "suspected"}[f.Verdict], 100*f.Confidence)
	}
	fmt.Fprintf(w, "%-3s%s  %s  (%s)\n", place, f.Rule, f.Code, sure)
	writeWrapped(w, "   ", "", trialText(f)+f.Text)
	for _, d := range []struct{ label, text string }{
		{"also in", strings.Join(also, ", ")}, {"evidence", evidenceText(f.Evidence)}, {"against", strings.Join(f.Against, "; ")}, {"turn", adviceText(f.Levers)},
		{"gain", f.Gain}, {"trade", f.Trade}, {"next", f.Next}, {"source", f.Ref},
	} {
		if d.text != "" {
			writeWrapped(w, "   ", d.label, d.text)
		}
	}
	fmt.Fprintln(w)
}

func trialText(f result.Finding) string {
	if f.Trial == "" {
		return ""
	}
	return f.Trial + ": "
}

// evidenceText names figures by their fact where there is one, so that a reader
// can look them up and correct them.
func evidenceText(vs []result.Value) string {
	var parts []string
	for _, v := range vs {
		m, _ := result.Lookup(v.Metric)
		switch {
		case v.Metric == result.Observed.Name:
			parts = append(parts, v.Labels["fact"]+" "+v.Labels["value"])
		case v.Unit == "bit/s":
			parts = append(parts, m.Heading()+" "+result.FormatRate(v.V))
		default:
			parts = append(parts, facts.Describe(v))
		}
	}
	return strings.Join(parts, ", ")
}

// adviceText lists levers in the spelling that 'tune apply' takes.
func adviceText(as []result.Advice) string {
	var parts []string
	for _, a := range as {
		s := a.Lever + "=" + a.Value
		if a.End != "" {
			s += " (" + a.End + ")"
		}
		parts = append(parts, s)
	}
	return strings.Join(parts, ", ")
}

// writeWrapped writes a labelled text of at most a hundred columns.
func writeWrapped(w io.Writer, indent, label, text string) {
	const width = 100
	head := indent
	if label != "" {
		head += fmt.Sprintf("%-10s", label)
	}
	line := head
	for _, word := range strings.Fields(text) {
		if len(line)+len(word)+1 > width && strings.TrimSpace(line) != "" {
			fmt.Fprintln(w, strings.TrimRight(line, " "))
			line = strings.Repeat(" ", len(head))
		}
		line += word + " "
	}
	fmt.Fprintln(w, strings.TrimRight(line, " "))
}
