// Package ethtool reads and changes what ethtool(8) does, as files of
// "key: value" lines with ethtool's own keys, through the kernel's generic
// netlink family and, on kernels or drivers without it, through ioctl.
//
// Keys that a driver does not have are left out of a file.
package ethtool

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
)

// ErrUnchanged is wrapped by the error of a write that the driver accepted but
// that reads back otherwise.
var ErrUnchanged = errors.New("accepted, but not in force")

// group is a file whose keys are attributes of one netlink message, and words
// of one array of 32-bit numbers for ioctl.
type group struct {
	name               string
	get, set           uint8  // ETHTOOL_MSG_*
	header             uint16 // its attribute of the header
	ioctlGet, ioctlSet uint32 // ETHTOOL_G*, ETHTOOL_S*
	words              int    // length of ioctl's structure in 32-bit words
	fields             []field
}

// field is one key of a group.
type field struct {
	key  string
	attr uint16 // netlink attribute
	word int    // index in ioctl's structure; 0: ioctl does not have it
	kind kind
	set  bool
}

// kind says how a number is written.
type kind int

const (
	number kind = iota
	onOff       // one byte in netlink
	duplex      // one byte
	hexMask
	dataSplit // one byte
)

func (k kind) oneByte() bool { return k == onOff || k == duplex || k == dataSplit }

func (k kind) show(n uint64) string {
	names := k.names()
	switch {
	case n < uint64(len(names)):
		return names[n]
	case k == onOff:
		return "on"
	case k == duplex:
		return "unknown"
	case k == hexMask:
		return "0x" + strconv.FormatUint(n, 16)
	}
	return strconv.FormatUint(n, 10)
}

func (k kind) names() []string {
	switch k {
	case onOff:
		return []string{"off", "on"}
	case duplex:
		return []string{"half", "full"}
	case dataSplit:
		return []string{"auto", "off", "on"}
	}
	return nil
}

func (k kind) parse(s string) (uint32, error) {
	if names := k.names(); names != nil {
		for i, n := range names {
			if s == n {
				return uint32(i), nil
			}
		}
		return 0, fmt.Errorf("%q: want one of %s", s, strings.Join(names, ", "))
	}
	n, err := strconv.ParseUint(s, 0, 32)
	if err != nil {
		return 0, fmt.Errorf("%q: want a number", s)
	}
	return uint32(n), nil
}

// assignment is one line of a file written.
type assignment struct{ key, value string }

// parseAssignments reads "key: value" lines.
func parseAssignments(s string) ([]assignment, error) {
	var out []assignment
	for line := range strings.Lines(s) {
		line = strings.TrimSpace(line)
		if line == "" {
			continue
		}
		k, v, ok := strings.Cut(line, ":")
		if !ok {
			return nil, fmt.Errorf("%q: want key: value", line)
		}
		out = append(out, assignment{strings.TrimSpace(k), strings.TrimSpace(v)})
	}
	if len(out) == 0 {
		return nil, errors.New("nothing to set: want key: value")
	}
	return out, nil
}

// change is a field with the number it is to take.
type change struct {
	field
	n uint32
}

// changes matches assignments with the fields of a group.
func (g group) changes(as []assignment) ([]change, error) {
	var out []change
	for _, a := range as {
		f, ok := g.field(a.key)
		if !ok || !f.set {
			return nil, fmt.Errorf("%s: not a setting of %s", a.key, g.name)
		}
		n, err := f.kind.parse(a.value)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", a.key, err)
		}
		out = append(out, change{f, n})
	}
	return out, nil
}

func (g group) field(key string) (field, bool) {
	for _, f := range g.fields {
		if f.key == key {
			return f, true
		}
	}
	return field{}, false
}

// value finds a key in the text of a file.
func value(text, key string) (string, bool) {
	for line := range strings.Lines(text) {
		if k, v, ok := strings.Cut(line, ":"); ok && k == key {
			return strings.TrimSpace(v), true
		}
	}
	return "", false
}

// verify compares what a file says after a write with what was asked for.
func verify(text string, as []assignment) error {
	var errs []error
	for _, a := range as {
		got, ok := value(text, a.key)
		switch {
		case !ok:
			errs = append(errs, fmt.Errorf("%s: the driver does not say: %w", a.key, ErrUnchanged))
		case strings.Fields(got + " -")[0] != a.value:
			errs = append(errs, fmt.Errorf("%s: set %s, reads back %s: %w", a.key, a.value, got, ErrUnchanged))
		}
	}
	return errors.Join(errs...)
}
