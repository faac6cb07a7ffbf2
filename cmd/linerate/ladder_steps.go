package main

import "github.com/linerate/linerate/internal/testnet"

// ladderStep is one rung: the settings of the server as a whole, so that a step
// can be run by itself, and what it changes from the one before.
type ladderStep struct {
	name    string
	change  string
	trade   string
	server  []string // flags of "linerate serve ftp"
	buffers int      // SO_SNDBUF and SO_RCVBUF of the client in bytes; 0: the kernel tunes them
	scaled  bool     // TCP with window scaling and timestamps (RFC 7323)
	offload testnet.Offload
	user    *userStep // of the user-space stack; nil: the kernel's
}

// tradeMark stands between the change and the trade in a note.
const tradeMark = "; trade: "

// note is the change with its trade, as the Result keeps it.
func (s ladderStep) note() string { return s.change + tradeMark + s.trade }

// pcBuffers are those of the PC in the field report: its window stood at 64 KiB
// without scaling.
const pcBuffers = 65536

// ladderSteps is the climb of the field report on the 66AK2H board, from the
// application down, ending where its authors named further work.
func ladderSteps() []ladderStep {
	return []ladderStep{
		{
			name: "as shipped", change: "sends of 512 bytes, a yield after each, buffers of 8,192 bytes, every byte copied",
			trade:  "least memory, and other tasks run after every send",
			server: serverFlags(512, true, 8192, false), buffers: pcBuffers, offload: testnet.OffloadSegments,
		}, {
			name: "1,460-byte sends", change: "sends of 1,460 bytes that fill a frame, no yield",
			trade:  "other tasks of the same priority wait for the sender",
			server: serverFlags(1460, false, 8192, false), buffers: pcBuffers, offload: testnet.OffloadSegments,
		}, {
			name: "65,536-byte buffers", change: "send buffer, receive buffer and receive limit 8,192 -> 65,536 bytes",
			trade:  "112 KiB more for each connection; where the heap has no room, connections are refused",
			server: serverFlags(1460, false, 65536, false), buffers: pcBuffers, offload: testnet.OffloadSegments,
		}, {
			name: "no-copy both ways", change: "sendfile out of the store, received bytes dropped in the kernel",
			trade:  "pages are lent out until they are acknowledged, so content must not change under way",
			server: serverFlags(0, false, 65536, true), buffers: pcBuffers, offload: testnet.OffloadSegments,
		}, {
			name: "autotuned buffers", change: "buffers left to the kernel at both ends, windows scaled, timestamps on",
			trade:  "up to 6 MB for each connection, deeper queues delay other traffic, and timestamps take 12 bytes of each frame",
			server: serverFlags(0, false, 0, true), scaled: true, offload: testnet.OffloadSegments,
		}, {
			name: "larger segments", change: "TSO, GSO and GRO on: one segment of up to 64 KiB crosses the stack, frames are cut below it",
			trade:  "frames leave in bursts, gathering adds delay, and captures show segments that were never on the line",
			server: serverFlags(0, false, 0, true), scaled: true, offload: testnet.OffloadAll,
		},
	}
}
