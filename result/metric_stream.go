package result

// What stream workloads count (TCP and UDP bench). Labels: direction (tx, rx,
// both, from the client), stream, end (tester, peer), quantile.
var (
	Syscalls           = Metric{"syscalls_total", Counter, "1", "syscalls", "System calls of the data path.", ""}
	SentRate           = Metric{"sent_bits_per_second", Gauge, "bit/s", "sent", "Payload that the sending application handed to its stack.", ""}
	IntendedRate       = Metric{"intended_load_bits_per_second", Gauge, "bit/s", "intended load", "Payload rate asked of the sender.", "RFC 2285 3.5.1"}
	MessageRate        = Metric{"messages_per_second", Gauge, "1/s", "messages/s", "Application writes of the sender; of UDP, datagrams received.", ""}
	DatagramsReceived  = Metric{"udp_datagrams_received_total", Counter, "1", "datagrams", "Datagrams received, each counted once.", ""}
	DatagramsLost      = Metric{"udp_datagrams_lost_total", Counter, "1", "lost", "Datagrams sent that did not arrive.", "RFC 7680"}
	DatagramsReordered = Metric{"udp_datagrams_reordered_total", Counter, "1", "reordered", "Datagrams that arrived after one sent later.", "RFC 4737 3.3"}
	DatagramsDuplicate = Metric{"udp_datagrams_duplicate_total", Counter, "1", "duplicates", "Datagrams that arrived again.", "RFC 5560"}
	DatagramsDropped   = Metric{"udp_socket_drops_total", Counter, "1", "socket drops", "Datagrams that the receiving socket dropped for a full buffer.", "linux sock_diag SK_MEMINFO_DROPS"}
	LossRatio          = Metric{"udp_loss_ratio", Gauge, "1", "loss", "Share of datagrams sent that did not arrive.", "RFC 7680"}
	Jitter             = Metric{"udp_jitter_seconds", Gauge, "s", "jitter", "Interarrival jitter.", "RFC 3550 6.4.1"}
	Transactions       = Metric{"transactions_total", Counter, "1", "transactions", "Requests that were answered.", ""}
	TransactionRate    = Metric{"transactions_per_second", Gauge, "1/s", "transactions/s", "Requests answered.", ""}
	Latency            = Metric{"transaction_latency_seconds", Gauge, "s", "latency", "Time from request to response, by quantile.", ""}
	CPUPerMessage      = Metric{"cpu_seconds_per_message", Gauge, "s", "CPU/message", "CPU time used per message.", ""}
	CPUPerByte         = Metric{"cpu_seconds_per_byte", Gauge, "s/B", "CPU/byte", "CPU time used per byte of payload.", ""}
	CPUShare           = Metric{"process_cpu_ratio", Gauge, "1", "CPU", "CPU time of the measuring process per second; 1 is one core.", ""}
	SyscallsPerMessage = Metric{"syscalls_per_message", Gauge, "1", "syscalls/message", "System calls of the data path per message.", ""}
	MessageCost        = Metric{"message_cost_seconds", Gauge, "s", "a", "Fixed time per message of the fit t = a + b m.", ""}
	ByteCost           = Metric{"byte_cost_seconds", Gauge, "s/B", "b", "Time per byte of the fit t = a + b m.", ""}
	FitResidual        = Metric{"fit_residual_ratio", Gauge, "1", "residual", "Measured time per message over the fit's, less one.", ""}
)

func streamMetrics() []Metric {
	return []Metric{Syscalls, SentRate, IntendedRate, MessageRate, DatagramsReceived, DatagramsLost, DatagramsReordered,
		DatagramsDuplicate, DatagramsDropped, LossRatio, Jitter, Transactions, TransactionRate, Latency, CPUPerMessage,
		CPUPerByte, CPUShare, SyscallsPerMessage, MessageCost, ByteCost, FitResidual}
}
