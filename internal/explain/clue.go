package explain

import (
	"fmt"
	"maps"
	"math"
	"strings"

	"github.com/linerate/linerate/internal/explain/facts"
	"github.com/linerate/linerate/result"
)

// clue is one thing to look for among the facts of a View. Its weight is how
// far it convinces alone, from 0 to 1: our judgement of how often what it shows
// has this cause, checked against public reports in testdata/cases.
type clue struct {
	facts []string // keys of package facts it looks at
	look  func(View) sign
}

// sign is what a clue found: whether it holds, how far it convinces alone (0 to
// 1), and the figures it rests on.
type sign struct {
	holds    bool
	weight   float64
	texts    []string
	evidence []result.Value
}

// saw holds where the fact was seen: a flag, or one of the words of a choice or
// a list.
func saw(weight float64, key string, words ...string) clue {
	if len(words) == 0 {
		words = []string{"yes"}
	}
	f, _ := facts.Find(key)
	return clue{[]string{key}, func(v View) sign {
		for _, w := range words {
			if holds, _ := v.Seen(key, w); holds {
				text := key + " " + w
				if f.Kind == facts.Flag {
					text = f.Help
				}
				return sign{true, weight, []string{text}, []result.Value{f.Seen(w, true)}}
			}
		}
		return sign{}
	}}
}

// compare holds where a number is known and passes the test; a count of which
// only is known that it grows is taken as large.
func compare(weight float64, key string, passes func(float64) bool) clue {
	f, _ := facts.Find(key)
	return clue{[]string{key}, func(v View) sign {
		n, ok := v.Number(key)
		if grows, _ := v.Seen(key, facts.Some); grows && passes(math.Inf(1)) {
			return sign{true, weight, []string{key + " " + facts.Some}, []result.Value{f.Seen(facts.Some, true)}}
		}
		if !ok || !passes(n) {
			return sign{}
		}
		return sign{true, weight, []string{key + " " + f.Format(n)}, []result.Value{f.Of(n)}}
	}}
}

func atLeast(weight float64, key string, least float64) clue {
	return compare(weight, key, func(x float64) bool { return x >= least })
}

func atMost(weight float64, key string, most float64) clue {
	return compare(weight, key, func(x float64) bool { return x <= most })
}

// some holds where a counter grew. What happens to one frame in a hundred
// thousand convinces half as much.
func some(weight float64, key string) clue {
	grew := compare(weight, key, func(x float64) bool { return x > 0 })
	return clue{grew.facts, func(v View) sign {
		s := grew.look(v)
		n, known := v.Number(key)
		if frames, ok := v.Sum(result.NICFrames, "direction", "rx"); s.holds && known && ok && n < rareEvents*frames {
			s.weight /= 2
		}
		return s
	}}
}

// ratio holds where two numbers are known and their quotient passes the test.
func ratio(weight float64, key, over string, passes func(float64) bool) clue {
	f, _ := facts.Find(key)
	g, _ := facts.Find(over)
	return clue{[]string{key, over}, func(v View) sign {
		a, ok1 := v.Number(key)
		b, ok2 := v.Number(over)
		if !ok1 || !ok2 || b <= 0 || !passes(a/b) {
			return sign{}
		}
		return sign{true, weight, []string{fmt.Sprintf("%s %s to %s %s", key, f.Format(a), over, g.Format(b))}, []result.Value{f.Of(a), g.Of(b)}}
	}}
}

func over(least float64) func(float64) bool { return func(x float64) bool { return x >= least } }
func under(most float64) func(float64) bool { return func(x float64) bool { return x <= most } }

// better holds where goodput with one thing done otherwise is at least so many
// times the goodput in question.
func better(weight float64, with string, least float64) clue {
	key := "compared." + with
	f, _ := facts.Find(key)
	return clue{[]string{key, "goodput"}, func(v View) sign {
		a, ok1 := v.Number(key)
		b, ok2 := v.Goodput()
		if !ok1 || !ok2 || a < least*b {
			return sign{}
		}
		return sign{true, weight, []string{fmt.Sprintf("%s with %s, %s without", result.FormatBits(a), strings.ReplaceAll(with, "-", " "), result.FormatBits(b))},
			[]result.Value{f.Of(a), result.Goodput.Of(b)}}
	}}
}

// slow holds where goodput, or that of one direction ("goodput.rx"), is known
// and at most a share of what the line allows.
func slow(weight float64, key string, share float64) clue {
	return clue{[]string{key, "link.speed"}, func(v View) sign {
		got, ok := v.Number(key)
		if key == "goodput" {
			got, ok = v.Goodput()
		}
		limit, known := v.Get(result.LineLimit)
		if !ok || !known || got > share*limit {
			return sign{}
		}
		return sign{true, weight, []string{fmt.Sprintf("%s %s of %s", key, result.FormatBits(got), result.FormatBits(limit))},
			[]result.Value{result.Goodput.Of(got), result.LineLimit.Of(limit)}}
	}}
}

// every holds where all its clues do; their own weights do not count.
func every(weight float64, clues ...clue) clue {
	return clue{keys(clues), func(v View) sign {
		out := sign{holds: true, weight: weight}
		for _, c := range clues {
			s := c.look(v)
			if !s.holds {
				return sign{}
			}
			out.texts = append(out.texts, s.texts...)
			out.evidence = append(out.evidence, s.evidence...)
		}
		return out
	}}
}

// first holds where any of its clues does, and is worth the first that does.
func first(clues ...clue) clue {
	return clue{keys(clues), func(v View) sign {
		for _, c := range clues {
			if s := c.look(v); s.holds {
				return s
			}
		}
		return sign{}
	}}
}

// either is first with a weight of its own.
func either(weight float64, clues ...clue) clue {
	one := first(clues...)
	return clue{one.facts, func(v View) sign {
		s := one.look(v)
		s.weight = weight
		return s
	}}
}

func keys(clues []clue) []string {
	var out []string
	for _, c := range clues {
		out = append(out, c.facts...)
	}
	return out
}

func same(a, b result.Value) bool { return a.Metric == b.Metric && maps.Equal(a.Labels, b.Labels) }
