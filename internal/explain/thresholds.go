package explain

import "time"

// Every threshold of the rules. Those said to be practice are our own choice
// and rest on no source; the findings they make carry less confidence. How far
// a clue convinces stands beside the clue, and is practice too; comparisons that
// no judgement is in (more than the ring has, two writes and not one) stand there
// as plain numbers.
const (
	// atLine is the share of the line limit from which the line is the bound.
	// Field reports called 99.1 % and 99.999 % line rate.
	atLine = 0.985
	// nearLine is the share from which a queue that overflows before the line shows
	// it full (practice).
	nearLine = 0.85
	// overLine is the share from which the figure cannot be true.
	overLine = 1.005

	// smallSegment is the share of the MSS below which bulk segments are small
	// (practice).
	smallSegment = 0.8
	// jumboSegment is the payload in bytes that fills a jumbo frame; what is
	// larger is not small, though loopback would take 64 KiB.
	jumboSegment = 9000 - 52
	// bulkSegments is how many segments make a bulk transfer (practice).
	bulkSegments = 100

	// windowFilled is the share of window / RTT from which the window is the
	// bound; the closed form is within 15 % of measured ladders.
	windowFilled = 0.85
	// windowShareLeast is the share of window / RTT from which the window is
	// suspected: round trips in reports are often those of an idle link (practice).
	windowShareLeast = 0.5
	// smallWindow is a window in bytes that no local link of today is filled
	// with, smallBuffer a socket buffer likewise (practice).
	smallWindow = 16 << 10
	smallBuffer = 128 << 10
	// limitedShare is the share of busy time from which the kernel's own
	// attribution (tcpi_rwnd_limited, tcpi_sndbuf_limited) says limited.
	limitedShare = 0.20
	// scheduling is how long, in seconds, a receiver may take from the arrival
	// of data to reading it on a machine that does other work too (practice).
	scheduling = 1e-3
	// idleFlight is the share of the window below which it is not used
	// (practice).
	idleFlight = 0.5
	// lossy is the share of segments sent again from which loss matters.
	lossy = 0.001

	// fullCore is the busy share of one core from which it is the bound.
	fullCore = 0.90
	// freeCore is the busy share below which the CPU is not in question.
	freeCore = 0.80
	// stolen is the share of time taken by other machines of the same host
	// from which a figure is doubtful (practice).
	stolen = 0.05

	// surest is the greatest confidence that clues can add up to.
	surest = 0.95
	// sure and suspect are the confidences from which clues make a finding that
	// limits, and one that is worth a measurement (practice).
	sure    = 0.5
	suspect = 0.25
	// firm is the confidence from which a finding explains later groups.
	firm = 0.7
	// explained is what is left of a finding's confidence where an earlier
	// group explains what it sees (practice).
	explained = 0.85

	// tinyWrite is a size of writes whose calls cost many times what their bytes
	// do, whatever becomes of them in packets (practice).
	tinyWrite = 256

	// somewhat, clearly and much are how many times faster a link must be with
	// one thing changed for that to matter (practice).
	somewhat = 1.1
	clearly  = 1.2
	much     = 1.3
	// unfilled, halfFilled and nearDead are shares of the line's limit that a
	// slow link stays below (practice).
	unfilled   = 0.8
	halfFilled = 0.5
	nearDead   = 0.02
	// fewer is the ratio below which two settings differ.
	fewer = 0.99
	// everySegment and everySecond are the segments for each ACK up to which
	// all segments, or every second, are acknowledged.
	everySegment = 1.1
	everySecond  = 2.2

	// defaultUDPRate is what iperf offers over UDP when no rate is given:
	// 1 Mbit/s of 2^20 bit.
	defaultUDPRate = 1 << 20
	// threadedMinor is the iperf 3 release from which streams have threads.
	threadedMinor = 16
	// fullProcess is the share of a core from which a program is the bound.
	fullProcess = 0.95
	// shortTest and fewBytes are below what a figure repeats with.
	shortTest = time.Second
	fewBytes  = 10e6

	// defaultMTU is Ethernet's own (IEEE 802.3 3.2.7).
	defaultMTU = 1500
	// badFrames is the share of frames with errors that no sound cable brings.
	badFrames = 1e-6
	// lopsided is how many times faster one direction of a virtual link must be.
	lopsided = 3.0
	// usb2Payload is what NICs on USB 2 were seen to carry, in bit/s.
	usb2Payload = 325e6
	// pciePayload is the share of a PCIe lane's rate that is payload with
	// 128-byte packets.
	pciePayload = 0.8

	// minRTO is the least retransmission timeout of common stacks, in seconds;
	// RFC 6298 says 1 s, they use 200 ms.
	minRTO = 0.19
	// leastACKDelay is the least delay of an ACK that stacks use, in seconds.
	leastACKDelay = 0.035
	// few is a count of events that one loss or start-up brings (practice).
	few = 10

	// rareEvents is the share of frames below which what happens to them hardly
	// slows a link (practice).
	rareEvents = 1e-5
	// smallRing is the ring in descriptors that bursts overrun (practice).
	smallRing = 512
	// rareDrops is the share of datagrams up to which losing them is no bound (practice).
	rareDrops = 0.01
	// fullPolls is the share of polls that use up their budget (practice).
	fullPolls = 0.10
	// smallBudget is a budget in packets that is no more than one poll's (NAPI_POLL_WEIGHT).
	smallBudget = 64
	// squeezes is how often a second a core may run out of budget.
	squeezes = 1
	// leastTable is a table in entries that no box with a gigabyte is smaller than.
	leastTable = 65536
	// fullTable is the share of the connection table that counts as full.
	fullTable = 0.9

	// idleCore is the busy share below which a core has time for more.
	idleCore = 0.5
	// strangersShare is the share of a core in other programs that a link feels (practice).
	strangersShare = 0.2
	// smallMTU is an MTU that no Ethernet without a tunnel has (practice; 1,492 is PPPoE, RFC 2516).
	smallMTU = 1400
	// manySoftirqs is how many runs of a softirq tell how they are spread, and
	// almostAll the share on one core that is all of them (practice).
	manySoftirqs = 1000
	almostAll    = 0.95
	// hotShare is the share of a profile that is worth acting on (practice).
	hotShare = 0.10
	// slowClock is the share of the greatest clock below which a core is slow.
	slowClock = 0.9
	// lowClock is a clock in Hz that few CPUs of a board have at most (practice).
	lowClock = 500e6
	// slowCopy is the cycles per byte from which copies are the bound; 3 to 5
	// are usual without a cache.
	slowCopy = 8

	// lonelyPackets is the batch below which interrupts cost more than packets.
	lonelyPackets = 2.0
	// busyFrames is the frame rate from which interrupts matter, per second.
	busyFrames = 20000
	// irqShare is the share of a core in interrupts that is worth saving.
	irqShare = 0.3
	// shortFlush is a software timer, in seconds, within which few packets come
	// but at rates that need none (measured: worse than none at 25,000 a second).
	shortFlush = 20e-6
	// goodBatch is how many packets an interrupt should gather.
	goodBatch = 8.0
	// crowdedPackets is the batch above which delay grows for no gain (practice).
	crowdedPackets = 64
	// delayShare is the share of the round trip that coalescing may add.
	delayShare = 0.1
	// waitsEach is the context switches for each send that tell of a wait.
	waitsEach = 0.5
	// twoClusters is the ratio of slowest to fastest call that tells of two ways.
	twoClusters = 1.5
	// swollenRTT is how many times the idle round trip the loaded one may be.
	swollenRTT = 10
)
