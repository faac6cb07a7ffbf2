package host

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"slices"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/linerate/linerate/internal/host/netlink"
)

// qdiscs is the tree below qdisc/: the root queueing discipline of each
// interface (tc(8)): root, which can be replaced, stats, and rate where it
// shapes.
type qdiscs struct{}

// Attributes of struct tcmsg messages (linux/rtnetlink.h) and of the
// disciplines (linux/pkt_sched.h).
const (
	tcmsgLen   = 20
	tcaKind    = 1
	tcaOptions = 2
	tcaStats2  = 7

	statsBasic = 1 // TCA_STATS_BASIC: bytes u64, packets u32
	statsQueue = 3 // TCA_STATS_QUEUE: qlen, backlog, drops, requeues, overlimits

	tbfParams = 1 // TCA_TBF_PARMS
	tbfRate64 = 4 // TCA_TBF_RATE64

	rootParent = 0xffffffff // TC_H_ROOT
)

// option is one parameter of a discipline that can be shown and set.
type option struct {
	name string
	attr uint16 // 0: the whole of TCA_OPTIONS is this number
}

// settable lists the disciplines that can be put back exactly as they were, with
// their parameters.
func settable() map[string][]option {
	return map[string][]option{
		"noqueue": nil, "pfifo_fast": nil, "mq": nil,
		"pfifo": {{"limit", 0}}, "bfifo": {{"limit", 0}},
		"fq":       {{"limit", 1}, {"flow_limit", 2}, {"quantum", 3}, {"initial_quantum", 4}, {"pacing", 5}, {"maxrate_bytes", 7}},
		"fq_codel": {{"target_us", 1}, {"limit", 2}, {"interval_us", 3}, {"ecn", 4}, {"quantum", 6}},
	}
}

func (qdiscs) open(rest string) (fs.File, error) {
	if rest == "" {
		return listLinks("qdisc")
	}
	ifname, leaf, _ := strings.Cut(rest, "/")
	q, err := rootQdisc(ifname)
	if err != nil {
		return nil, err
	}
	switch {
	case leaf == "":
		names := []string{"root", "stats"}
		if _, ok := q.rate(); ok {
			names = append(names, "rate")
		}
		return dir(ifname, entries(names...)), nil
	case leaf == "root":
		return file(rest, []byte(q.String()+"\n")), nil
	case leaf == "stats":
		return file(rest, []byte(q.stats())), nil
	case leaf == "rate":
		if rate, ok := q.rate(); ok {
			return file(rest, fmt.Appendf(nil, "%d\n", rate)), nil
		}
	}
	return nil, fs.ErrNotExist
}

// qdisc is one answer to RTM_GETQDISC.
type qdisc struct {
	kind                  string
	handle                uint32
	options, basic, queue []byte
}

// rootQdisc returns the discipline at the root of an interface.
func rootQdisc(ifname string) (qdisc, error) {
	index, err := interfaceIndex(ifname)
	if err != nil {
		return qdisc{}, err
	}
	c, err := netlink.Dial(unix.NETLINK_ROUTE)
	if err != nil {
		return qdisc{}, err
	}
	defer c.Close()
	msgs, err := c.Request(unix.RTM_GETQDISC, unix.NLM_F_DUMP, tcmsg(index, 0, 0))
	if err != nil {
		return qdisc{}, fmt.Errorf("list qdiscs: %w", err)
	}
	order := binary.NativeEndian
	for _, m := range msgs {
		if len(m.Data) < tcmsgLen || order.Uint32(m.Data[4:]) != index || order.Uint32(m.Data[12:]) != rootParent {
			continue
		}
		q := qdisc{handle: order.Uint32(m.Data[8:])}
		for typ, v := range netlink.Attributes(m.Data[tcmsgLen:], order) {
			switch typ {
			case tcaKind:
				q.kind = netlink.String(v)
			case tcaOptions:
				q.options = v
			case tcaStats2:
				for typ, v := range netlink.Attributes(v, order) {
					switch typ {
					case statsBasic:
						q.basic = v
					case statsQueue:
						q.queue = v
					}
				}
			}
		}
		return q, nil
	}
	return qdisc{kind: "noqueue"}, nil // an interface that has none is not listed
}

// String is the kind and what of its parameters can be set: "pfifo limit 1000".
func (q qdisc) String() string {
	out := q.kind
	for _, o := range settable()[q.kind] {
		if o.attr == 0 {
			if n, ok := netlink.Uint(q.options[:min(4, len(q.options))], binary.NativeEndian); ok {
				out += fmt.Sprintf(" %s %d", o.name, n)
			}
			continue
		}
		for typ, v := range netlink.Attributes(q.options, binary.NativeEndian) {
			if n, ok := netlink.Uint(v, binary.NativeEndian); ok && typ == o.attr {
				out += fmt.Sprintf(" %s %d", o.name, n)
			}
		}
	}
	return out
}

func (q qdisc) stats() string {
	var out strings.Builder
	order := binary.NativeEndian
	if len(q.basic) >= 12 {
		fmt.Fprintf(&out, "bytes: %d\npackets: %d\n", order.Uint64(q.basic), order.Uint32(q.basic[8:]))
	}
	for i, name := range []string{"queued", "backlog", "drops", "requeues", "overlimits"} {
		if len(q.queue) >= 4*(i+1) {
			fmt.Fprintf(&out, "%s: %d\n", name, order.Uint32(q.queue[4*i:]))
		}
	}
	return out.String()
}

// rate is what a token bucket shapes to, as the rate of a line that full frames
// would fill alike, in bit/s: a bucket that counts fewer bytes for each frame
// than the wire does (preamble, FCS, gap: 24, IEEE 802.3 3.1.1) lets more pass.
func (q qdisc) rate() (uint64, bool) {
	if q.kind != "tbf" {
		return 0, false
	}
	const fullFrame, onWire = 1514, 1514 + 24
	rate, overhead := uint64(0), uint64(0)
	order := binary.NativeEndian
	for typ, v := range netlink.Attributes(q.options, order) {
		switch {
		case typ == tbfParams && len(v) >= 12: // struct tc_ratespec: two bytes, overhead, align, mpu, rate
			overhead = uint64(order.Uint16(v[2:]))
			if rate == 0 {
				rate = uint64(order.Uint32(v[8:]))
			}
		case typ == tbfRate64 && len(v) >= 8:
			rate = order.Uint64(v)
		}
	}
	return 8 * rate * onWire / (fullFrame + overhead), rate > 0
}

// write replaces the root: "fq maxrate_bytes 125000000". The one there is must
// be one that can be made again.
func (qdiscs) write(rest, value string) error {
	ifname, leaf, _ := strings.Cut(rest, "/")
	words := strings.Fields(value)
	if leaf != "root" || len(words) == 0 {
		return fmt.Errorf("not a setting: %w", ErrUnsupported)
	}
	now, err := rootQdisc(ifname)
	if err != nil {
		return err
	}
	if _, ok := settable()[now.kind]; !ok {
		return fmt.Errorf("%s has classes or a rate that could not be put back: replace it with tc(8): %w", now.kind, ErrUnsupported)
	}
	options, err := qdiscOptions(words[0], words[1:])
	if err != nil {
		return err
	}
	index, err := interfaceIndex(ifname)
	if err != nil {
		return err
	}
	c, err := netlink.Dial(unix.NETLINK_ROUTE)
	if err != nil {
		return err
	}
	defer c.Close()
	if now.handle != 0 { // one that somebody set, in the way of another kind
		if _, err := c.Request(unix.RTM_DELQDISC, 0, tcmsg(index, 0, rootParent)); err != nil {
			return fmt.Errorf("remove %s: %w", now.kind, err)
		}
	}
	if words[0] == "noqueue" || words[0] == "mq" {
		return nil // what the kernel gives by itself
	}
	attrs := netlink.Attrs(tcmsg(index, 0, rootParent))
	attrs.String(tcaKind, words[0])
	if options != nil {
		attrs.Bytes(tcaOptions, options)
	}
	_, err = c.Request(unix.RTM_NEWQDISC, unix.NLM_F_CREATE|unix.NLM_F_REPLACE, attrs)
	if errors.Is(err, unix.ENOENT) {
		return fmt.Errorf("kernel without qdisc %s: %w", words[0], ErrUnsupported)
	}
	return err
}

// qdiscOptions encodes pairs of a name and a number.
func qdiscOptions(kind string, words []string) ([]byte, error) {
	known, ok := settable()[kind]
	if !ok {
		return nil, fmt.Errorf("qdisc %s: want one of noqueue, pfifo_fast, pfifo, bfifo, fq, fq_codel: %w", kind, ErrUnsupported)
	}
	var out netlink.Attrs
	for len(words) > 0 {
		i := slices.IndexFunc(known, func(o option) bool { return o.name == words[0] })
		if i < 0 || len(words) < 2 {
			return nil, fmt.Errorf("qdisc %s: %q: want a parameter and a number", kind, strings.Join(words, " "))
		}
		n, err := strconv.ParseUint(words[1], 10, 32)
		if err != nil {
			return nil, fmt.Errorf("qdisc %s: %s %q: want a number", kind, words[0], words[1])
		}
		if known[i].attr == 0 {
			out = binary.NativeEndian.AppendUint32(out, uint32(n))
		} else {
			out.Uint32(known[i].attr, uint32(n))
		}
		words = words[2:]
	}
	return out, nil
}

// tcmsg is struct tcmsg.
func tcmsg(index, handle, parent uint32) []byte {
	b := make([]byte, tcmsgLen)
	order := binary.NativeEndian
	order.PutUint32(b[4:], index)
	order.PutUint32(b[8:], handle)
	order.PutUint32(b[12:], parent)
	return b
}

// interfaceIndex returns the number of an interface of the calling thread's
// namespace.
func interfaceIndex(name string) (uint32, error) {
	i, err := net.InterfaceByName(name)
	if err != nil {
		return 0, fmt.Errorf("no interface %s in this network namespace: %w", name, fs.ErrNotExist)
	}
	return uint32(i.Index), nil
}
