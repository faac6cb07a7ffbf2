package byhand

import (
	"strings"
	"testing"

	"github.com/linerate/linerate/result"
)

// The values that the field report and the rule base name, in each system's own
// spelling.
func TestSaysWhatToDo(t *testing.T) {
	for _, c := range []struct {
		os           OS
		lever, value string
		want         []string
	}{
		{Windows, "windows.TcpAckFrequency", "10", []string{`Services\Tcpip\Parameters\Interfaces\{GUID}`, "/v TcpAckFrequency /t REG_DWORD /d 10", "TcpDelAckTicks /t REG_DWORD /d 1", "shutdown /r"}},
		{Windows, "stack.ack-every", "2 full segments", []string{"TcpAckFrequency /t REG_DWORD /d 2 "}},
		{Windows, "sysctl.net.ipv4.tcp_rmem", "4096 131072 16777216", []string{"autotuninglevel=normal"}},
		{Windows, "link.mtu", "9000", []string{"Jumbo Packet", "mtu=9000"}},
		{Windows, "ethtool.features.tso", "off", []string{"Disable-NetAdapterLso"}},
		{NDK, "stack.receive-window", "64KiB or more", []string{"CFGITEM_IP_SOCKTCPRXBUF", "CFGITEM_IP_SOCKTCPRXLIMIT", "65536", "0x100000"}},
		{NDK, "ethtool.coalesce.rx-usecs", "50", []string{"FIRST_NEW_PACKET", "timerLoadCount = 2"}},
		{NDK, "app.write-size", "1460 or more", []string{"1460"}},
		{Linux, "ethtool.rings.rx", "1024", []string{"ethtool -G eth0 rx 1024"}},
		{Linux, "ethtool.coalesce.rx-usecs", "50", []string{"ethtool -C eth0 rx-usecs 50"}},
		{Linux, "sysctl.net.ipv4.tcp_rmem", "4096 131072 16777216", []string{"sysctl -w net.ipv4.tcp_rmem='4096 131072 16777216'", "/etc/sysctl.d/"}},
		{DeviceTree, "accumulator.pacing", "since-first, 2", []string{"accumulator = <0 47 16 2 50>;"}},
		{DeviceTree, "ethtool.eee.eee", "off", []string{"eee-broken-1000t;"}},
	} {
		i, ok := For(c.os, result.Advice{Lever: c.lever, Value: c.value})
		text := strings.Join(i.Do, "\n")
		for _, want := range c.want {
			if !ok || !strings.Contains(text, want) {
				t.Errorf("%s %s=%s lacks %q:\n%s", c.os, c.lever, c.value, want, text)
			}
		}
		if len(i.Undo) == 0 || i.Ref == "" {
			t.Errorf("%s %s: no way back or no source: %+v", c.os, c.lever, i)
		}
	}
	if i, ok := For(NDK, result.Advice{Lever: "queue.rx-0.rps_cpus", Value: "3"}); ok {
		t.Errorf("a system without packet steering was told %v", i)
	}
}
