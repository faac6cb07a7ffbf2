package explain

import "github.com/linerate/linerate/result"

// linkRules judge cable, PHY, MAC and the far end.
func linkRules() []Rule {
	return []Rule{
		{ID: "link.below-best", Code: "R-LINK-1",
			Group:  Link,
			Title:  "The link runs below the speed both ends can do",
			Ref:    "IEEE 802.3 28 (practice)",
			Gain:   "the ratio of the speeds",
			Trade:  "a bad cable at full speed loses frames instead",
			Next:   "swap the cable, read both ends' modes and downshift counters",
			Levers: []result.Advice{{Lever: "phy.autoneg", Value: "on"}},
			needs:  []clue{ratio(0.8, "link.speed", "link.speed-max", under(fewer))}},
		{ID: "link.duplex-mismatch", Code: "R-LINK-2",
			Group:  Link,
			Title:  "The ends disagree on duplex",
			Ref:    "IEEE 802.3 28D; RoPieee issue 84",
			Gain:   "the full rate without collisions",
			Trade:  "none",
			Next:   "read speed and duplex at both ends, and late collisions at the half-duplex one",
			Levers: []result.Advice{{Lever: "phy.autoneg", Value: "on", End: "both"}},
			needs: []clue{
				first(every(0.85, saw(0, "link.duplex", "full"), saw(0, "link.peer-duplex", "half")),
					every(0.85, saw(0, "link.duplex", "half"), saw(0, "link.peer-duplex", "full")),
					some(0.6, "errors.late-collisions"), saw(0.45, "link.forced"),
				),
			},
			clues: []clue{
				some(0.4, "errors.late-collisions"), saw(0.3, "link.forced"), some(0.2, "errors.crc"), saw(0.1, "link.flaps"),
			},
		},
		{ID: "link.signal", Code: "R-LINK-3",
			Group: Link,
			Title: "Cable, PHY or clock spoils frames",
			Ref:   "IEEE 802.3 3.2.9; armbian/build 546",
			Gain:  "what retransmissions take",
			Trade: "a delay that suits one board may not suit the next",
			Next:  "swap the cable; then sweep the RGMII delays of each direction and count errors",
			needs: []clue{
				first(saw(0.75, "varies", "clock-delay"), saw(0.8, "link.clock", "wrong"), errorShare(0.7),
					some(0.6, "errors.align"), saw(0.7, "works", "other-cable"), saw(0.45, "link.clock", "external"),
					every(0.4, saw(0, "works", "lower-speed"), losing()), saw(0.35, "link.flaps"),
					every(0.35, atLeast(0, "tcp.retransmits", few), oneWay()), saw(0.3, "works", "lower-speed"),
				),
			},
			clues: []clue{
				saw(0.3, "works", "lower-speed"), saw(0.2, "link.flaps"), some(0.15, "tcp.retransmits"),
				saw(0.1, "fails", "large-packets"),
			},
			doubts: []clue{
				compare(0.5, "errors.crc", func(x float64) bool { return x == 0 }), saw(0.3, "drops.on-board"),
				saw(0.5, "link.forced"),
			},
		},
		{ID: "link.host-slower", Code: "R-LINK-4",
			Group: Link,
			Title: "The host takes frames more slowly than the wire brings them",
			Ref:   "raspberrypi/linux 2996; boundarydevices i-mx6-ethernet",
			Gain:  "from the rate of timeouts to that of the bus",
			Trade: "pause frames stop the sender for all receivers behind one switch port",
			Next:  "run at 100 Mbit/s, or with pause on at both ends, and compare",
			Levers: []result.Advice{
				{Lever: "ethtool.pause.rx", Value: "on", End: "both"}, {Lever: "ethtool.pause.tx", Value: "on", End: "both"},
			},
			needs: []clue{
				first(receiveOnly(0.35), every(0.4, saw(0, "works", "lower-speed"), losing()), saw(0.4, "works", "pause-on"),
					every(0.4, some(0, "drops.fifo"), saw(0, "link.pause", "off")), saw(0.3, "drops.on-board"),
					betterSlower(0.6), saw(0.35, "works", "lower-speed"), some(0.3, "pause.tx"),
					every(0.3, saw(0, "link.pause", "off"), slow(0, "goodput.rx", halfFilled)),
				),
			},
			clues: []clue{
				saw(0.35, "works", "lower-speed"), some(0.2, "drops.fifo"), saw(0.25, "link.pause", "off"),
				saw(0.3, "varies", "load"), saw(0.25, "drops.on-board"), saw(0.2, "works", "tx"), saw(0.3, "bus.kind", "usb2"),
			},
			doubts: []clue{
				saw(0.4, "bus.aspm", "on"), saw(0.6, "varies", "clock-delay"), saw(0.6, "link.clock", "wrong"),
				saw(0.3, "link.phy-driver", "wrong", "generic"), saw(0.5, "link.virtual"),
			},
		},
		{ID: "link.energy-efficient", Code: "R-LINK-5",
			Group: Link,
			Title: "Energy-efficient Ethernet puts the link to sleep",
			Ref:   "IEEE 802.3 78; raspberrypi/linux 4289",
			Gain:  "no drops and delays at wake-up", Trade: "some tenths of a watt", Next: "switch it off and repeat",
			Levers: []result.Advice{{Lever: "ethtool.eee.eee", Value: "off"}},
			needs:  []clue{first(saw(0.5, "link.eee", "active"), saw(0.25, "link.eee", "enabled"))},
			clues: []clue{
				either(
					0.35, saw(0, "drops.seen"), saw(0, "link.flaps"), saw(0, "tcp.stops"), some(0, "drops.rx"),
					saw(0, "varies", "runs", "load"),
				),
				some(0.1, "tcp.retransmits"),
			},
		},
		{ID: "link.peer", Code: "R-LINK-7",
			Group: Link,
			Title: "The far end, its adapter or its cable is the limit",
			Ref:   "esp-idf issue 15701",
			Gain:  "the rate seen with the other peer", Trade: "none", Next: "move the adapter, then the cable, to tell which it is",
			needs: []clue{first(better(0.85, "other-peer", much), saw(0.75, "works", "other-peer"))}},
		{ID: "link.phy-driver", Code: "R-LINK-8",
			Group: Link,
			Title: "The PHY runs on the wrong driver",
			Ref:   "linux-xlnx issue 71",
			Gain:  "delays and errata of this PHY are set right",
			Trade: "another kernel",
			Next:  "read which driver the PHY has: sys/class/net/IF/phydev/driver",
			needs: []clue{
				first(saw(0.75, "link.phy-driver", "wrong"), saw(0.5, "link.phy-driver", "generic"),
					every(0.4, saw(0, "works", "other-kernel"), saw(0, "works", "lower-speed")),
					every(0.28, saw(0, "works", "other-kernel")),
				),
			},
			clues: []clue{saw(0.2, "works", "other-kernel"), saw(0.2, "works", "lower-speed")}},
	}
}

// receiveOnly holds where receiving is much slower than sending.
func receiveOnly(weight float64) clue {
	return either(weight, ratio(0, "goodput.rx", "goodput.tx", under(0.5)),
		every(0, saw(0, "works", "tx"), first(slow(0, "goodput.rx", halfFilled), slow(0, "goodput", halfFilled), saw(0, "fails", "rx"), saw(0, "tcp.stops"), saw(0, "drops.seen"))))
}

// oneWay holds where one direction is as it should be and the other is not.
func oneWay() clue {
	return first(ratio(0, "goodput.tx", "goodput.rx", under(0.7)), ratio(0, "goodput.rx", "goodput.tx", under(0.7)),
		every(0, saw(0, "works", "rx"), saw(0, "fails", "tx")), every(0, saw(0, "works", "tx"), saw(0, "fails", "rx")))
}

// losing holds where packets are known to be lost or pauses tell of it.
func losing() clue {
	return first(saw(0, "drops.seen"), saw(0, "drops.on-board"), some(0, "drops.fifo"), some(0, "drops.rx"), some(0, "drops.ring"), some(0, "drops.loss"),
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
