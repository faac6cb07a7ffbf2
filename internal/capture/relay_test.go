package capture

import (
	"bytes"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"slices"
	"testing"
	"time"

	"github.com/linerate/linerate/internal/port"
	"github.com/linerate/linerate/internal/testnet"
	"github.com/linerate/linerate/internal/wire/pcap"
)

// scenario is a path and a traffic whose true limit is known.
type scenario struct {
	name     string
	truth    string   // verdict
	receiver []string // verdicts that are as right from behind the fault
	options  testnet.RelayOptions
	traffic  testnet.Traffic
	quiet    bool          // nothing is lost, so nothing should be sent again
	noStamps bool          // no timestamps, as many boards
	noScale  bool          // the receiver offers no window scaling
	linger   time.Duration // capture longer, to see who is answered
}

// withoutStamps turns timestamps off. A full segment then carries 12 bytes more,
// and a host that writes whole segments writes those.
func (s scenario) withoutStamps() scenario {
	s.noStamps = true
	if s.truth == "tcp.sender-host" {
		s.traffic.Write = s.traffic.Write / 1448 * 1460
	}
	return s
}

// draw returns a number between lo and hi, evenly on a logarithmic scale.
func draw(r *rand.Rand, lo, hi float64) float64 {
	return lo * math.Pow(hi/lo, r.Float64())
}

// delays splits a round trip evenly over both directions.
func delays(rtt float64) (o testnet.RelayOptions) {
	o.AB.Delay = time.Duration(rtt / 2 * 1e9)
	o.BA.Delay = o.AB.Delay
	return o
}

var congestions = []string{"reno", "cubic"}

// scenarios makes one random case of each kind.
func scenarios(r *rand.Rand) []scenario {
	cc := congestions[r.IntN(2)]
	long := 2500 * time.Millisecond
	window := scenario{name: "receive window", truth: "tcp.receive-window", options: delays(draw(r, 0.008, 0.05))}
	window.traffic = testnet.Traffic{Duration: long, Congestion: cc}
	if r.IntN(2) == 0 {
		window.noScale = true
	} else {
		window.traffic.ReceiveBuffer = int(draw(r, 20_000, 100_000))
	}
	zero := scenario{name: "zero window", truth: "tcp.zero-window", options: delays(draw(r, 0.002, 0.02))}
	zero.traffic = testnet.Traffic{Duration: long + time.Second, Read: int(draw(r, 50_000, 300_000)), Congestion: cc,
		Pause: time.Duration(draw(r, 0.15, 0.4) * 1e9), ReceiveBuffer: int(draw(r, 40_000, 120_000))}
	sendBuffer := scenario{name: "send buffer", truth: "tcp.send-buffer", options: delays(draw(r, 0.01, 0.04))}
	sendBuffer.traffic = testnet.Traffic{Duration: long, Congestion: cc, Write: 1448, NoDelay: true, SendBuffer: int(draw(r, 12_000, 90_000))}
	app := scenario{name: "application", truth: "tcp.application", options: delays(draw(r, 0.004, 0.03))}
	every := draw(r, 0.008, 0.05)
	app.traffic = testnet.Traffic{Duration: long, Write: int(draw(r, 4_000, 20_000)), Every: time.Duration(every * 1e9), Congestion: cc}
	turns := scenario{name: "request-response", truth: "tcp.request-response", options: delays(draw(r, 0.002, 0.03))}
	turns.traffic = testnet.Traffic{Duration: long, Write: int(draw(r, 2_000, 25_000)), Reply: 8, Congestion: cc, NoDelay: r.IntN(2) == 0}
	nagle := scenario{name: "nagle", truth: "tcp.nagle-delayed-ack", options: delays(draw(r, 0.0006, 0.01))}
	nagle.traffic = testnet.Traffic{Duration: long, Write: int(draw(r, 50, 600)), Burst: 2, Reply: 8}
	small := scenario{name: "small segments", truth: "tcp.small-segments", options: delays(draw(r, 0.001, 0.01))}
	small.traffic = testnet.Traffic{Duration: long, Write: int(draw(r, 100, 600)), NoDelay: true, Every: time.Duration(draw(r, 80e-6, 300e-6) * 1e9)}
	bandwidth := scenario{name: "bandwidth", truth: "tcp.bandwidth", options: delays(draw(r, 0.004, 0.04))}
	bandwidth.options.AB.Rate = draw(r, 5e6, 60e6)
	bdp := bandwidth.options.AB.Rate / 8 * 2 * bandwidth.options.AB.Delay.Seconds()
	bandwidth.options.AB.Queue = int(max(bdp*draw(r, 1, 4), 30_000))
	bandwidth.traffic = testnet.Traffic{Duration: long + 2*time.Second, Congestion: append(congestions, "bbr")[r.IntN(3)]}
	shallow := scenario{name: "shallow queue", truth: "tcp.bandwidth", options: delays(draw(r, 0.008, 0.03))}
	shallow.options.AB.Rate = draw(r, 8e6, 60e6)
	shallow.options.AB.Queue = int(max(shallow.options.AB.Rate/8*2*shallow.options.AB.Delay.Seconds()*draw(r, 0.6, 1), 15_000))
	shallow.traffic = testnet.Traffic{Duration: long + 2*time.Second, Congestion: "cubic"}
	loss := scenario{name: "loss", truth: "tcp.loss", options: delays(draw(r, 0.008, 0.04))}
	loss.options.AB.Loss = draw(r, 0.004, 0.03)
	loss.traffic = testnet.Traffic{Duration: long + 2*time.Second, Congestion: cc}
	stall := scenario{name: "timeout", truth: "tcp.rto-stall", receiver: []string{"tcp.silence-upstream"}, options: delays(draw(r, 0.005, 0.04))}
	first := 10 + r.IntN(30)
	for i := range 24 + r.IntN(10) {
		stall.options.AB.Drop = append(stall.options.AB.Drop, first+i)
	}
	stall.linger = 1500 * time.Millisecond
	stall.traffic = testnet.Traffic{Duration: 8 * time.Second, Bytes: (first + 20) * 1448, Write: 1448}
	hole := scenario{name: "black hole", truth: "tcp.mtu-black-hole", receiver: []string{"tcp.silence-upstream"}, options: delays(draw(r, 0.004, 0.03))}
	hole.options.AB.MaxFrame = 1200 + r.IntN(280)
	hole.traffic = testnet.Traffic{Duration: 3 * time.Second, Write: 600 + r.IntN(500), Burst: 5, Every: 700 * time.Millisecond, NoDelay: false}
	short := scenario{name: "slow start", truth: "tcp.slow-start", options: delays(draw(r, 0.02, 0.06))}
	short.traffic = testnet.Traffic{Duration: long, Bytes: int(draw(r, 150_000, 900_000)), Congestion: cc}
	reverse := scenario{name: "reverse path", truth: "tcp.reverse-path", options: delays(draw(r, 0.006, 0.03))}
	reverse.options.BA.Rate = draw(r, 0.15e6, 0.6e6)
	reverse.options.AB.Rate = 80e6
	reverse.traffic = testnet.Traffic{Duration: long + time.Second, Congestion: cc}
	host := scenario{name: "sender host", truth: "tcp.sender-host", options: delays(draw(r, 0.0004, 0.0012))}
	host.traffic = testnet.Traffic{Duration: time.Second, Write: 1448 * (2 + r.IntN(3)), NoDelay: true, Every: time.Duration(draw(r, 150e-6, 400e-6) * 1e9)}
	for _, s := range []*scenario{&window, &sendBuffer, &app, &turns, &nagle, &small, &short, &host} {
		s.quiet = true
	}
	return []scenario{window, zero, sendBuffer, app, turns, nagle, small, bandwidth, shallow, loss, stall, hole, short, reverse, host}
}

// outcome is a scenario's captures and what the kernel counted.
type outcome struct {
	captures map[string][]byte // by vantage
	info     testnet.TCPInfo
}

// play runs a scenario in namespaces of its own.
func (s *scenario) play(t testing.TB) outcome {
	t.Helper()
	testnet.NeedRoot(t)
	a, b := testnet.NewNamespace(t, "a"), testnet.NewNamespace(t, "b")
	if s.noStamps {
		if err := a.SetSysctl("net.ipv4.tcp_timestamps", "0"); err != nil {
			t.Fatal(err)
		}
	}
	if s.noScale {
		if err := b.SetSysctl("net.ipv4.tcp_window_scaling", "0"); err != nil {
			t.Fatal(err)
		}
	}
	var middle bytes.Buffer
	s.options.Pcap = &middle
	relay, err := testnet.Join(a, b, s.options)
	if err != nil {
		t.Fatal(err)
	}
	defer relay.Close()
	sender, receiver := record(t, a, relay.Interface), record(t, b, relay.Interface)
	info, err := s.traffic.Run(t.Context(), a, b, relay.B)
	if err != nil {
		t.Fatalf("%s: %v", s.name, err)
	}
	time.Sleep(2*(s.options.AB.Delay+s.options.BA.Delay) + s.linger + 50*time.Millisecond) // the last frames are on their way
	out := outcome{captures: map[string][]byte{"sender": sender(), "receiver": receiver()}, info: info}
	if err := relay.Close(); err != nil {
		t.Fatal(err)
	}
	out.captures["middle"] = middle.Bytes()
	return out
}

// record captures headers on an interface until the returned function is
// called, which returns the capture.
func record(t testing.TB, n *testnet.Namespace, name string) func() []byte {
	t.Helper()
	var tap port.Tap
	err := n.Do(func() (err error) {
		tap, err = port.Listen(name, 96)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	w, err := pcap.NewWriter(&out, pcap.LinkType(tap.Info().Link), 96)
	if err != nil {
		t.Fatal(err)
	}
	stop, done := make(chan struct{}), make(chan error, 1)
	go func() {
		frames := make([]port.Frame, tap.Info().Batch)
		for {
			n, err := tap.Recv(frames)
			for _, f := range frames[:n] {
				err = errors.Join(err, w.Write(f.At.UnixNano(), f.Data, f.Len))
			}
			if err != nil && !errors.Is(err, os.ErrDeadlineExceeded) {
				done <- err
				return
			}
			select {
			case <-stop:
				if n == 0 {
					done <- w.Flush()
					return
				}
			default:
			}
		}
	}()
	return func() []byte {
		close(stop)
		if err := <-done; err != nil {
			t.Fatal(err)
		}
		lost, err := tap.Dropped()
		if err != nil || lost > 0 {
			t.Fatalf("capture on %s lost %d frames, %v", name, lost, err)
		}
		if err := tap.Close(); err != nil {
			t.Fatal(err)
		}
		return out.Bytes()
	}
}

// verdictOf analyses a capture and returns its largest direction.
func verdictOf(t testing.TB, file []byte) *Connection {
	t.Helper()
	e, err := analyze(t, bytes.NewReader(file), Options{})
	if err != nil {
		t.Fatal(err)
	}
	cs := e.Connections()
	if len(cs) == 0 {
		t.Fatalf("no connection in %d frames", e.Frames())
	}
	return cs[0]
}

// right reports whether a verdict names the scenario's limit.
func (s *scenario) right(vantage, verdict string) bool {
	return verdict == s.truth || vantage == "receiver" && slices.Contains(s.receiver, verdict)
}

func (s *scenario) String() string {
	return fmt.Sprintf("%s (timestamps %v): rtt %s rate %.3g/%.3g queue %d loss %.4f %+v", s.name, !s.noStamps, s.options.AB.Delay+s.options.BA.Delay,
		s.options.AB.Rate, s.options.BA.Rate, s.options.AB.Queue, s.options.AB.Loss, s.traffic)
}
