package result

// What the NAPI meter counts. Labels: interface, cpu, packets (polled by a
// call), ns (lower bound of a duration).
var (
	NAPIPolls      = Metric{"napi_polls_total", Counter, "1", "polls", "Calls of an interface's poll routine.", "linux tracepoint napi:napi_poll"}
	NAPIPackets    = Metric{"napi_packets_total", Counter, "packet", "polled", "Packets handled by polls.", "linux tracepoint napi:napi_poll"}
	NAPIEmpty      = Metric{"napi_empty_polls_total", Counter, "1", "empty", "Polls that found no packet.", ""}
	NAPIFull       = Metric{"napi_full_polls_total", Counter, "1", "full", "Polls that used up their budget.", ""}
	NAPISeconds    = Metric{"napi_poll_seconds_total", Counter, "s", "in polls", "Time inside polls of the receive softirq.", ""}
	NAPITimed      = Metric{"napi_timed_polls_total", Counter, "1", "timed", "Polls whose time is known.", ""}
	NAPIBatch      = Metric{"napi_batch_polls_total", Counter, "1", "batch", "Polls by number of packets handled; 65 stands for more.", ""}
	NAPIDuration   = Metric{"napi_duration_polls_total", Counter, "1", "duration", "Polls by time inside, in powers of two of a nanosecond.", ""}
	NAPIOverhead   = Metric{"napi_meter_seconds_total", Counter, "s", "meter", "Time the NAPI meter itself spent in the kernel.", "bpf(2) BPF_ENABLE_STATS"}
	SoftirqRuns    = Metric{"net_rx_softirqs_total", Counter, "1", "softirqs", "Runs of the receive softirq on one core.", "linux tracepoint irq:softirq_entry"}
	SoftirqSeconds = Metric{"net_rx_softirq_seconds_total", Counter, "s", "softirq time", "Time of the receive softirq on one core.", "linux tracepoint irq:softirq_entry"}
)

func napiMetrics() []Metric {
	return []Metric{NAPIPolls, NAPIPackets, NAPIEmpty, NAPIFull, NAPISeconds, NAPITimed, NAPIBatch, NAPIDuration, NAPIOverhead,
		SoftirqRuns, SoftirqSeconds}
}
