package ethtool

import (
	"encoding/binary"
	"fmt"
	"path"
	"strings"

	"github.com/linerate/linerate/internal/host/netlink"
)

// features are an interface's offloads: what is on, what was asked for, and
// what can be changed.
type features struct {
	names          []string // in the kernel's order
	active, wanted map[string]bool
	changeable     map[string]bool
}

// alias is a short name of ethtool -K for one or several features.
type alias struct{ name, pattern string }

func aliases() []alias {
	return []alias{
		{"rx", "rx-checksum"}, {"tx", "tx-checksum-*"}, {"sg", "tx-scatter-gather*"}, {"tso", "tx-tcp*-segmentation"},
		{"gso", "tx-generic-segmentation"}, {"gro", "rx-gro"}, {"lro", "rx-lro"}, {"rxvlan", "rx-vlan-hw-parse"},
		{"txvlan", "tx-vlan-hw-insert"}, {"ntuple", "rx-ntuple-filter"}, {"rxhash", "rx-hashing"},
	}
}

// match lists the features that a key, short or full, stands for.
func (f features) match(key string) []string {
	pattern := key
	for _, a := range aliases() {
		if a.name == key {
			pattern = a.pattern
		}
	}
	var out []string
	for _, name := range f.names {
		if ok, _ := path.Match(pattern, name); ok {
			out = append(out, name)
		}
	}
	return out
}

// text writes the short names, each on where one of its features is, then
// every feature. "[fixed]" marks what cannot be changed, "[requested on]" what
// another setting holds back.
func (f features) text() string {
	var out strings.Builder
	for _, a := range aliases() {
		if of := f.match(a.name); len(of) > 0 {
			fmt.Fprintf(&out, "%s: %s\n", a.name, f.state(of))
		}
	}
	for _, name := range f.names {
		fmt.Fprintf(&out, "%s: %s\n", name, f.state([]string{name}))
	}
	return out.String()
}

func (f features) state(of []string) string {
	on, wanted, changeable := false, false, false
	for _, name := range of {
		on = on || f.active[name]
		wanted = wanted || f.wanted[name]
		changeable = changeable || f.changeable[name]
	}
	s := onOff.show(0)
	if on {
		s = onOff.show(1)
	}
	switch {
	case !changeable:
		s += " [fixed]"
	case on != wanted:
		s += " [requested " + onOff.show(map[bool]uint64{true: 1}[wanted]) + "]"
	}
	return s
}

// want resolves assignments to features and the state each is to take.
func (f features) want(as []assignment) (map[string]bool, error) {
	out := map[string]bool{}
	for _, a := range as {
		n, err := onOff.parse(a.value)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", a.key, err)
		}
		of := f.match(a.key)
		if len(of) == 0 {
			return nil, fmt.Errorf("%s: no such feature", a.key)
		}
		some := false
		for _, name := range of {
			if f.changeable[name] {
				out[name], some = n == 1, true
			}
		}
		if !some && f.state(of) != a.value+" [fixed]" {
			return nil, fmt.Errorf("%s: %s: %w", a.key, f.state(of), ErrUnchanged)
		}
	}
	return out, nil
}

// Attributes of a bit set (ethtool-netlink, "Bit sets").
const (
	bitsetNoMask = 1
	bitsetBits   = 3
	bitsetBit    = 1
	bitName      = 2
	bitValue     = 3
)

// parseBitset reads a bit set with names: every bit it lists, and those set.
func parseBitset(b []byte, order binary.ByteOrder) (names []string, set map[string]bool) {
	set = map[string]bool{}
	listed := false // without a mask only set bits are listed
	for typ, v := range netlink.Attributes(b, order) {
		switch typ {
		case bitsetNoMask:
			listed = true
		case bitsetBits:
			for typ, bit := range netlink.Attributes(v, order) {
				if typ != bitsetBit {
					continue
				}
				name, value := "", listed
				for typ, v := range netlink.Attributes(bit, order) {
					switch typ {
					case bitName:
						name = netlink.String(v)
					case bitValue:
						value = true
					}
				}
				if name == "" {
					continue // a bit without a meaning yet
				}
				names = append(names, name)
				if value {
					set[name] = true
				}
			}
		}
	}
	return names, set
}
