package result

// Metrics of the software network card (serve/netstack/nic).
var (
	CardInterrupts         = Metric{"card_interrupts_total", Counter, "1", "card irq", "Receive interrupts that the software card raised.", ""}
	CardPolls              = Metric{"card_polls_total", Counter, "1", "card polls", "Polls of the receive ring, each of at most a budget of frames.", ""}
	PacedInterrupts        = Metric{"paced_interrupts_per_second", Gauge, "1/s", "paced irq/s", "Receive interrupts that a pacing lets through, by its closed form.", ""}
	PacedBatch             = Metric{"paced_batch_frames", Gauge, "frame", "paced batch", "Frames per such interrupt.", ""}
	CardCallFrames         = Metric{"card_call_frames", Gauge, "frame", "frames", "Frames that one call of the driver's routine handled.", ""}
	CardCallSince          = Metric{"card_call_since_seconds", Gauge, "s", "since", "Time from the entry of the call before to this one.", ""}
	CardReceived           = Metric{"card_received_frames_total", Counter, "frame", "card rx", "Frames handed to the driver.", ""}
	CardReceivedBytes      = Metric{"card_received_bytes_total", Counter, "B", "card rx bytes", "Bytes of those frames, without FCS.", ""}
	CardBatch              = Metric{"card_batch_max_frames", Gauge, "frame", "largest batch", "Most frames served by one receive interrupt.", ""}
	CardRestarts           = Metric{"card_dma_restarts_total", Counter, "1", "DMA restarts", "Times the driver restarted a DMA that stops after each frame.", ""}
	CardHeld               = Metric{"card_held_seconds_total", Counter, "s", "held", "Time from the first frame in the ring to its interrupt, summed over interrupts.", ""}
	CardHeldWorst          = Metric{"card_held_max_seconds", Gauge, "s", "longest held", "The longest of those times.", ""}
	CardLost               = Metric{"card_lost_frames_total", Counter, "frame", "no descriptor", "Frames that found no receive descriptor.", ""}
	CardFIFO               = Metric{"card_fifo_frames_total", Counter, "frame", "FIFO frames", "Frames whose head went to each of the two slave FIFOs.", ""}
	CardKicks              = Metric{"card_transmit_kicks_total", Counter, "1", "tx kicks", "Calls that put frames on the wire.", ""}
	CardSent               = Metric{"card_sent_frames_total", Counter, "frame", "card tx", "Frames put on the wire; one that the card cuts counts once.", ""}
	CardFull               = Metric{"card_transmit_full_total", Counter, "frame", "tx ring full", "Frames that found no transmit descriptor.", ""}
	CardDropped            = Metric{"card_transmit_dropped_total", Counter, "frame", "tx dropped", "Frames lost because the driver's queue before the transmit ring was full, too.", ""}
	CardReclaimed          = Metric{"card_reclaimed_frames_total", Counter, "frame", "reclaimed", "Transmit descriptors given back to the driver.", ""}
	CardTransmitInterrupts = Metric{"card_transmit_interrupts_total", Counter, "1", "tx irq", "Transmit interrupts that the software card raised.", ""}
	CardTimerLate          = Metric{"card_timer_late_seconds", Gauge, "s", "timer late", "How much longer than asked the pacing timer took.", ""}

	StackMemory      = Metric{"stack_memory_bytes", Gauge, "B", "stack memory", "Buffer memory that the connections of the user-space stack hold.", ""}
	StackRefused     = Metric{"stack_refused_connections_total", Counter, "1", "ENOMEM", "Connections refused for want of stack memory.", ""}
	StackRetransmits = Metric{"stack_retransmits_total", Counter, "segment", "stack rexmit", "Segments that the user-space stack sent again.", "RFC 9293 section 3.8.1"}
	StackSegmentsIn  = Metric{"stack_segments_in_total", Counter, "segment", "segs in", "Valid TCP segments that the user-space stack took.", "RFC 9293"}
	StackSegmentsOut = Metric{"stack_segments_out_total", Counter, "segment", "segs out", "TCP segments that the user-space stack sent.", "RFC 9293"}
)

func cardMetrics() []Metric {
	return []Metric{
		CardInterrupts, CardPolls, PacedInterrupts, PacedBatch, CardCallFrames, CardCallSince, CardReceived, CardReceivedBytes, CardBatch, CardRestarts, CardHeld, CardHeldWorst, CardLost, CardFIFO,
		CardKicks, CardSent, CardFull, CardDropped, CardReclaimed, CardTransmitInterrupts, CardTimerLate,
		StackMemory, StackRefused, StackRetransmits, StackSegmentsIn, StackSegmentsOut,
	}
}
