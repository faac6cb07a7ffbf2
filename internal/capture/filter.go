package capture

import (
	"github.com/linerate/linerate/internal/wire/filter"
	"github.com/linerate/linerate/internal/wire/frame"
)

// Filter is an expression of pcap-filter(7), compiled for each kind of link
// that a capture turns out to hold. It isn't safe for use by several
// goroutines.
type Filter struct {
	expression string
	programs   map[uint16]*filter.Program // nil where the expression makes no sense there
	refused    map[uint16]error
	link       uint16 // of the last frame, as most captures have one
	last       *filter.Program
	any        bool
}

// CompileFilter compiles an expression; nil, which matches every frame, where
// it is empty. An expression need make sense on one kind of link only: frames
// of the others are left out then.
func CompileFilter(expression string) (*Filter, error) {
	if expression == "" {
		return nil, nil
	}
	f := &Filter{expression: expression, programs: map[uint16]*filter.Program{}, refused: map[uint16]error{}}
	var first error
	for _, link := range []uint16{frame.LinkEthernet, frame.LinkSLL2, frame.LinkSLL, frame.LinkRaw, frame.LinkNull} {
		_, err := filter.Compile(expression, link)
		if err == nil {
			return f, nil
		}
		if first == nil {
			first = err
		}
	}
	return nil, first
}

// Match reports whether a frame passes. A nil Filter passes all.
func (f *Filter) Match(x *Frame) bool {
	if f == nil {
		return true
	}
	if !f.any || x.Link != f.link {
		f.use(x.Link)
	}
	return f.last != nil && f.last.Match(x.Data, x.Len)
}

// use finds the program for a link.
func (f *Filter) use(link uint16) {
	p, ok := f.programs[link]
	if !ok {
		var err error
		if p, err = filter.Compile(f.expression, link); err != nil {
			f.refused[link] = err
			p = nil
		}
		f.programs[link] = p
	}
	f.link, f.last, f.any = link, p, true
}
