package main

import (
	"cmp"
	"fmt"
	"strconv"
	"time"

	"github.com/linerate/linerate/internal/model"
	"github.com/linerate/linerate/internal/testnet"
)

// ladderBoard is the board whose report the user ladder replays.
const ladderBoard = "k2h"

// userStep is what a step of the user ladder sets beyond those of the kernel's.
type userStep struct {
	coalesce time.Duration                 // what the client's card gathers frames for before it hands them on; 0: it does not
	scaled   bool                          // the client scales its window and its buffers are tuned
	mtu      int                           // 0: standard
	report   map[string]string             // what the board's engineers measured, MB/s by direction
	board    map[string]map[string]float64 // settings of the board's model by direction; none: it has no term for the step
}

// cardFlags are the knobs of the card and of its driver that a step sets.
func cardFlags(reclaimInSend, paced bool, offload string, mtu int) []string {
	pacing := "immediate"
	if paced {
		pacing = "since-first" // the report's mode 2, with two ticks of 25 us
	}
	return []string{"--reclaim-in-send=" + strconv.FormatBool(reclaimInSend), "--pacing=" + pacing, "--pacing-timer=50us",
		"--offload=" + offload, "--mtu=" + strconv.Itoa(cmp.Or(mtu, testnet.StandardMTU)), "--tx-ring=64", "--tx-interrupt=" + map[bool]string{true: "1", false: "0"}[reclaimInSend]}
}

// userLadderSteps is the climb of the report with all its layers: application,
// stack, peer, driver, card, and then what its authors named further work.
func userLadderSteps() []ladderStep {
	step := func(name, change, trade string, server []string, u userStep) ladderStep {
		s := ladderStep{name: name, change: change, trade: trade, server: server, buffers: pcBuffers, offload: testnet.OffloadNone, user: &u}
		if u.scaled {
			s.buffers, s.scaled = 0, true
		}
		return s
	}
	both := func(get, put string) map[string]string {
		return map[string]string{directionGet: get, directionPut: put}
	}
	sets := func(get, put map[string]float64) map[string]map[string]float64 {
		return map[string]map[string]float64{directionGet: get, directionPut: put}
	}
	type set = map[string]float64
	const serial = 25.6 // us a packet before the driver was changed: the accumulator's tick
	with := func(lists ...[]string) (all []string) {
		for _, l := range lists {
			all = append(all, l...)
		}
		return all
	}
	const noSACK = "--no-sack" // so that 1,460 bytes are one segment
	asShipped, reclaimed := append(cardFlags(true, false, "none", 0), noSACK), append(cardFlags(false, false, "none", 0), noSACK)
	paced := cardFlags(false, true, "none", 0)
	steps := []ladderStep{
		step("as shipped", "sends of 512 bytes, a yield after each, buffers of 8,192 bytes; descriptors reclaimed in the send path, an interrupt for each",
			"least memory, and other tasks run after every send", with(serverFlags(512, true, 8192, false), asShipped),
			userStep{report: both("11", "23"), board: sets(set{"message": 512, "window": 8192, "cpu": 46.3, "serial": serial}, set{"window": 8192, "serial": serial})}),
		step("1,460-byte sends", "sends of 1,460 bytes that fill a frame, no yield",
			"other tasks of the same priority wait for the sender", with(serverFlags(1460, false, 8192, false), asShipped),
			userStep{report: both("23", "23"), board: sets(set{"window": 8192, "serial": serial}, set{"window": 8192, "serial": serial})}),
		step("65,536-byte buffers", "send buffer, receive buffer and receive limit 8,192 -> 65,536 bytes",
			"112 KiB more for each connection; where the heap has no room, connections are refused", with(serverFlags(1460, false, 65536, false), asShipped),
			userStep{report: both("50-60", "50-60"), board: sets(set{"serial": serial}, set{"serial": serial})}),
		step("fewer ACKs", "the peer gathers what it receives for 50 us and acknowledges it at once, as the report's PC did with every 10 segments",
			"the window moves in larger steps and losses show later", with(serverFlags(1460, false, 65536, false), asShipped),
			userStep{coalesce: fewerACKs, report: both("up", "-")}),
		step("reclaim outside send", "completed descriptors are freed by the card's own work, and raise no interrupt",
			"packets stay with the card for longer", with(serverFlags(1460, false, 65536, false), reclaimed),
			userStep{coalesce: fewerACKs, report: both("up", "-")}),
		step("receive pacing 50 us", "receive interrupts are held back 50 us since the first new packet (mode 2, two ticks)",
			"every packet waits for up to 50 us, which a window of 64 KiB pays with throughput where the round trip is short",
			with(serverFlags(1460, false, 65536, false), paced, []string{noSACK}),
			userStep{coalesce: fewerACKs, report: both("60-73", "67"), board: sets(set{}, set{})}),
		step("large sends, scaled window", "sends of 64 KiB, buffers tuned by the stack up to 4 MiB, windows scaled, timestamps on",
			"megabytes for each connection", with(serverFlags(65536, false, 0, false), paced), userStep{coalesce: fewerACKs, scaled: true}),
		step("jumbo frames", "MTU 9,000", "every device of the network has to take them", with(serverFlags(65536, false, 0, false), cardFlags(false, true, "none", jumboMTU)),
			userStep{coalesce: fewerACKs, scaled: true, mtu: jumboMTU}),
		step("checksum and segment offload", "the card sums, cuts and joins segments; MTU 1,500 again",
			"frames leave in bursts, and captures show segments that were never on the line", with(serverFlags(65536, false, 0, false), cardFlags(false, true, "segment", 0)),
			userStep{coalesce: fewerACKs, scaled: true}),
	}
	steps[len(steps)-1].offload = testnet.OffloadAll
	return steps
}

const jumboMTU = 9000

// fewerACKs is what makes Linux acknowledge some ten segments at once.
const fewerACKs = 50 * time.Microsecond

// boardLine is what the report measured and the board's model predicts for a
// step; empty where the report has no such step.
func (s ladderStep) boardLine() string {
	if s.user == nil || s.user.report == nil {
		return ""
	}
	b, err := model.Load(ladderBoard)
	if err != nil {
		return ""
	}
	predicted := map[string]string{}
	for _, p := range b.Paths {
		predicted[p.Name] = "-"
		if set, ok := s.user.board[p.Name]; ok {
			if pr, err := model.Predict(b, p, set); err == nil {
				predicted[p.Name] = fmt.Sprintf("%.1f", pr.Goodput/8e6)
			}
		}
	}
	return fmt.Sprintf("K2H: measured %s/%s MB/s, its model %s/%s", s.user.report[directionGet], s.user.report[directionPut], predicted[directionGet], predicted[directionPut])
}
