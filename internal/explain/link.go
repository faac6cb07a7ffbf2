package explain

import (
	"fmt"

	"github.com/linerate/linerate/result"
)

// linkRules judge cable, PHY, MAC and the bus behind it.
func linkRules() []Rule {
	return []Rule{
		{ID: "link.below-best", Code: "R-LINK-1", Group: Link, Title: "The link runs below the speed both ends can do", Ref: "IEEE 802.3 28 (practice)",
			Gain: "the ratio of the speeds", Trade: "a bad cable at full speed loses frames instead", Next: "swap the cable, read both ends' modes and downshift counters",
			Levers: []result.Advice{{Lever: "ethtool.link.autoneg", Value: "on"}},
			needs:  []clue{ratio(0.8, "link.speed", "link.speed-max", under(0.99))}},
		{ID: "link.duplex-mismatch", Code: "R-LINK-2", Group: Link, Title: "The ends disagree on duplex", Ref: "IEEE 802.3 28D; RoPieee issue 84",
			Gain: "the full rate without collisions", Trade: "none", Next: "read speed and duplex at both ends, and late collisions at the half-duplex one",
			Levers: []result.Advice{{Lever: "ethtool.link.autoneg", Value: "on", End: "both"}},
			needs:  []clue{either(0, every(0.85, saw(0, "link.duplex", "full"), saw(0, "link.peer-duplex", "half")), every(0.85, saw(0, "link.duplex", "half"), saw(0, "link.peer-duplex", "full")), some(0.6, "errors.late-collisions"), saw(0.45, "link.forced"))},
			clues:  []clue{some(0.4, "errors.late-collisions"), saw(0.3, "link.forced"), some(0.2, "errors.crc"), saw(0.1, "link.flaps")}},
		{ID: "link.signal", Code: "R-LINK-3", Group: Link, Title: "Cable, PHY or clock spoils frames", Ref: "IEEE 802.3 3.2.9; armbian/build 546",
			Gain: "what retransmissions take", Trade: "a delay that suits one board may not suit the next", Next: "swap the cable; then sweep the RGMII delays of each direction and count errors",
			needs:  []clue{either(0, saw(0.75, "varies", "clock-delay"), saw(0.8, "link.clock", "wrong"), errorShare(0.7), some(0.6, "errors.align"), saw(0.7, "works", "other-cable"), saw(0.45, "link.clock", "external"), every(0.4, saw(0, "works", "lower-speed"), lossy1()), every(0.35, saw(0, "link.flaps")))},
			clues:  []clue{saw(0.3, "works", "lower-speed"), saw(0.2, "link.flaps"), some(0.15, "tcp.retransmits"), saw(0.1, "fails", "large-packets")},
			doubts: []clue{compare(0.5, "errors.crc", func(x float64) bool { return x == 0 }), saw(0.3, "drops.on-board"), saw(0.5, "link.forced")}},
		{ID: "link.host-slower", Code: "R-LINK-4", Group: Link, Title: "The host takes frames more slowly than the wire brings them", Ref: "raspberrypi/linux 2996; boundarydevices i-mx6-ethernet",
			Gain: "from the rate of timeouts to that of the bus", Trade: "pause frames stop the sender for all receivers behind one switch port", Next: "run at 100 Mbit/s, or with pause on at both ends, and compare",
			Levers: []result.Advice{{Lever: "ethtool.pause.rx", Value: "on", End: "both"}, {Lever: "ethtool.pause.tx", Value: "on", End: "both"}},
			needs:  []clue{either(0, receiveOnly(0.35), every(0.4, saw(0, "works", "lower-speed"), lossy1()), saw(0.4, "works", "pause-on"), every(0.4, some(0, "drops.fifo"), saw(0, "link.pause", "off")), saw(0.3, "drops.on-board"), betterSlower(0.6))},
			clues:  []clue{saw(0.35, "works", "lower-speed"), some(0.2, "drops.fifo"), saw(0.25, "link.pause", "off"), saw(0.3, "varies", "load"), saw(0.25, "drops.on-board"), saw(0.2, "works", "tx"), saw(0.3, "bus.kind", "usb2")},
			doubts: []clue{saw(0.4, "bus.aspm", "on"), saw(0.6, "varies", "clock-delay"), saw(0.6, "link.clock", "wrong"), saw(0.3, "link.phy-driver", "wrong", "generic"), saw(0.5, "link.virtual")}},
		{ID: "link.energy-efficient", Code: "R-LINK-5", Group: Link, Title: "Energy-efficient Ethernet puts the link to sleep", Ref: "IEEE 802.3 78; raspberrypi/linux 4289",
			Gain: "no drops and delays at wake-up", Trade: "some tenths of a watt", Next: "switch it off and repeat",
			Levers: []result.Advice{{Lever: "ethtool.eee.eee", Value: "off"}},
			needs:  []clue{either(0, saw(0.5, "link.eee", "active"), saw(0.25, "link.eee", "enabled"))},
			clues:  []clue{either(0.35, saw(0, "drops.seen"), saw(0, "link.flaps"), saw(0, "tcp.stops"), some(0, "drops.rx"), saw(0, "varies", "runs", "load")), some(0.1, "tcp.retransmits")}},
		{ID: "link.bus-ceiling", Code: "R-LINK-6", Group: Link, Title: "The bus or MAC behind the port is the limit", Ref: "PCI Express Base Specification 3; raspberry-pi-pcie-devices 3",
			Gain: "none by settings: it is the hardware's ceiling", Trade: "another slot, NIC or board", Next: "raise the load, then the streams, then turn the direction: a ceiling does not move",
			needs:  []clue{either(0, nearBusLimit(0.7), busBelowLine(0.55), saw(0.55, "same", "ports"), every(0.45, saw(0, "same", "load"), saw(0, "same", "streams", "direction")), every(0.3, saw(0, "same", "load", "streams")))},
			clues:  []clue{saw(0.2, "same", "streams"), saw(0.1, "same", "direction"), better(0, "one-port", 0)},
			doubts: []clue{better(0.8, "faster-clock", 1.1), better(0.7, "more-streams", 1.2), better(0.6, "larger-mtu", 1.15), better(0.8, "other-peer", 1.2), atLeast(0.5, "cpu.busiest", fullCore), atLeast(0.5, "app.cpu", fullProcess), slow(0.8, "goodput", 0.02)}},
		{ID: "link.peer", Code: "R-LINK-7", Group: Link, Title: "The far end, its adapter or its cable is the limit", Ref: "esp-idf issue 15701",
			Gain: "the rate seen with the other peer", Trade: "none", Next: "move the adapter, then the cable, to tell which it is",
			needs: []clue{either(0, better(0.85, "other-peer", 1.3), saw(0.75, "works", "other-peer"))}},
		{ID: "link.phy-driver", Code: "R-LINK-8", Group: Link, Title: "The PHY runs on the wrong driver", Ref: "linux-xlnx issue 71",
			Gain: "delays and errata of this PHY are set right", Trade: "another kernel", Next: "read which driver the PHY has: sys/class/net/IF/phydev/driver",
			needs: []clue{either(0, saw(0.75, "link.phy-driver", "wrong"), saw(0.5, "link.phy-driver", "generic"), every(0.4, saw(0, "works", "other-kernel"), saw(0, "works", "lower-speed")), every(0.28, saw(0, "works", "other-kernel")))},
			clues: []clue{saw(0.2, "works", "other-kernel"), saw(0.2, "works", "lower-speed")}},
		{ID: "link.aspm", Code: "R-PCI-1", Group: Link, Title: "PCIe power saving delays the NIC's reads of memory", Ref: "PCI Express Base Specification 5.4; pcie_aspm",
			Gain: "no missed frames at wake-up of the bus", Trade: "some watts", Next: "boot with pcie_aspm=off and compare",
			Levers: []result.Advice{{Lever: "module.pcie_aspm.policy", Value: "performance"}},
			needs:  []clue{either(0, saw(0.45, "bus.aspm", "on"), every(0.25, saw(0, "bus.kind", "pcie"), receiveOnly(0)))},
			clues:  []clue{receiveOnly(0.35), some(0.3, "drops.ring"), some(0.2, "drops.fifo"), some(0.2, "drops.rx"), saw(0.25, "tcp.stops"), saw(0.15, "works", "pause-on")},
			doubts: []clue{saw(0.8, "bus.aspm", "off")}},
		{ID: "link.one-member", Code: "R-BOND-1", Group: Link, Title: "One flow uses one link of the bundle", Ref: "IEEE 802.1AX 5.2.4; linux networking/bonding",
			Gain: "the sum of the members, for several flows", Trade: "none: one flow keeps its order and its link", Next: "repeat with several flows",
			Levers: []result.Advice{{Lever: "bond.xmit_hash_policy", Value: "layer3+4"}},
			needs:  []clue{saw(0.45, "link.bond")},
			clues:  []clue{compare(0.3, "test.streams", under(1)), better(0.4, "more-streams", 1.2), oneMember(0.4)}},
		{ID: "offload.off", Code: "R-OFF-1", Group: Link, Title: "An offload that is there is off", Ref: "linux networking/segmentation-offloads",
			Gain: "fewer packets and copies for each byte", Trade: "bursts; some drivers have faults with it", Next: "switch it on and compare, one at a time",
			Levers: []result.Advice{{Lever: "ethtool.features.tso", Value: "on"}, {Lever: "ethtool.features.gso", Value: "on"}, {Lever: "ethtool.features.gro", Value: "on"}, {Lever: "ethtool.features.sg", Value: "on"}},
			needs:  []clue{either(0, saw(0.6, "offload.other", "off"), saw(0.45, "offload.tso", "off"), saw(0.45, "offload.gro", "off"), saw(0.45, "offload.sg", "off"))},
			clues:  []clue{saw(0.1, "link.virtual"), atLeast(0.2, "cpu.busiest", freeCore)},
			doubts: []clue{saw(0.5, "works", "offload-off", "gro-off"), compare(0.5, "cpu.busiest", under(0.5))}},
		{ID: "offload.not-honoured", Code: "R-OFF-2", Group: Link, Title: "The next hop does not honour an offload", Ref: "linux networking/segmentation-offloads; checksum-offloads",
			Gain: "the rate of the good direction", Trade: "more CPU for each byte", Next: "switch TSO, GSO, GRO and checksums off one by one, each direction apart",
			Levers: []result.Advice{{Lever: "ethtool.features.tso", Value: "off"}, {Lever: "ethtool.features.gso", Value: "off"}, {Lever: "ethtool.features.tx", Value: "off"}},
			needs:  []clue{either(0, saw(0.8, "offload.not-honoured"), every(0.6, saw(0, "link.virtual"), either(0, saw(0, "works", "offload-off", "gro-off"), asymmetric(), saw(0, "fails", "large-packets"))), better(0.5, "offload-off", 1.3))},
			clues:  []clue{saw(0.3, "works", "offload-off"), asymmetric()},
			doubts: []clue{saw(0.6, "role", "forwarder")}},
	}
}

// receiveOnly holds where receiving is much slower than sending.
func receiveOnly(weight float64) clue {
	return either(weight, ratio(0, "goodput.rx", "goodput.tx", under(0.5)),
		every(0, saw(0, "works", "tx"), either(0, slow(0, "goodput.rx", 0.5), slow(0, "goodput", 0.5), saw(0, "fails", "rx"), saw(0, "tcp.stops"), saw(0, "drops.seen"))))
}

// asymmetric holds where one direction is three times as fast as the other.
func asymmetric() clue {
	return either(0.3, ratio(0, "goodput.rx", "goodput.tx", under(1/lopsided)), ratio(0, "goodput.rx", "goodput.tx", over(lopsided)),
		every(0, saw(0, "works", "tx"), saw(0, "fails", "rx")), every(0, saw(0, "works", "rx"), saw(0, "fails", "tx")))
}

// lossy1 holds where packets are known to be lost or pauses tell of it.
func lossy1() clue {
	return either(0, saw(0, "drops.seen"), saw(0, "drops.on-board"), some(0, "drops.fifo"), some(0, "drops.rx"), some(0, "drops.ring"), some(0, "drops.loss"),
		some(0, "tcp.retransmits"), atLeast(0, "tcp.retransmit-share", lossy), saw(0, "tcp.stops"), atLeast(0, "tcp.stall", minRTO))
}

// betterSlower holds where the link carries more at a lower speed.
func betterSlower(weight float64) clue { return better(weight, "lower-speed", 1.2) }

// errorShare holds where frames with bad check sums are more than a cable of
// the standard's bit error rate may bring.
func errorShare(weight float64) clue {
	return either(weight, ratio(0, "errors.crc", "errors.frames", over(badFrames)), every(0, some(0, "errors.crc"), clue{[]string{"errors.frames"}, func(v View) sign {
		_, known := v.Number("errors.frames")
		return sign{holds: !known}
	}}))
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
