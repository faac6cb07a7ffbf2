package explain

import (
	"fmt"

	"github.com/linerate/linerate/result"
)

// busRules judge what lies behind the port: bus, MAC and bundles of links.
func busRules() []Rule {
	return []Rule{
		{ID: "link.bus-ceiling", Code: "R-LINK-6",
			Group: Link,
			Title: "The bus or MAC behind the port is the limit",
			Ref:   "PCI Express Base Specification 3; raspberry-pi-pcie-devices 3",
			Gain:  "none by settings: it is the hardware's ceiling",
			Trade: "another slot, NIC or board",
			Next:  "raise the load, then the streams, then turn the direction: a ceiling does not move",
			needs: []clue{
				first(nearBusLimit(0.7), busBelowLine(0.55), saw(0.55, "same", "ports"),
					every(0.45, saw(0, "same", "load"), saw(0, "same", "streams", "direction")),
					every(0.3, saw(0, "same", "load", "streams")),
				),
			},
			clues: []clue{saw(0.2, "same", "streams"), saw(0.1, "same", "direction"), better(0, "one-port", 0)},
			doubts: []clue{
				better(0.8, "faster-clock", somewhat), better(0.7, "more-streams", clearly), better(0.6, "larger-mtu", clearly),
				better(0.8, "other-peer", clearly), atLeast(0.5, "cpu.busiest", fullCore), atLeast(0.5, "app.cpu", fullProcess),
				slow(0.8, "goodput", nearDead),
			},
		},
		{ID: "link.aspm", Code: "R-PCI-1",
			Group: Link,
			Title: "PCIe power saving delays the NIC's reads of memory",
			Ref:   "PCI Express Base Specification 5.4; pcie_aspm",
			Gain:  "no missed frames at wake-up of the bus", Trade: "some watts", Next: "boot with pcie_aspm=off and compare",
			Levers: []result.Advice{{Lever: "module.pcie_aspm.policy", Value: "performance"}},
			needs:  []clue{first(saw(0.45, "bus.aspm", "on"), every(0.3, saw(0, "bus.kind", "pcie"), receiveOnly(0)), every(0.25, receiveOnly(0), quick()))},
			clues: []clue{
				receiveOnly(0.35), some(0.3, "drops.ring"), some(0.2, "drops.fifo"), some(0.2, "drops.rx"),
				saw(0.25, "tcp.stops"), saw(0.15, "works", "pause-on"),
			},
			doubts: []clue{saw(0.8, "bus.aspm", "off"), saw(0.9, "bus.kind", "usb2", "usb3", "other"), saw(0.5, "works", "lower-speed"), saw(0.5, "link.virtual")}},
		{ID: "link.one-member", Code: "R-BOND-1",
			Group:  Link,
			Title:  "One flow uses one link of the bundle",
			Ref:    "IEEE 802.1AX 5.2.4; linux networking/bonding",
			Gain:   "the sum of the members, for several flows",
			Trade:  "none: one flow keeps its order and its link",
			Next:   "repeat with several flows",
			Levers: []result.Advice{{Lever: "bond.xmit_hash_policy", Value: "layer3+4"}},
			needs:  []clue{saw(0.45, "link.bond")},
			clues:  []clue{compare(0.3, "test.streams", under(1)), better(0.4, "more-streams", clearly), oneMember(0.4)}},
	}
}

// oneMember holds where goodput is about what one link of a bundle carries.
func oneMember(weight float64) clue {
	like := func(x float64) bool { return x > 0.75 && x < 1.05 }
	return either(weight, ratio(0, "goodput", "compared.one-port", like), ratio(0, "goodput", "link.speed", like))
}

// busLimit is what the bus carries of payload, by the vendor's figure or by
// generation and lanes.
func busLimit(v View) (float64, string, bool) {
	if n, ok := v.Number("bus.limit"); ok {
		return n, "the bus or MAC", true
	}
	if v.Word("bus.kind") == "usb2" {
		return usb2Payload, "USB 2", true
	}
	gen, ok1 := v.Number("bus.pcie-generation")
	lanes, ok2 := v.Number("bus.pcie-lanes")
	if !ok1 || !ok2 {
		return 0, "", false
	}
	lane, ok := map[int]float64{1: 2e9, 2: 4e9, 3: 7.877e9, 4: 15.754e9, 5: 31.508e9}[int(gen)] // after 8b/10b or 128b/130b
	return lane * lanes * pciePayload, fmt.Sprintf("PCIe %.0f x%.0f", gen, lanes), ok
}

func busClue(weight float64, say string, holds func(v View, limit float64) bool) clue {
	return clue{[]string{"bus.kind", "bus.limit", "bus.pcie-generation", "bus.pcie-lanes", "goodput", "link.speed"}, func(v View) sign {
		limit, name, ok := busLimit(v)
		if !ok || !holds(v, limit) {
			return sign{}
		}
		return sign{true, weight, []string{fmt.Sprintf("%s carries about %s%s", name, result.FormatBits(limit), say)}, []result.Value{result.BusLimit.Of(limit)}}
	}}
}

// nearBusLimit holds where goodput is about what the bus carries.
func nearBusLimit(weight float64) clue {
	return busClue(weight, ", and no more is seen", func(v View, limit float64) bool {
		got, ok := v.Goodput()
		return ok && got > 0.75*limit && got < 1.15*limit
	})
}

// busBelowLine holds where the bus cannot carry what the line does, and goodput
// is not far below that.
func busBelowLine(weight float64) clue {
	return busClue(weight, ", less than the line", func(v View, limit float64) bool {
		line, ok := v.Get(result.LineLimit)
		got, known := v.Goodput()
		return ok && limit < line && (!known || got > 0.5*limit)
	})
}

// quick holds for links of a gigabit and more, whose NICs mostly sit on PCIe.
func quick() clue { return atLeast(0, "link.speed", 1e9) }
