package facts

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/goccy/go-yaml"

	"github.com/linerate/linerate/result"
)

// maxFile bounds a file of facts, in bytes.
const maxFile = 1 << 20

// Decode reads facts in YAML and makes a Result of origin "imported" of them.
// Keys may be nested or joined by dots. An unknown key or a value of the wrong
// kind is an error that says what is wanted; all of them are reported at once.
func Decode(r io.Reader) (*result.Result, error) {
	b, err := io.ReadAll(io.LimitReader(r, maxFile+1))
	if err != nil {
		return nil, fmt.Errorf("facts: %w", err)
	}
	if len(b) > maxFile {
		return nil, fmt.Errorf("facts: more than %d bytes", maxFile)
	}
	var doc yaml.MapSlice
	if err := yaml.Unmarshal(b, &doc); err != nil {
		return nil, fmt.Errorf("facts: %s", strings.TrimSpace(yaml.FormatError(err, false, true)))
	}
	d := decoder{r: &result.Result{Origin: result.Imported, Ending: result.Completed,
		Workload: result.Workload{Kind: "facts"}, Ends: []result.End{{Role: "dut", Facts: map[string]string{}}}}}
	d.tree("", doc)
	if len(d.errs) > 0 {
		return nil, fmt.Errorf("facts: %w", errors.Join(d.errs...))
	}
	if len(d.r.Totals) == 0 {
		return nil, errors.New("facts: none given; 'linerate explain --facts-help' lists what there is to tell")
	}
	return d.r, nil
}

type decoder struct {
	r    *result.Result
	errs []error
}

func (d *decoder) fail(format string, args ...any) {
	d.errs = append(d.errs, fmt.Errorf(format, args...))
}

func (d *decoder) tree(prefix string, doc yaml.MapSlice) {
	for _, item := range doc {
		key := prefix + fmt.Sprint(item.Key)
		if sub, ok := item.Value.(yaml.MapSlice); ok {
			d.tree(key+".", sub)
			continue
		}
		if sub, ok := item.Value.(map[string]any); ok { // what yaml makes of a map within a map
			for _, k := range sortedKeys(sub) {
				d.tree(key+".", yaml.MapSlice{{Key: k, Value: sub[k]}})
			}
			continue
		}
		f, ok := Find(key)
		switch {
		case !ok:
			d.fail("%s: no such fact%s", key, near(key))
		case item.Value == nil:
			d.fail("%s: no value; leave it out where it is not known", key)
		default:
			d.fact(f, item.Value)
		}
	}
}

func sortedKeys(m map[string]any) []string {
	var keys []string
	for k := range m {
		keys = append(keys, k)
	}
	slices.Sort(keys)
	return keys
}

// fact files one value.
func (d *decoder) fact(f Fact, v any) {
	switch {
	case f.Key == "test.duration":
		s, err := f.Parse(text(v))
		if err != nil {
			d.errs = append(d.errs, err)
		}
		d.r.Duration = time.Duration(s * float64(time.Second))
	case f.Kind == Count && text(v) == Some:
		d.add(f.Seen(Some, true))
	case f.Number():
		n, err := f.Parse(text(v))
		if err != nil {
			d.errs = append(d.errs, err)
			return
		}
		d.add(f.Of(n))
		if (f.Metric == result.TCPRwndLimited || f.Metric == result.TCPSndbufLimited) && !d.has(result.TCPBusy) {
			d.add(result.TCPBusy.Of(1)) // a share of one second
		}
	case f.Kind == Flag:
		holds, ok := parseFlag(text(v))
		if !ok {
			d.fail("%s %v: want yes or no", f.Key, v)
		}
		d.add(f.Seen("yes", holds))
	case f.Kind == Text:
		d.r.Ends[0].Facts[f.Key] = text(v)
		d.add(f.Seen(text(v), true))
	default:
		d.words(f, v)
	}
}

// words files what a Choice or a List says.
func (d *decoder) words(f Fact, v any) {
	var said []string
	if many, ok := v.([]any); ok {
		for _, x := range many {
			said = append(said, text(x))
		}
	} else {
		for s := range strings.SplitSeq(text(v), ",") {
			said = append(said, strings.TrimSpace(s))
		}
	}
	if f.Kind == Choice && len(said) != 1 {
		d.fail("%s: want one of %s", f.Key, strings.Join(f.Values, ", "))
		return
	}
	for _, s := range said {
		if !slices.Contains(f.Values, s) {
			d.fail("%s %q: want %s %s", f.Key, s, f.Kind, strings.Join(f.Values, ", "))
			continue
		}
		d.add(f.Seen(s, true))
	}
}

func (d *decoder) add(v result.Value) { d.r.Totals = append(d.r.Totals, v) }

func (d *decoder) has(m result.Metric) bool {
	_, ok := result.Get(d.r.Totals, m)
	return ok
}

// text writes a YAML scalar as it was meant: YAML takes on and off, yes and no
// for truth values where the field's own words are.
func text(v any) string {
	switch x := v.(type) {
	case bool:
		if x {
			return "on"
		}
		return "off"
	case float64:
		return fmt.Sprintf("%v", x)
	}
	return strings.TrimSpace(fmt.Sprint(v))
}

func parseFlag(s string) (holds, ok bool) {
	switch strings.ToLower(s) {
	case "yes", "true", "on", "1":
		return true, true
	case "no", "false", "off", "0":
		return false, true
	}
	return false, false
}

// near names keys that were perhaps meant.
func near(key string) string {
	last := key[strings.LastIndexByte(key, '.')+1:]
	var some []string
	for _, f := range Table() {
		if strings.Contains(f.Key, last) || len(last) > 3 && strings.Contains(f.Key, last[:len(last)-1]) {
			some = append(some, f.Key)
		}
	}
	slices.SortStableFunc(some, func(a, b string) int { return cmp.Compare(len(a), len(b)) })
	if len(some) == 0 {
		return "; 'linerate explain --facts-help' lists them"
	}
	return "; perhaps " + strings.Join(some[:min(len(some), 4)], ", ")
}
