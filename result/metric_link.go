package result

// What a link carried and what it could carry.
var (
	Goodput   = Metric{"goodput_bits_per_second", Gauge, "bit/s", "goodput", "Payload delivered to the receiving application.", "RFC 2647 3.17"}
	Bytes     = Metric{"payload_bytes_total", Counter, "B", "bytes", "Payload moved by the workload.", ""}
	Messages  = Metric{"messages_total", Counter, "1", "messages", "Application writes or reads done by the workload.", ""}
	LineLimit = Metric{"line_limit_bits_per_second", Gauge, "bit/s", "line limit", "Greatest goodput the line rate allows for these frames.", "IEEE 802.3 3.1"}
	LineRate  = Metric{"line_rate_bits_per_second", Gauge, "bit/s", "line rate", "Signalling rate of the link.", "IEEE 802.3"}
	CPUPerGiB = Metric{"cpu_seconds_per_gib", Gauge, "s/GiB", "CPU s/GiB", "CPU time used per GiB of payload.", ""}
	FrameRate = Metric{"frames_per_second", Gauge, "frame/s", "frames/s", "Frames sent on the link.", "RFC 1242 3.14"}
	FrameSize = Metric{"frame_mean_bytes", Gauge, "B", "frame", "Mean length of a data frame without FCS.", ""}
)

func linkMetrics() []Metric {
	return []Metric{Goodput, Bytes, Messages, LineLimit, LineRate, CPUPerGiB, FrameRate, FrameSize}
}
