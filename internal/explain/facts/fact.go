// Package facts is the vocabulary in which a person describes a board on which
// this program does not run: settings, counters and symptoms by name, each of
// which becomes a value of a Result.
//
// The table is the only list: the reader, the help page, the documentation and
// the rules all go by it.
package facts

import (
	"slices"
	"sync"

	"github.com/linerate/linerate/result"
)

// Kind says how the value of a fact is written.
type Kind string

// The kinds.
const (
	Rate   Kind = "rate"      // "940Mbit/s", "11 MB/s"
	Size   Kind = "size"      // "64KiB", "1500"
	Time   Kind = "time"      // "356us", "0.6 ms"
	Clock  Kind = "frequency" // "800 MHz"
	Count  Kind = "count"     // "12", or "some" where it only is known to grow
	Share  Kind = "share"     // "55 %" or 0.55
	Flag   Kind = "yes/no"    // "true", "no"
	Choice Kind = "one of"    // one of Values
	List   Kind = "some of"   // any of Values
	Text   Kind = "text"
)

// Some is what a Count says that is known to grow, but not how much.
const Some = "some"

// Fact is one thing that can be told of a link or its ends.
type Fact struct {
	Key    string // "link.speed"
	Kind   Kind
	Values []string // what a Choice or a List may say
	Help   string

	// Metric and Labels are what a number becomes. What is no number becomes
	// result.Observed with the labels fact and value.
	Metric result.Metric
	Labels []string
}

// Number reports whether the fact is a quantity.
func (f Fact) Number() bool {
	return slices.Contains([]Kind{Rate, Size, Time, Clock, Count, Share}, f.Kind)
}

// Of makes the value of a number.
func (f Fact) Of(v float64) result.Value { return f.Metric.Of(v, f.Labels...) }

// Seen makes the value of a choice, a list's item or a text; of a flag, value
// is "yes".
func (f Fact) Seen(value string, holds bool) result.Value {
	v := 0.0
	if holds {
		v = 1
	}
	return result.Observed.Of(v, "fact", f.Key, "value", value)
}

// Find returns the fact with this key.
func Find(key string) (Fact, bool) {
	f, ok := byKey()[key]
	return f, ok
}

// byKey indexes the table once: rules look up every fact they need.
var byKey = sync.OnceValue(func() map[string]Fact {
	index := map[string]Fact{}
	for _, f := range Table() {
		index[f.Key] = f
	}
	return index
})
