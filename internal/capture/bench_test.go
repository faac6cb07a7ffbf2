package capture

import (
	"bytes"
	"io"
	"testing"

	"github.com/linerate/linerate/internal/wire/pcap"
)

// analyze runs a capture through an Engine.
func analyze(tb testing.TB, r io.Reader, o Options) (*Engine, error) {
	rd, err := pcap.NewReader(r)
	if err != nil {
		return nil, err
	}
	defer rd.Close()
	e := NewEngine(o)
	var rec pcap.Record
	for {
		if err = rd.Next(&rec); err != nil {
			break
		}
		e.Add(&Frame{Data: rec.Data, At: rec.Time, Len: rec.Len, Link: uint16(rec.Link)})
	}
	if err == io.EOF {
		err = nil
	}
	return e, err
}

// BenchmarkVerdict is the whole way from a header-only capture in memory to
// the verdict; packets/s is the figure.
func BenchmarkVerdict(b *testing.B) {
	var file bytes.Buffer
	transfer{segment: 1448, segments: 600_000, gap: 12_300, rtt: 2_000_000, window: 65535 * 8, perACK: 2, timestamps: true}.write(b, &file)
	b.ReportAllocs()
	var frames int64
	for b.Loop() {
		e, err := analyze(b, bytes.NewReader(file.Bytes()), Options{})
		if err != nil {
			b.Fatal(err)
		}
		e.Connections()
		frames += e.Frames()
	}
	b.ReportMetric(float64(frames)/b.Elapsed().Seconds()/1e6, "Mpackets/s")
}
