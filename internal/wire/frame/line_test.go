package frame

import (
	"math"
	"testing"
)

// The figures of IEEE 802.3 arithmetic at 1 Gbit/s, in Mbit/s.
func TestGoodput(t *testing.T) {
	for _, c := range []struct {
		s    Stack
		mtu  int
		want float64
	}{
		{Stack{}, 1500, 949.285}, {Stack{Timestamps: true}, 1500, 941.482}, {Stack{IPv6: true, Timestamps: true}, 1500, 928.479},
		{Stack{Timestamps: true, VLANs: 1}, 1500, 939.040}, {Stack{UDP: true}, 1500, 957.087}, {Stack{UDP: true, IPv6: true}, 9000, 990.485},
		{Stack{Timestamps: true}, 576, 853.420}, {Stack{}, 40, 0},
	} {
		if got := c.s.Goodput(1e9, c.mtu) / 1e6; math.Abs(got-c.want) > 0.001 {
			t.Errorf("%+v at %d: %.3f, want %.3f", c.s, c.mtu, got, c.want)
		}
	}
}

func TestRate(t *testing.T) {
	for n, want := range map[int]float64{64: 1488095.24, 512: 234962.41, 1518: 81274.38, 60: 1488095.24} {
		if got := Rate(1e9, n); math.Abs(got-want) > 0.01 {
			t.Errorf("%d: %.2f, want %.2f", n, got, want)
		}
	}
}
