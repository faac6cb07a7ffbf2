package report

import (
	"bytes"
	"encoding/json"
	"reflect"
	"testing"

	"github.com/linerate/linerate/result"
)

// runs makes one result a goodput, all set up with the same MTU.
func runs(mtu string, goodputs ...float64) []*result.Result {
	var out []*result.Result
	for _, g := range goodputs {
		out = append(out, &result.Result{
			ID: mtu, Origin: result.Measured, Workload: result.Workload{Kind: "tcp_stream"},
			Ends:   []result.End{{Role: "server", Host: "board", Settings: map[string]string{"link.mtu": mtu}}},
			Totals: []result.Value{result.Goodput.Of(g * 1e6)},
		})
	}
	return out
}

func TestDiffVerdicts(t *testing.T) {
	base := runs("1500", 900, 905, 910, 903, 907)
	for _, c := range []struct {
		other []*result.Result
		want  string
		ratio float64
	}{
		{runs("1500", 900, 905, 910, 903, 907), NoneShown, 1},
		{runs("1500", 911, 920, 950), Higher, 920. / 905},
		{runs("1500", 800, 850, 899), Lower, 850. / 905},
		{runs("1500", 800, 850, 900), NoneShown, 850. / 905}, // touching is not apart
		{runs("1500", 1000), TooFew, 1000. / 905},
		{[]*result.Result{{}}, NotInBoth, 0},
	} {
		c0 := Diff([]Set{{"base", base}, {"other", c.other}})
		if len(c0.Rows) != 1 || len(c0.Rows[0].Sides) != 2 {
			t.Fatalf("rows %+v", c0.Rows)
		}
		if got := c0.Rows[0].Sides[1]; got.Verdict != c.want || got.Ratio != c.ratio {
			t.Errorf("%v: verdict %q ratio %v, want %q %v", c.other, got.Verdict, got.Ratio, c.want, c.ratio)
		}
	}
}

func TestDiffSetup(t *testing.T) {
	c := Diff([]Set{{"base", runs("1500", 1, 2)}, {"jumbo", runs("9000", 1)}, {"both", append(runs("9000", 1), runs("1500", 1)...)}})
	want := []Unlike{{What: "server setting link.mtu", Values: []string{"1500", "9000", "1500, 9000"}}}
	if !reflect.DeepEqual(c.Setup, want) {
		t.Errorf("got %+v, want %+v", c.Setup, want)
	}
}

// TestDiffRepeats: repeats within one result count as runs; a figure that only
// one side has is kept.
func TestDiffRepeats(t *testing.T) {
	a, b := sample(t, "ladder"), sample(t, "ladder")
	for i := range b.Trials {
		for j := range b.Trials[i].Values {
			if b.Trials[i].Values[j].Metric == result.Goodput.Name && b.Trials[i].Name == "no copy" {
				b.Trials[i].Values[j].V *= 1.2
			}
		}
	}
	b.Totals = b.Totals[:2]
	c := Diff([]Set{{"a", []*result.Result{a}}, {"b", []*result.Result{b}}})
	verdicts := map[string]int{}
	for _, r := range c.Rows {
		verdicts[r.Sides[1].Verdict]++
		if r.Params["direction"] == "get" && r.Trial == "no copy" && r.Metric == result.Goodput.Name && (r.Sides[0].N != 5 || r.Sides[1].Verdict != Higher) {
			t.Errorf("row %+v", r)
		}
		if _, ok := r.Params["repeat"]; ok {
			t.Errorf("row %+v: repeats are told apart", r)
		}
	}
	if verdicts[Higher] != 2 || verdicts[NotInBoth] != 2 || verdicts[TooFew] != 2 || verdicts[Lower] != 0 {
		t.Errorf("verdicts %v", verdicts)
	}
}

func TestDiffOutput(t *testing.T) {
	c := Diff([]Set{{"before", runs("1500", 900, 905, 910, 903, 907)}, {"after", runs("9000", 980, 990, 985, 988, 981)}})
	var text, doc bytes.Buffer
	if err := c.Text(&text); err != nil {
		t.Fatal(err)
	}
	golden(t, "diff.txt", text.String())
	if err := c.JSON(&doc); err != nil {
		t.Fatal(err)
	}
	var back Comparison
	if err := json.Unmarshal(doc.Bytes(), &back); err != nil || !reflect.DeepEqual(back, c) {
		t.Errorf("%v: read back %+v", err, back)
	}
}
