package explain

// Every threshold of the rules. Those said to be practice are our own choice
// and rest on no source; the findings they make carry less confidence.
const (
	// atLine is the share of the line limit from which the line is the bound.
	// Field reports called 99.1 % and 99.999 % line rate.
	atLine = 0.985
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
)
