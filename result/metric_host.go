package result

// What a host's kernel counts. Labels: cpu, mode, process, irq, device,
// interface, stat.
var (
	CPUSeconds      = Metric{"cpu_seconds_total", Counter, "s", "CPU", "CPU time of one core by mode (user, system, irq, softirq, steal, idle, iowait).", "proc(5) /proc/stat"}
	CPUClock        = Metric{"cpu_clock_hertz", Gauge, "Hz", "clock", "Clock of one core now.", "linux cpufreq scaling_cur_freq"}
	CPUClockMax     = Metric{"cpu_clock_max_hertz", Gauge, "Hz", "max clock", "Greatest clock of one core.", "linux cpufreq cpuinfo_max_freq"}
	ProcessCPU      = Metric{"process_cpu_seconds_total", Counter, "s", "process CPU", "CPU time of one process by mode (user, system).", "proc(5) /proc/pid/stat"}
	Interrupts      = Metric{"interrupts_total", Counter, "1", "interrupts", "Interrupts of one line on one core.", "proc(5) /proc/interrupts"}
	Softirqs        = Metric{"softirqs_total", Counter, "1", "softirqs", "Runs of one softirq on one core.", "proc(5) /proc/softirqs"}
	SoftnetFrames   = Metric{"softnet_processed_total", Counter, "frame", "softnet", "Frames handled by the receive softirq.", ""}
	SoftnetDropped  = Metric{"softnet_dropped_total", Counter, "frame", "softnet drops", "Frames dropped for a full backlog.", ""}
	SoftnetSqueezed = Metric{"softnet_time_squeezed_total", Counter, "1", "squeezed", "Times the receive softirq ran out of budget.", ""}
	SoftnetRPS      = Metric{"softnet_received_rps_total", Counter, "1", "RPS wake-ups", "Times a core was woken to process frames steered to it.", ""}
	SoftnetLimited  = Metric{"softnet_flow_limit_total", Counter, "frame", "flow limited", "Frames dropped because one flow filled the backlog.", "linux networking/scaling"}
	SoftnetBacklog  = Metric{"softnet_backlog_frames", Gauge, "frame", "backlog", "Frames waiting in the backlog of a core.", ""}
	NetworkCounter  = Metric{"network_counter_total", Counter, "1", "counter", "A counter of the network stack under its name in nstat(8).", "RFC 4022, RFC 4113, linux networking/snmp_counter"}
	NICFrames       = Metric{"nic_frames_total", Counter, "frame", "frames", "Frames of one interface and direction (rx, tx).", "RFC 2863 ifTable"}
	NICBytes        = Metric{"nic_bytes_total", Counter, "B", "bytes", "Bytes of one interface and direction (rx, tx), without FCS.", "RFC 2863 ifTable"}
	NICErrors       = Metric{"nic_errors_total", Counter, "frame", "errors", "Frames in error of one interface and direction.", "RFC 2863 ifTable"}
	NICDropped      = Metric{"nic_dropped_total", Counter, "frame", "drops", "Frames dropped by one interface and direction, by reason (dropped, missed).", "RFC 2863 ifTable"}
	NICLinkStat     = Metric{"nic_link_stat_total", Counter, "1", "link statistic", "Another total of the kernel for one interface, such as rx_crc_errors.", "linux rtnl_link_stats64"}
	NICStat         = Metric{"nic_driver_stat_total", Counter, "1", "driver statistic", "A statistic of the driver (ethtool -S).", "ethtool-netlink STATS"}
	MeterCost       = Metric{"meter_read_seconds_total", Counter, "s", "meter cost", "Time spent reading one meter.", ""}
)

func hostMetrics() []Metric {
	return []Metric{CPUSeconds, CPUClock, CPUClockMax, ProcessCPU, Interrupts, Softirqs, SoftnetFrames, SoftnetDropped, SoftnetSqueezed, SoftnetRPS,
		SoftnetLimited, SoftnetBacklog, NetworkCounter,
		NICFrames, NICBytes, NICErrors, NICDropped, NICLinkStat, NICStat, MeterCost}
}
