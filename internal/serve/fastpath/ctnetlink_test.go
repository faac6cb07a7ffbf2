package fastpath

import (
	"net/netip"
	"testing"
)

func connection(protocol uint8, source, target, changed string) Connection {
	o := netip.MustParseAddrPort
	return Connection{Tuple{o(source), o(target), protocol}, Tuple{o(target), o(changed), protocol}}
}

// event is what ctnetlink tells of a connection.
func event(c Connection, status uint32, state uint8) []byte {
	b := appendTuple(appendTuple(nil, ctaTupleOrig, c.Original), ctaTupleReply, c.Reply)
	b = appendAttribute(b, ctaStatus, []byte{byte(status >> 24), byte(status >> 16), byte(status >> 8), byte(status)})
	if state == stateUntold {
		return b
	}
	return appendAttribute(b, ctaProtoInfo|nested, nil, func(b []byte) []byte {
		return appendAttribute(b, ctaProtoInfoTCP|nested, nil, func(b []byte) []byte { return appendAttribute(b, ctaTCPState, []byte{state}) })
	})
}

// TestTrackedSaysWhatIsFit: which entries of conntrack may be forwarded beside
// the stack.
func TestTrackedSaysWhatIsFit(t *testing.T) {
	const full = statusSeenReply | statusAssured | statusConfirmed
	four := connection(tcp, "10.1.0.2:1000", "10.2.0.2:80", "10.2.0.1:4000")
	six := connection(udp, "[fd01::2]:1000", "[fd02::2]:53", "[fd01::2]:1000")
	help := appendAttribute(nil, ctaHelp|nested, nil, func(b []byte) []byte { return appendAttribute(b, ctaHelpName, []byte("ftp\x00")) })
	for name, c := range map[string]struct {
		message []byte
		of      Connection
		why     string
		ended   bool
	}{
		"TCP":              {event(four, full, established), four, "", false},
		"UDP over IPv6":    {event(six, full, stateUntold), six, "", false},
		"no answer yet":    {event(six, statusConfirmed, stateUntold), six, notYet, false},
		"TCP, untold":      {event(four, full, stateUntold), four, notYet, false},
		"TCP, FIN_WAIT":    {event(four, full, 4), four, notYet, true},
		"dying":            {event(six, full|statusDying, stateUntold), six, notYet, true},
		"sequence changes": {event(four, full|statusAdjusts, established), four, "its sequence numbers are changed", false},
		"a helper":         {append(event(four, full, established), help...), four, "a helper reads it (ftp)", false},
		"a zone":           {appendAttribute(event(four, full, established), ctaZone, []byte{0, 3}), four, "in a conntrack zone", false},
		"no zone":          {appendAttribute(event(four, full, established), ctaZone, []byte{0, 0}), four, "", false},
	} {
		got := readTracked(c.message)
		if got.Connection != c.of || got.unfit() != c.why || got.ended() != c.ended {
			t.Errorf("%s: %+v, %q, ended %v, want %+v, %q, %v", name, got.Connection, got.unfit(), got.ended(), c.of, c.why, c.ended)
		}
	}
}

// FuzzTracked: no message makes the reader fail, and only a whole one is fit.
func FuzzTracked(f *testing.F) {
	whole := event(connection(tcp, "10.1.0.2:1000", "10.2.0.2:80", "10.2.0.1:4000"), statusSeenReply|statusAssured|statusConfirmed, established)
	for n := range whole {
		f.Add(whole[:n])
	}
	f.Add(whole)
	f.Fuzz(func(t *testing.T, b []byte) {
		if got := readTracked(b); got.unfit() == "" && (!got.valid() || got.status&statusConfirmed == 0) {
			t.Errorf("%x is fit: %+v", b, got)
		}
	})
}

func BenchmarkReadTracked(b *testing.B) {
	m := event(connection(tcp, "10.1.0.2:1000", "10.2.0.2:80", "10.2.0.1:4000"), 0xe, established)
	b.ReportAllocs()
	for b.Loop() {
		readTracked(m)
	}
}
