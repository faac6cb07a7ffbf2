package result

import (
	"slices"
	"strings"
	"sync"
)

// Kind tells how a metric behaves over time.
type Kind string

// The kinds.
const (
	Counter Kind = "counter" // only grows; readers take differences
	Gauge   Kind = "gauge"   // stands for itself
)

// Metric is the definition of a number: declared once, in the metric_*.go
// files, and rendered everywhere (JSON key, Prometheus name, column head,
// docs/terms.md) from there.
type Metric struct {
	Name string // base unit in the name, Prometheus style
	Kind Kind
	Unit string // "bit/s", "frame", "B", "s", "1"
	Head string // column head, short
	Help string // one sentence
	Ref  string // the standard that defines it, if one does
}

// Metrics lists every metric, by group, in order of declaration.
func Metrics() []Metric {
	return slices.Concat(linkMetrics(), hostMetrics(), napiMetrics(), tcpMetrics(), ftpMetrics(), streamMetrics(), captureMetrics(), testerMetrics(), cardMetrics(), fastPathMetrics(), factMetrics(), inspectMetrics())
}

// Lookup finds a metric by name.
func Lookup(name string) (Metric, bool) {
	m, ok := byName()[name]
	return m, ok
}

// byName indexes the table once: readers look up every value they see.
var byName = sync.OnceValue(func() map[string]Metric {
	index := map[string]Metric{}
	for _, m := range Metrics() {
		index[m.Name] = m
	}
	return index
})

// Heading returns the column head, made from the name where none is declared.
func (m Metric) Heading() string {
	if m.Head != "" {
		return m.Head
	}
	return strings.ReplaceAll(m.Name, "_", " ")
}
