package result

// What a tester of frames counts. Labels: size (bytes with FCS), quantile,
// direction.
var (
	OfferedLoad      = Metric{"offered_frames_per_second", Gauge, "frame/s", "offered", "Frames per second the tester really sent.", "RFC 2285 3.5.2"}
	IntendedLoad     = Metric{"intended_frames_per_second", Gauge, "frame/s", "intended", "Frames per second the tester was to send.", "RFC 2285 3.5.1"}
	ForwardingRate   = Metric{"forwarding_frames_per_second", Gauge, "frame/s", "forwarded", "Frames per second that came out of the device.", "RFC 2285 3.6.1"}
	ThroughputRate   = Metric{"throughput_frames_per_second", Gauge, "frame/s", "throughput", "Greatest rate at which no frame was lost.", "RFC 1242 3.17"}
	FrameLimit       = Metric{"line_limit_frames_per_second", Gauge, "frame/s", "line limit", "Greatest frame rate of the line.", "RFC 2544 20"}
	FrameLossRatio   = Metric{"frame_loss_ratio", Gauge, "1", "loss", "Share of the frames sent that never came out.", "RFC 1242 3.6"}
	FramesSent       = Metric{"test_frames_sent_total", Counter, "frame", "sent", "Test frames sent.", "RFC 2544 10"}
	FramesUnique     = Metric{"test_frames_unique_total", Counter, "frame", "received", "Different test frames received.", "RFC 2544 10"}
	FramesLost       = Metric{"test_frames_lost_total", Counter, "frame", "lost", "Test frames sent and never received.", "RFC 1242 3.6"}
	FramesDuplicate  = Metric{"test_frames_duplicate_total", Counter, "frame", "duplicates", "Test frames received again.", "RFC 2544 10"}
	FramesReordered  = Metric{"test_frames_reordered_total", Counter, "frame", "reordered", "Test frames received after a later one.", "RFC 4737 3.3"}
	FramesCorrupt    = Metric{"test_frames_corrupt_total", Counter, "frame", "corrupt", "Test frames with a broken signature.", "RFC 2544 10"}
	ForeignFrames    = Metric{"foreign_frames_total", Counter, "frame", "foreign", "Frames that are not the tester's own.", "RFC 2544 10"}
	ReflectedFrames  = Metric{"reflected_frames_total", Counter, "frame", "reflected", "Test frames sent back.", "RFC 2544 6"}
	FrameLatency     = Metric{"frame_latency_seconds", Gauge, "s", "latency", "Time from sending a frame to receiving it.", "RFC 1242 3.8"}
	FrameJitter      = Metric{"frame_jitter_seconds", Gauge, "s", "jitter", "Mean difference of the latencies of consecutive stamped frames of a flow.", "RFC 4689 3.2.5"}
	DepartureLate    = Metric{"departure_lateness_seconds", Gauge, "s", "lateness", "How late frames left against the schedule.", ""}
	BackToBackFrames = Metric{"back_to_back_frames", Gauge, "frame", "back-to-back", "Longest burst without loss, average of the tests.", "RFC 9004 6"}
	ImpliedBuffer    = Metric{"implied_buffer_seconds", Gauge, "s", "implied buffer", "Time that the longest burst takes at the line's rate.", "RFC 9004 6.4"}
	BufferSeconds    = Metric{"corrected_buffer_seconds", Gauge, "s", "buffer time", "Corrected buffer time of the device.", "RFC 9004 6.4"}
	RecoverySeconds  = Metric{"system_recovery_seconds", Gauge, "s", "recovery", "Time from the end of overload to the last loss.", "RFC 2544 26.5"}
	ResetSeconds     = Metric{"reset_seconds", Gauge, "s", "reset", "Time from the last frame before a reset to the first one after.", "RFC 6201 4"}
)

func testerMetrics() []Metric {
	return []Metric{OfferedLoad, IntendedLoad, ForwardingRate, ThroughputRate, FrameLimit, FrameLossRatio, FramesSent, FramesUnique, FramesLost,
		FramesDuplicate, FramesReordered, FramesCorrupt, ForeignFrames, ReflectedFrames, FrameLatency, FrameJitter, DepartureLate,
		BackToBackFrames, ImpliedBuffer, BufferSeconds, RecoverySeconds, ResetSeconds}
}
