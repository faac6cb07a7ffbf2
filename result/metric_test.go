package result

import (
	"go/ast"
	"go/parser"
	"go/token"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// declared reads the metric_*.go files and returns the names of all metrics
// declared in them, by variable.
func declared(t *testing.T) map[string]string {
	t.Helper()
	files, err := filepath.Glob("metric_*.go")
	if err != nil || len(files) == 0 {
		t.Fatalf("no metric files: %v", err)
	}
	out := map[string]string{}
	for _, name := range files {
		f, err := parser.ParseFile(token.NewFileSet(), name, nil, 0)
		if err != nil {
			t.Fatal(err)
		}
		ast.Inspect(f, func(n ast.Node) bool {
			spec, ok := n.(*ast.ValueSpec)
			if !ok {
				return true
			}
			for i, v := range spec.Values {
				lit, ok := v.(*ast.CompositeLit)
				if !ok || len(lit.Elts) == 0 {
					continue
				}
				if id, ok := lit.Type.(*ast.Ident); !ok || id.Name != "Metric" {
					continue
				}
				first, ok := lit.Elts[0].(*ast.BasicLit)
				if !ok {
					t.Errorf("%s: %s: want a row of literals, the name first", name, spec.Names[i].Name)
					continue
				}
				out[spec.Names[i].Name], err = strconv.Unquote(first.Value)
				if err != nil {
					t.Fatal(err)
				}
			}
			return true
		})
	}
	return out
}

// TestMetricsListed finds a metric that was declared and forgotten in its
// group: nothing could look it up.
func TestMetricsListed(t *testing.T) {
	vars := declared(t)
	for name, metric := range vars {
		if _, ok := Lookup(metric); !ok {
			t.Errorf("%s (%s) is declared but not listed by Metrics", name, metric)
		}
	}
	if len(vars) != len(Metrics()) {
		t.Errorf("%d metrics declared, %d listed", len(vars), len(Metrics()))
	}
}

func TestMetricRows(t *testing.T) {
	// https://prometheus.io/docs/concepts/data_model/ without the colon, which
	// is reserved for recording rules.
	valid := regexp.MustCompile(`^[a-z][a-z0-9_]*$`)
	var names []string
	for _, m := range Metrics() {
		if !valid.MatchString(m.Name) {
			t.Errorf("%s: not a name that Prometheus takes", m.Name)
		}
		if slices.Contains(names, m.Name) {
			t.Errorf("%s: declared twice", m.Name)
		}
		names = append(names, m.Name)
		if m.Kind != Counter && m.Kind != Gauge {
			t.Errorf("%s: kind %q", m.Name, m.Kind)
		}
		if strings.HasSuffix(m.Name, "_total") != (m.Kind == Counter) {
			t.Errorf("%s: a %s; counters, and only they, end in _total", m.Name, m.Kind)
		}
		if m.Unit == "" || m.Heading() == "" {
			t.Errorf("%s: unit %q, head %q", m.Name, m.Unit, m.Heading())
		}
		if !strings.HasSuffix(m.Help, ".") || strings.ContainsAny(m.Help, "\n|") {
			t.Errorf("%s: help %q: want one sentence", m.Name, m.Help)
		}
	}
}

func TestLookup(t *testing.T) {
	if m, ok := Lookup("goodput_bits_per_second"); !ok || m != Goodput {
		t.Errorf("got %+v, %v", m, ok)
	}
	if m, ok := Lookup("goodput"); ok {
		t.Errorf("found %+v under a name that no metric has", m)
	}
	if n := testing.AllocsPerRun(100, func() { Lookup(Goodput.Name) }); n != 0 {
		t.Errorf("%v allocations a look-up, want 0", n)
	}
}
