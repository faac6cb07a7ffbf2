package result

// What stream workloads count (TCP and UDP bench).
var (
	Syscalls = Metric{"syscalls_total", Counter, "1", "syscalls", "System calls of the data path.", ""}
)

func streamMetrics() []Metric { return []Metric{Syscalls} }
