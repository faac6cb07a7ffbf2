package result

// What inspection sees of an interface. Labels: outcome, size, protocol, flow.
var (
	InspectFrames   = Metric{"inspect_frames_total", Counter, "frame", "inspected", "Frames by outcome: seen, matched by the filter, and of these skipped by sampling, limited, lost for want of room, taken.", ""}
	InspectBytes    = Metric{"inspect_bytes_total", Counter, "B", "inspected", "Bytes of frames, without FCS, by outcome: seen, matched.", ""}
	InspectSizes    = Metric{"inspect_size_frames_total", Counter, "frame", "frames by size", "Frames by their bytes with FCS.", "RFC 2819 etherStatsPkts"}
	InspectProtocol = Metric{"inspect_protocol_bytes_total", Counter, "B", "bytes by protocol", "Bytes of frames by IP protocol.", ""}
	InspectFlow     = Metric{"inspect_flow_bytes_total", Counter, "B", "bytes by flow", "Bytes of frames of one of the largest flows.", ""}
	InspectFlows    = Metric{"inspect_flows", Gauge, "1", "flows", "Flows kept apart.", ""}
	InspectShare    = Metric{"inspect_goodput_ratio", Gauge, "1", "goodput kept", "Goodput with inspection by goodput without.", ""}
	InspectCost     = Metric{"inspect_cost_seconds", Gauge, "s", "CPU per frame", "CPU time of the whole machine per inspected frame beyond that without inspection.", ""}
)

func inspectMetrics() []Metric {
	return []Metric{InspectFrames, InspectBytes, InspectSizes, InspectProtocol, InspectFlow, InspectFlows, InspectShare, InspectCost}
}
