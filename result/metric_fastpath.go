package result

// What the fast path counts. Labels: reason, why a packet was forwarded beside
// the stack or left to it.
var (
	FastPathPackets = Metric{"fastpath_packets_total", Counter, "packet", "packets", "Packets that came in on the fast path's interfaces, by what became of them.", ""}
	FastPathFlows   = Metric{"fastpath_flows", Gauge, "1", "flows", "Connections that the fast path holds.", ""}
)

func fastPathMetrics() []Metric { return []Metric{FastPathPackets, FastPathFlows} }
