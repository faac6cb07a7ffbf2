package capture

import (
	"bytes"
	"math"
	"testing"

	"github.com/linerate/linerate/internal/wire/pcap"
	"github.com/linerate/linerate/result"
)

// feed hands every frame of a capture to add.
func feed(t *testing.T, name string, add func(*Frame)) {
	t.Helper()
	rd, err := pcap.NewReader(bytes.NewReader(plain(t, name)))
	if err != nil {
		t.Fatal(err)
	}
	defer rd.Close()
	var rec pcap.Record
	for rd.Next(&rec) == nil {
		add(&Frame{Data: rec.Data, At: rec.Time, Len: rec.Len, Link: uint16(rec.Link)})
	}
}

// TestMerge follows transfers from one end's capture to the other's, whose
// clock is set wrong on purpose.
func TestMerge(t *testing.T) {
	const wrong = 3_600_000_000_000
	for name, want := range map[string]struct {
		lost   float64
		oneWay float64 // of the empty path
		queue  float64 // usual, on the way there
	}{
		"b1_loss1pct":        {31, 0.010, 0.0005}, // one of the 32 was a retransmission of the same millisecond
		"i1_bw20_deep":       {15, 0.010, 0.095},
		"a1_rwnd64k_noscale": {0, 0.010, 0.0005},
	} {
		_, x := verdictOfFile(t, "testdata/"+name+".snd.pcap.zst")
		m := NewMerge(x)
		feed(t, "testdata/"+name+".snd.pcap.zst", m.AtSender)
		feed(t, "testdata/"+name+".rcv.pcap.zst", func(f *Frame) { f.At += wrong; m.AtReceiver(f) })
		trial, findings, ok := m.Trial(x.Name())
		if !ok || len(findings) != 1 {
			t.Errorf("%s: nothing in common", name)
			continue
		}
		lost, _ := result.Get(trial.Values, result.TCPNetworkLost)
		there, _ := result.Get(trial.Values, result.TCPOneWayDelay, "direction", "forward", "quantile", "0")
		queue, _ := result.Get(trial.Values, result.TCPQueueDelay, "direction", "forward")
		if lost != want.lost || math.Abs(there-want.oneWay) > 0.002 || math.Abs(queue-want.queue) > 0.1*want.queue+0.001 {
			t.Errorf("%s: lost %.0f, one way %.4f s, queue %.4f s, want %+v", name, lost, there, queue, want)
		}
	}
}

func TestMergeOfStrangers(t *testing.T) {
	_, x := verdictOfFile(t, "testdata/b1_loss1pct.snd.pcap.zst")
	m := NewMerge(x)
	feed(t, "testdata/b1_loss1pct.snd.pcap.zst", m.AtSender)
	feed(t, "testdata/a1_rwnd64k_noscale.rcv.pcap.zst", m.AtReceiver)
	if _, _, ok := m.Trial("x"); ok {
		t.Error("captures of two transfers were merged")
	}
}
