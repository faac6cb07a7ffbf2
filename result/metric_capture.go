package result

// What a capture shows beyond the TCP group.
var (
	CapturePackets = Metric{"capture_packets_total", Counter, "packet", "packets", "Packets read from the capture.", ""}
)

func captureMetrics() []Metric { return []Metric{CapturePackets} }
