package explain

import (
	"maps"
	"slices"
	"strings"

	"github.com/linerate/linerate/internal/explain/facts"
	"github.com/linerate/linerate/internal/wire/frame"
	"github.com/linerate/linerate/result"
)

// Number returns a fact that is a quantity: the sum of a counter over its other
// labels, a gauge as it stands.
func (v View) Number(key string) (float64, bool) {
	f, ok := facts.Find(key)
	if !ok || !f.Number() {
		return 0, false
	}
	if f.Metric.Kind == result.Counter {
		return v.Sum(f.Metric, f.Labels...)
	}
	if len(f.Labels) > 0 {
		return v.Get(f.Metric, f.Labels...)
	}
	for _, x := range v.Values { // a label would make it another fact: "goodput.tx"
		if x.Metric == f.Metric.Name && x.Labels["direction"] == "" && x.Labels["end"] == "" {
			return x.V, true
		}
	}
	return 0, false
}

// Seen reports whether a flag, or a word of a choice or list, was seen, and
// whether the fact is known at all.
func (v View) Seen(key, word string) (holds, known bool) {
	for _, x := range v.Values {
		if x.Metric != result.Observed.Name || x.Labels["fact"] != key {
			continue
		}
		known = true
		if x.Labels["value"] == word && x.V > 0 {
			return true, true
		}
	}
	return false, known
}

// Word returns what a choice or a text says, "" where it is not known.
func (v View) Word(key string) string {
	for _, x := range v.Values {
		if x.Metric == result.Observed.Name && x.Labels["fact"] == key && x.V > 0 {
			return x.Labels["value"]
		}
	}
	return ""
}

// Goodput returns the goodput in question: the least of all directions, each of
// all its streams together.
func (v View) Goodput() (least float64, ok bool) {
	for _, x := range v.Values {
		if x.Metric == result.Goodput.Name && x.Labels["stream"] == "" && (!ok || x.V < least) {
			least, ok = x.V, true
		}
	}
	return least, ok
}

// observe completes a View with the facts that follow from its counters, so
// that rules need not care which of the two they were given.
func observe(v View) View {
	v.Values = slices.Clone(v.Values)
	add := func(key string, n float64, ok bool) {
		f, _ := facts.Find(key)
		if _, known := v.Get(f.Metric, f.Labels...); ok && !known {
			v.Values = append(v.Values, f.Of(n))
		}
	}
	share := func(key string, part, whole result.Metric) {
		n, ok := v.Share(part, whole)
		add(key, n, ok)
	}
	share("irq.packets-per-poll", result.NAPIPackets, result.NAPIPolls)
	share("irq.full-polls", result.NAPIFull, result.NAPIPolls)
	if _, merged := v.merged(); !merged && v.Duration > 0 {
		n, ok := v.Sum(result.DatagramsReceived)
		if !ok {
			n, ok = v.Sum(result.NICFrames, "direction", "rx")
		}
		add("irq.frames", n/v.Duration.Seconds(), ok)
	}
	frames, ok1 := v.Number("irq.frames")
	rate, ok2 := v.Number("irq.rate")
	if ok1 && ok2 && rate > 0 {
		add("irq.packets-per-interrupt", frames/rate, true)
	}
	share("tcp.retransmit-share", result.TCPRetransmits, result.DataSegmentsOut)
	again, ok1 := v.Sum(result.TCPRetransmits)
	bytes, ok2 := v.Sum(result.Bytes)
	if mss, ok := v.Get(result.TCPMSS); ok && ok1 && ok2 && bytes > bulkSegments*mss {
		add("tcp.retransmit-share", again*mss/bytes, true)
	}
	busiest, others, softirq, ok := v.cores()
	add("cpu.busiest", busiest, ok)
	add("cpu.others", others, ok)
	add("cpu.softirq", softirq, ok)
	others, ok = v.otherPrograms()
	add("cpu.other-programs", others, ok)
	v.driver()
	if on, ok := v.oneCore(); ok {
		f, _ := facts.Find("irq.one-core")
		v.Values = append(v.Values, f.Seen("yes", on))
	}
	if drops, ok := v.Sum(result.DatagramsDropped); ok {
		add("drops.socket", drops, true)
	}
	if limit, ok := lineLimit(v); ok {
		if _, known := v.Get(result.LineLimit); !known {
			v.Values = append(v.Values, result.LineLimit.Of(limit))
		}
	}
	return v
}

// cores returns the busy shares of the busiest core and of the next, and the
// busiest core's share in interrupts.
func (v View) cores() (busiest, others, softirq float64, ok bool) {
	if v.Duration <= 0 {
		return 0, 0, 0, false
	}
	busy, irq := v.perCore(), map[string]float64{}
	for _, x := range v.Values {
		if x.Metric == result.CPUSeconds.Name && strings.HasSuffix(x.Labels["mode"], "irq") {
			irq[x.Labels["cpu"]] += x.V / v.Duration.Seconds()
		}
	}
	if len(busy) == 0 {
		return 0, 0, 0, false
	}
	name, share := greatest(busy)
	rest := maps.Clone(busy)
	delete(rest, name)
	_, next := greatest(rest)
	return share, next, min(irq[name], 1), true
}

// otherPrograms returns the greatest share of a full core that user code other
// than the measured program's takes. Time in the kernel is spent for connections
// in whatever program's name, and tells nothing.
func (v View) otherPrograms() (share float64, ok bool) {
	ours, ok := v.Sum(result.ProcessCPU, "mode", "user")
	if !ok || v.Duration <= 0 {
		return 0, false
	}
	busy, known := v.perCore(), false
	for _, x := range v.Values {
		if x.Metric != result.CPUSeconds.Name || x.Labels["mode"] != "user" {
			continue
		}
		if known = true; busy[x.Labels["cpu"]] >= freeCore {
			share = max(share, (x.V-ours)/v.Duration.Seconds())
		}
	}
	return share, known
}

// perCore returns the busy share of each core.
func (v View) perCore() map[string]float64 {
	busy := map[string]float64{}
	for _, x := range v.Values {
		if mode := x.Labels["mode"]; x.Metric == result.CPUSeconds.Name && mode != "idle" && mode != "iowait" {
			busy[x.Labels["cpu"]] += x.V / v.Duration.Seconds()
		}
	}
	return busy
}

// merged returns the mean frame that an interface counted, and whether it is more
// than one frame of a wire: offloads hand on many at once.
func (v View) merged() (mean float64, is bool) {
	bytes, ok1 := v.Sum(result.NICBytes)
	frames, ok2 := v.Sum(result.NICFrames)
	if !ok1 || !ok2 || frames <= 0 {
		return 0, false
	}
	mtu, ok := v.Number("link.mtu")
	if !ok {
		mtu = defaultMTU
	}
	return bytes / frames, bytes/frames > mtu+frame.HeaderBytes
}

// oneCore reports whether one core of several ran almost every receive softirq.
func (v View) oneCore() (on, ok bool) {
	runs := map[string]float64{}
	sum := 0.0
	for _, x := range v.Values {
		if x.Metric == result.Softirqs.Name && x.Labels["softirq"] == "NET_RX" {
			runs[x.Labels["cpu"]] += x.V
			sum += x.V
		}
	}
	if len(runs) < 2 || sum < manySoftirqs {
		return false, false
	}
	name, _ := greatest(runs)
	return runs[name] >= almostAll*sum, true
}

// driver files the statistics of the driver that have a name of their own in
// each: many drivers count what they miss nowhere else.
func (v *View) driver() {
	for _, x := range v.Values {
		if x.Metric != result.NICStat.Name || x.V <= 0 {
			continue
		}
		name := strings.ToLower(x.Labels["stat"])
		has := func(parts ...string) bool {
			return slices.ContainsFunc(parts, func(p string) bool { return strings.Contains(name, p) })
		}
		key := ""
		switch {
		case has("pause", "xoff") && has("tx"):
			key = "pause.tx"
		case has("pause", "xoff") && has("rx"):
			key = "pause.rx"
		case has("late_col"):
			key = "errors.late-collisions"
		case has("crc", "fcs"):
			key = "errors.crc"
		case has("rx") && has("miss", "no_buf", "nobuf", "no_desc", "fifo", "overrun", "discard"):
			key = "drops.ring"
		default:
			continue
		}
		f, _ := facts.Find(key)
		v.Values = append(v.Values, f.Of(x.V))
	}
}

// lineLimit is what the line allows, from its speed, MTU and protocol.
func lineLimit(v View) (float64, bool) {
	speed, ok := v.Number("link.speed")
	if v.Word("link.duplex") == "half" { // collisions leave no firm limit
		return 0, false
	}
	// The sender's own link, or its shaper, may be the slower one.
	if sender, known := v.Get(result.LineRate, "end", "sender"); known && (!ok || sender < speed) {
		speed, ok = sender, true
	}
	if !ok {
		return 0, false
	}
	if n, ok := v.Number("link.ports"); ok && n > 1 {
		speed *= n
	}
	mtu, ok := v.Number("link.mtu")
	if !ok {
		mtu = defaultMTU
	}
	got, _ := v.Goodput()
	stack := frame.Stack{UDP: v.Word("protocol") == "udp", Timestamps: v.Word("tcp.timestamps") != "off"}
	limit := stack.Goodput(speed, int(mtu))
	if v.Word("protocol") != "tcp" && got > limit { // not told, and more than TCP can do
		limit = frame.Stack{UDP: true}.Goodput(speed, int(mtu))
	} else if v.Word("tcp.timestamps") == "" && got > limit {
		limit = frame.Stack{}.Goodput(speed, int(mtu))
	}
	return limit, limit > 0
}
