// Package qdisc reads what the queueing disciplines of interfaces dropped and
// handed back, and what a token bucket shapes them to.
package qdisc

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"strconv"
	"strings"

	"github.com/linerate/linerate/internal/host"
	"github.com/linerate/linerate/result"
)

// Meter reads the root disciplines of interfaces.
type Meter struct {
	Host       host.Host
	Interfaces []string
	Sends      bool // payload leaves by them: a shaper is the line of this test
}

// Name returns "qdisc".
func (Meter) Name() string { return "qdisc" }

// Read returns drops and requeues as result.NetworkCounter ("QdiscDrops",
// "QdiscRequeues"), and where a sender is shaped the rate that leaves of its line
// as result.LineRate of end "sender". A host that does not tell, such as
// a recorded one, has no values.
func (m Meter) Read(context.Context) ([]result.Value, error) {
	var vs []result.Value
	for _, ifname := range m.Interfaces {
		b, err := fs.ReadFile(m.Host, "qdisc/"+ifname+"/stats")
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return nil, fmt.Errorf("qdisc: %w", err)
		}
		for line := range strings.Lines(string(b)) {
			key, text, _ := strings.Cut(line, ":")
			counter, ok := map[string]string{"drops": "QdiscDrops", "requeues": "QdiscRequeues"}[key]
			if n, err := strconv.ParseUint(strings.TrimSpace(text), 10, 64); ok && err == nil {
				vs = append(vs, result.NetworkCounter.Of(float64(n), "counter", counter, "interface", ifname))
			}
		}
		if b, err := fs.ReadFile(m.Host, "qdisc/"+ifname+"/rate"); err == nil && m.Sends {
			if rate, err := strconv.ParseFloat(strings.TrimSpace(string(b)), 64); err == nil && rate > 0 {
				vs = append(vs, result.LineRate.Of(rate, "end", "sender", "interface", ifname))
			}
		}
	}
	return vs, nil
}
