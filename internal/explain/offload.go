package explain

import (
	"fmt"

	"github.com/linerate/linerate/result"
)

// offloadRules judge what NICs and virtual devices do for the stack, or only
// say they do.
func offloadRules() []Rule {
	return []Rule{
		{ID: "offload.off", Code: "R-OFF-1",
			Group: Link,
			Title: "An offload that is there is off",
			Ref:   "linux networking/segmentation-offloads",
			Gain:  "fewer packets and copies for each byte",
			Trade: "bursts; some drivers have faults with it",
			Next:  "switch it on and compare, one at a time",
			Levers: []result.Advice{
				// Segmentation needs scatter-gather, and that needs checksums.
				{Lever: "ethtool.features.tx", Value: "on", End: "sender"}, {Lever: "ethtool.features.sg", Value: "on", End: "sender"},
				{Lever: "ethtool.features.gso", Value: "on", End: "sender"}, {Lever: "ethtool.features.tso", Value: "on", End: "sender"},
				{Lever: "ethtool.features.gro", Value: "on", End: "receiver"},
			},
			needs: []clue{
				first(saw(0.6, "offload.other", "off"), saw(0.45, "offload.tso", "off"), saw(0.45, "offload.gro", "off"),
					saw(0.45, "offload.sg", "off"),
					every(0.4, saw(0, "offload.checksum", "off"), saw(0, "link.virtual")),
				),
			},
			clues: []clue{
				// One may be a driver's default; all of a kind were switched off.
				every(0.6, saw(0, "offload.checksum", "off"), first(saw(0, "offload.tso", "off"), saw(0, "offload.sg", "off"))),
				saw(0.1, "link.virtual"), atLeast(0.2, "cpu.busiest", freeCore),
			},
			doubts: []clue{
				saw(0.5, "works", "offload-off", "gro-off"), compare(0.5, "cpu.busiest", under(idleCore)), mergedAlready(0.7),
				saw(0.7, "protocol", "udp"),
				atMost(0.5, "app.write-size", smallSegment*1460), // there is little to merge
			}},
		{ID: "offload.not-honoured", Code: "R-OFF-2",
			Group: Link,
			Title: "The next hop does not honour an offload",
			Ref:   "linux networking/segmentation-offloads; checksum-offloads",
			Gain:  "the rate of the good direction",
			Trade: "more CPU for each byte",
			Next:  "switch TSO, GSO, GRO and checksums off one by one, each direction apart",
			Levers: []result.Advice{
				{Lever: "ethtool.features.tso", Value: "off"}, {Lever: "ethtool.features.gso", Value: "off"},
				{Lever: "ethtool.features.tx", Value: "off"},
			},
			needs: []clue{
				first(saw(0.8, "offload.not-honoured"),
					every(
						0.6, saw(0, "link.virtual"),
						first(saw(0, "works", "offload-off", "gro-off"), asymmetric(), saw(0, "fails", "large-packets")),
					),
					better(0.5, "offload-off", much),
				),
			},
			clues:  []clue{saw(0.3, "works", "offload-off"), asymmetric()},
			doubts: []clue{saw(0.6, "role", "forwarder")}},
	}
}

// asymmetric holds where one direction is three times as fast as the other.
func asymmetric() clue {
	return either(0.3, ratio(0, "goodput.rx", "goodput.tx", under(1/lopsided)), ratio(0, "goodput.rx", "goodput.tx", over(lopsided)),
		every(0, saw(0, "works", "tx"), saw(0, "fails", "rx")), every(0, saw(0, "works", "rx"), saw(0, "fails", "tx")))
}

// mergedAlready holds where the interface hands on segments larger than a frame.
func mergedAlready(weight float64) clue {
	return clue{[]string{"link.mtu"}, func(v View) sign {
		mean, merged := v.merged()
		return sign{holds: merged, weight: weight, texts: []string{fmt.Sprintf("frames are %.0f bytes on average: segments are merged", mean)}}
	}}
}
