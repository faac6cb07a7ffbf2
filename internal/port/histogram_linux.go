package port

import (
	"github.com/cilium/ebpf"

	"github.com/linerate/linerate/internal/wire/frame"
)

// ReadHistogram adds up a histogram of histogram.h over the cores; what cannot
// be read is empty, and N says so.
func ReadHistogram(m *ebpf.Map) frame.Histogram {
	var h frame.Histogram
	var each []uint64
	for b := range frame.Buckets {
		if m.Lookup(uint32(b), &each) != nil {
			return frame.Histogram{}
		}
		for _, n := range each {
			h.AddTo(b, n)
		}
	}
	return h
}
