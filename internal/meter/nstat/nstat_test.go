package nstat

import (
	"testing"
	"testing/fstest"

	"github.com/linerate/linerate/internal/host"
	"github.com/linerate/linerate/result"
)

const (
	snmp = "Tcp: RtoAlgorithm RtoMin RtoMax MaxConn ActiveOpens PassiveOpens AttemptFails EstabResets CurrEstab InSegs OutSegs RetransSegs InErrs OutRsts InCsumErrors\n" +
		"Tcp: 1 200 120000 -1 56 2 0 0 0 9824 6753 17 0 2 0\n" +
		"Udp: InDatagrams NoPorts InErrors OutDatagrams RcvbufErrors SndbufErrors\n" +
		"Udp: 83 0 4 84 4 0\n"
	netstat = "TcpExt: SyncookiesSent PruneCalled TCPTimeouts TCPMemoryPressures\nTcpExt: 0 3 9 1\n"
)

func TestRead(t *testing.T) {
	h := host.Recorded(fstest.MapFS{"proc/net/snmp": {Data: []byte(snmp)}, "proc/net/netstat": {Data: []byte(netstat)}})
	vs, err := Meter{h}.Read(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for counter, want := range map[string]float64{
		"TcpRetransSegs": 17, "TcpInSegs": 9824, "UdpRcvbufErrors": 4, "TcpExtTCPTimeouts": 9, "TcpExtPruneCalled": 3,
	} {
		if got, ok := result.Get(vs, result.NetworkCounter, "counter", counter); !ok || got != want {
			t.Errorf("%s = %v, %v; want %v", counter, got, ok, want)
		}
	}
	if _, ok := result.Get(vs, result.NetworkCounter, "counter", "TcpCurrEstab"); ok {
		t.Error("a gauge is listed among the counters")
	}
	old := host.Recorded(fstest.MapFS{"proc/net/snmp": {Data: []byte(snmp)}})
	if vs, err := (Meter{old}).Read(t.Context()); err != nil || len(vs) == 0 {
		t.Errorf("a kernel without netstat: %d values, %v", len(vs), err)
	}
}

func FuzzParse(f *testing.F) {
	f.Add(snmp)
	f.Add(netstat)
	f.Add("Tcp: InSegs\nTcp: -1\n")
	f.Fuzz(func(t *testing.T, s string) {
		vs, _ := parse(s)
		for _, v := range vs {
			if v.V < 0 {
				t.Errorf("%v", v)
			}
		}
	})
}
