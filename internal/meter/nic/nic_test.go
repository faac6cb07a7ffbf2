package nic

import (
	"context"
	"testing"
	"testing/fstest"

	"github.com/linerate/linerate/internal/host"
	"github.com/linerate/linerate/result"
)

// recorded is a box with one interface as rtnetlink shows it and one whose
// board had only sysfs.
func recorded() host.Host {
	return host.Recorded(fstest.MapFS{
		"link/eth0/stats64": {Data: []byte("rx_packets 9884\ntx_packets 6776\nrx_bytes 256572969\ntx_bytes 718940\n" +
			"rx_errors 3\nrx_dropped 2\nrx_missed_errors 5\nrx_crc_errors 3\n")},
		"link/eth1/operstate":                      {Data: []byte("down\n")},
		"sys/class/net/eth1/statistics/tx_packets": {Data: []byte("18446744073709551615\n")},
		"sys/class/net/eth1/statistics/tx_errors":  {Data: []byte("0\n")},
		"ethtool/eth0/stats":                       {Data: []byte("rx_drops: 0\nrx queue 0 kicks: 1523\n")},
		"sys/class/net/bad/statistics/rx_packets":  {Data: []byte("-1\n")},
		"sys/class/net/bonding_masters":            {Data: []byte("\n")},
		"ethtool/eth1/stats":                       {Data: []byte("rx_drops: many\n")},
	})
}

func TestRead(t *testing.T) {
	vs, err := Meter{Host: recorded()}.Read(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		m    result.Metric
		want float64
		kv   []string
	}{
		{result.NICFrames, 9884, []string{"interface", "eth0", "direction", "rx"}},
		{result.NICBytes, 718940, []string{"interface", "eth0", "direction", "tx"}},
		{result.NICErrors, 3, []string{"interface", "eth0", "direction", "rx"}},
		{result.NICDropped, 7, []string{"interface", "eth0", "direction", "rx"}}, // dropped and missed
		{result.NICLinkStat, 3, []string{"interface", "eth0", "stat", "rx_crc_errors"}},
		{result.NICFrames, 1 << 64, []string{"interface", "eth1", "direction", "tx"}},
	} {
		if got, ok := result.Sum(vs, c.m, c.kv...); !ok || got != c.want {
			t.Errorf("%s %v = %v, %v; want %v", c.m.Name, c.kv, got, ok, c.want)
		}
	}
}

func TestDriver(t *testing.T) {
	vs, err := Driver{recorded(), []string{"eth0"}}.Read(t.Context())
	if got, _ := result.Get(vs, result.NICStat, "stat", "rx queue 0 kicks"); err != nil || got != 1523 {
		t.Errorf("kicks = %v, %v", got, err)
	}
}

func TestReadFails(t *testing.T) {
	for name, m := range map[string]interface {
		Read(context.Context) ([]result.Value, error)
	}{
		"no such interface": Meter{recorded(), []string{"eth9"}},
		"not a number":      Meter{recorded(), []string{"bad"}},
		"driver, no number": Driver{recorded(), []string{"eth1"}},
		"driver, none":      Driver{recorded(), []string{"bad"}},
		"empty host":        Meter{Host: host.Recorded(fstest.MapFS{})},
	} {
		if vs, err := m.Read(t.Context()); err == nil {
			t.Errorf("%s: read %v without error", name, vs)
		}
	}
}

func FuzzParseStats(f *testing.F) {
	f.Add("rx_packets 1\n tx 0 bytes 2\n")
	f.Add("x\n")
	f.Fuzz(func(t *testing.T, s string) {
		stats, err := parseStats(s)
		for _, st := range stats {
			if v := value("eth0", st); err == nil && v.V != float64(st.n) {
				t.Errorf("%+v became %+v", st, v)
			}
		}
	})
}
