package explain

import (
	"slices"
	"strings"
	"testing"

	"github.com/linerate/linerate/internal/explain/facts"
	"github.com/linerate/linerate/result"
)

// The climbs of the field reports: what was seen at each step, the rules that
// must fire on it, and those that must clear their suspect.
func TestFieldReports(t *testing.T) {
	for _, c := range []struct {
		step, facts   string
		fire, cleared []string
	}{
		{"K2H-1: as shipped, 11/23 MB/s", `
protocol: tcp
link.speed: 1Gbit/s
goodput: {tx: 11MB/s, rx: 23MB/s}
test: {bytes: 2.56MB, duration: 250ms}
app: {frame-size: 566, write-size: 512, sleeps: yes, debug-build: yes}`,
			[]string{"R-MEAS-5", "R-RTOS-1", "R-APP-2"}, []string{"R-MEAS-4"}},
		{"K2H-2: 23/23 MB/s with 8 KiB of window, CPU not full", `
protocol: tcp
link.speed: 1Gbit/s
goodput: 23MB/s
app.frame-size: 1514
tcp: {window: 8192, rtt: 356us}
cpu.busiest: 50%`, []string{"R-TCP-1"}, []string{"R-MEAS-4"}},
		{"K2H-3: ping works, connections refused with 12 after larger buffers", `
works: [ping]
fails: [connect]
app: {error: enomem, after-buffer-change: yes}`, []string{"R-RTOS-2"}, nil},
		{"K2H-4: 64 KiB over 0.6 ms, 45 MB/s, CPU 68 %: neither window nor CPU", `
protocol: tcp
link.speed: 1Gbit/s
goodput: 45MB/s
app.frame-size: 1514
tcp: {window: 65536, rtt: 0.6ms}
cpu.busiest: 68%`, []string{"R-TCP-4"}, []string{"R-TCP-3", "R-TCP-1", "R-CPU-4", "R-MEAS-4"}},
		{"K2H-5: an ACK for every 2,920 bytes", `
protocol: tcp
link.speed: 1Gbit/s
goodput.tx: 55MB/s
tcp.bytes-per-ack: 2920`, []string{"R-IRQ-3"}, nil},
		{"K2H-6: the transmit routine takes 1,550 to 2,950 cycles", `
cpu: {send-cycles-min: 1550, send-cycles-max: 2950}`, []string{"R-RTOS-3"}, nil},
		{"P1020: two ports of 1,518-byte frames, interrupts on one core", `
role: forwarder
link: {speed: 1Gbit/s, ports: 2}
goodput: 600Mbit/s
irq: {one-core: yes, frames: 81274, rate: 81274}
cpu: {busiest: 100%, softirq: 100%, others: 2%}
ring.rx: 32`, []string{"R-CPU-1", "R-IRQ-1"}, nil},
		{"P1020: 956.569 Mbit/s: at line rate", `
protocol: udp
link.speed: 1Gbit/s
goodput: 956.569Mbit/s`, []string{"R-MEAS-4"}, nil},
		{"TSE: check sums in the profile, an interrupt for each packet sent, descriptors left", `
link.speed: 100Mbit/s
goodput: 20Mbit/s
cpu.hot: [checksum]
irq: {tx-per-packet: yes, one-packet-drain: yes}`, []string{"R-CPU-9", "R-IRQ-7", "R-RTOS-5"}, nil},
		{"Zynq: only headers in coherent memory, 618 Mbit/s", `
protocol: tcp
link.speed: 1Gbit/s
goodput.rx: 618.56Mbit/s
cpu.dma-memory: header-only`, []string{"R-CPU-3"}, []string{"R-MEAS-4"}},
		{"Zynq: whole packets, 933.24 Mbit/s: at line rate", `
protocol: tcp
link.speed: 1Gbit/s
goodput.rx: 933.24Mbit/s
cpu.dma-memory: coherent`, []string{"R-MEAS-4"}, nil},
	} {
		r, err := facts.Decode(strings.NewReader(c.facts))
		if err != nil {
			t.Fatalf("%s: %v", c.step, err)
		}
		fs := Explain(r)
		fired := codes(Hypotheses(fs))
		for _, code := range c.fire {
			if !slices.Contains(fired, code) {
				t.Errorf("%s: %v fired, want %s", c.step, fired, code)
			}
		}
		for _, code := range c.cleared {
			if !slices.ContainsFunc(fs, func(f result.Finding) bool { return f.Code == code && f.Verdict == result.DoesNotLimit }) {
				t.Errorf("%s: %s is not cleared", c.step, code)
			}
		}
	}
}

// Explanations must not come from nowhere: a sound link, thin evidence, and
// figures that resemble a fault but are none.
func TestNothingIsMadeUp(t *testing.T) {
	for _, c := range []struct{ name, facts string }{
		{"only a rate below the line", "link.speed: 1Gbit/s\ngoodput: 300Mbit/s"},
		{"only a board and a speed", "board: something\nlink.speed: 100Mbit/s"},
		{"everything clean", "link: {speed: 1Gbit/s, speed-max: 1Gbit/s, duplex: full, peer-duplex: full, eee: off, clock: right, phy-driver: vendor}\nerrors: {crc: 0, align: 0, late-collisions: 0}\ndrops: {ring: 0, fifo: 0, softnet: 0, socket: 0, qdisc: 0}\nbus.aspm: off\ncpu: {busiest: 40%, governor: performance, steal: 0%, cache: on, dma-memory: cached}"},
		{"UDP at a rate that was asked for", "protocol: udp\nlink.speed: 1Gbit/s\ntest.offered: 200Mbit/s\ngoodput: 200Mbit/s"},
		{"a table half full", "conntrack: {count: 100000, max: 262144, buckets: 262144}"},
		{"a bus wider than the line", "link.speed: 1Gbit/s\ngoodput: 500Mbit/s\nbus: {kind: pcie, pcie-generation: 3, pcie-lanes: 4}"},
		{"coalescing as written", "irq: {coalesce-written: 50us, coalesce-read: 50us}"},
		{"all is well elsewhere", "works: [tx, rx, tcp, udp, ping, connect]"},
	} {
		if fs := explainFacts(t, c.facts); len(fs) > 0 {
			t.Errorf("%s: %+v", c.name, fs)
		}
	}
}

// At line rate nothing may stand before "stop", whatever else was seen.
func TestLineRateStopsFirst(t *testing.T) {
	for _, text := range []string{
		"protocol: tcp\nlink.speed: 1Gbit/s\ngoodput: 941Mbit/s\ncpu.busiest: 97%\ncpu.governor: ondemand\nlink.eee: active\ndrops.ring: 5",
		"protocol: udp\nlink: {speed: 10Gbit/s, mtu: 9000}\ngoodput: 9.9Gbit/s\napp.cpu: 99%",
		"protocol: tcp\nlink.speed: 100Mbit/s\ngoodput: {tx: 94.1Mbit/s, rx: 93.9Mbit/s}",
	} {
		fs := explainFacts(t, text)
		if len(fs) == 0 || fs[0].Rule != "line.at-rate" || !strings.Contains(fs[0].Text, "nothing more to gain") {
			t.Errorf("%q: %+v", text, fs)
		}
	}
	fs := explainFacts(t, "protocol: tcp\nlink.speed: 1Gbit/s\ngoodput: {tx: 941Mbit/s, rx: 40Mbit/s}\nlink.pause: off")
	if len(fs) == 0 || fs[0].Code != "R-LINK-4" {
		t.Errorf("one direction at line rate, the other not: %+v", fs)
	}
}

// The same faults as a different board would show them.
func TestVariations(t *testing.T) {
	for _, c := range []struct{ want, facts string }{
		{"R-TCP-1", "protocol: tcp\nlink.speed: 10Gbit/s\ngoodput: 260Mbit/s\ntcp: {window: 3MB, rtt: 90ms}"},
		{"R-TCP-2", "protocol: tcp\nlink.speed: 1Gbit/s\ngoodput: 300Mbit/s\ntcp.sndbuf-limited: 60%"},
		{"R-TCP-3", "protocol: tcp\nlink.speed: 1Gbit/s\ngoodput: 26Mbit/s\ntcp: {window: 65535, rtt: 20ms, window-scaling: off}"},
		{"R-TCP-6", "link.speed: 2.5Gbit/s\ntcp.stops: yes\nworks: [offload-off]"},
		{"R-TCP-10", "protocol: tcp\napp: {exchanges: 5, writes-per-message: 3}\ntcp.stall: 0.2s"},
		{"R-TCP-12", "link: {speed: 1Gbit/s, mtu: 9000, path-mtu: 1500}\nworks: [ping]\nfails: [large-packets]"},
		{"R-TCP-14", "protocol: tcp\nlink.speed: 100Mbit/s\ngoodput: 20Mbit/s\ntcp: {ack-at-full-window: yes, window: 2920}"},
		{"R-LINK-1", "link: {speed: 100Mbit/s, speed-max: 1Gbit/s}\ngoodput: 94Mbit/s"},
		{"R-LINK-2", "link: {speed: 100Mbit/s, duplex: half, peer-duplex: full}\ngoodput: 3Mbit/s\nprotocol: tcp"},
		{"R-LINK-3", "link.speed: 1Gbit/s\nerrors: {crc: 5000, frames: 1000000}\nprotocol: tcp\ngoodput: 200Mbit/s"},
		{"R-LINK-6", "link.speed: 2.5Gbit/s\nbus.kind: usb2\ngoodput: 310Mbit/s"},
		{"R-LINK-6", "link.speed: 10Gbit/s\nbus: {kind: pcie, pcie-generation: 2, pcie-lanes: 1}\ngoodput: 3.1Gbit/s\nprotocol: tcp"},
		{"R-PCI-1", "link.speed: 1Gbit/s\nbus: {kind: pcie, aspm: on}\ngoodput: {tx: 930Mbit/s, rx: 60Mbit/s}\ndrops.ring: 900"},
		{"R-BOND-1", "link: {speed: 1Gbit/s, bond: yes, ports: 4}\ngoodput: 940Mbit/s\nprotocol: tcp\ntest.streams: 1"},
		{"R-OFF-1", "link: {speed: 10Gbit/s, virtual: yes}\ngoodput: 2Gbit/s\noffload.other: off\ncpu.busiest: 95%"},
		{"R-OFF-2", "link.virtual: yes\ngoodput: {tx: 5Gbit/s, rx: 3Mbit/s}\nworks: [offload-off]"},
		{"R-DROP-1", "link.speed: 10Gbit/s\ndrops.ring: 20000\nring: {rx: 1024, rx-max: 8192}\ncpu.softirq: 40%"},
		{"R-DROP-2", "link.speed: 10Gbit/s\ndrops.ring: 20000\ncpu: {softirq: 98%, busiest: 99%}"},
		{"R-DROP-4", "test.duration: 10s\ndrops.squeezed: 4000\nirq.full-polls: 40%"},
		{"R-DROP-7", "role: forwarder\nconntrack: {count: 65530, max: 65536}"},
		{"R-DROP-8", "link.speed: 1Gbit/s\ngoodput: 400Mbit/s\npause.rx: 120000"},
		{"R-CPU-2", "link.speed: 1Gbit/s\ngoodput: 700Mbit/s\ncompared.other-core: 930Mbit/s"},
		{"R-CPU-3", "link.speed: 1Gbit/s\ngoodput: 200Mbit/s\ncpu: {message-cost: 5us, byte-cost: 20ns}"},
		{"R-CPU-6", "link.speed: 1Gbit/s\ngoodput: 300Mbit/s\ncpu: {clock: 600MHz, clock-max: 1500MHz}"},
		{"R-CPU-8", "cpu.steal: 20%\ngoodput: 300Mbit/s\nlink.speed: 1Gbit/s"},
		{"R-IRQ-1", "irq: {packets-per-poll: 1, frames: 25000}\ncpu.softirq: 45%"},
		{"R-TCP-1", "protocol: tcp\nlink.speed: 100Mbit/s\ngoodput: 10Mbit/s\ntcp: {window: 5840, send-buffer: 2920, mss: 1460}"},
		{"R-IRQ-2", "irq: {flush-timeout: 10us, frames: 25000}"},
		{"R-IRQ-4", "irq: {latency-bound: yes, coalesce: 100us}\ntcp.rtt: 250us"},
		{"R-IRQ-6", "irq: {coalesce-written: 200us, coalesce-read: 64us}"},
		{"R-IRQ-8", "irq.pacing: since-last"},
		{"R-RTOS-7", "protocol: tcp\ntcp: {rtt: 40ms, rtt-idle: 0.3ms, retransmits: 0, ack-handling-late: yes}"},
		{"R-MEAS-2", "protocol: udp\nlink.speed: 100Mbit/s\ntest.sent: 400Mbit/s\ngoodput: 90Mbit/s"},
		{"R-MEAS-6", "test: {storage: yes, storage-rate: 20MB/s}\ngoodput: 19MB/s\nlink.speed: 1Gbit/s"},
	} {
		got := codes(explainFacts(t, c.facts))
		if !slices.Contains(got[:min(len(got), 3)], c.want) {
			t.Errorf("%q: %v, want %s", c.facts, got, c.want)
		}
	}
}
