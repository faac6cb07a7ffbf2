package byhand

import (
	"strconv"

	"github.com/linerate/linerate/result"
)

// interfaces is the key below which Windows keeps each interface's TCP settings;
// GUID is the InterfaceGuid that Get-NetAdapter shows.
const interfaces = `HKLM\SYSTEM\CurrentControlSet\Services\Tcpip\Parameters\Interfaces\{GUID}`

func windows() []rule {
	const (
		ps    = "in PowerShell as administrator; Get-NetAdapter lists the names"
		props = "the driver's own names and values: Get-NetAdapterAdvancedProperty -Name Ethernet"
	)
	// property sets a property of the driver by the name that most drivers show.
	property := func(name string, value func(result.Advice) string) func(result.Advice) Instruction {
		return func(a result.Advice) Instruction {
			return Instruction{
				Do:   lines(`Set-NetAdapterAdvancedProperty -Name Ethernet -DisplayName "%s" -DisplayValue "%s"`, name, value(a)),
				Undo: lines(`Reset-NetAdapterAdvancedProperty -Name Ethernet -DisplayName "%s"`, name),
				Note: props + "; the link goes down for a moment", Ref: "Microsoft, Set-NetAdapterAdvancedProperty"}
		}
	}
	same := func(text string) func(result.Advice) string { return func(result.Advice) string { return text } }
	onOff := func(verb string) func(result.Advice) Instruction {
		return func(a result.Advice) Instruction {
			set, back := "Enable", "Disable"
			if a.Value == "off" {
				set, back = back, set
			}
			return Instruction{Do: lines("%s-NetAdapter%s -Name Ethernet", set, verb), Undo: lines("%s-NetAdapter%s -Name Ethernet", back, verb), Note: ps, Ref: "Microsoft, NetAdapter module"}
		}
	}
	window := fixed("Microsoft, netsh interface tcp; RFC 7323 2", "read it with: netsh interface tcp show global. A program that sets SO_RCVBUF itself is not tuned",
		lines("netsh interface tcp show global   # note the level\nnetsh interface tcp set global autotuninglevel=normal"), lines("netsh interface tcp set global autotuninglevel=the level noted"))
	return []rule{
		{[]string{"windows.TcpAckFrequency", "stack.ack-every"}, func(a result.Advice) Instruction {
			return Instruction{
				Do: lines("reg add \"%[1]s\" /v TcpAckFrequency /t REG_DWORD /d %[2]s /f\nreg add \"%[1]s\" /v TcpDelAckTicks /t REG_DWORD /d 1 /f\nshutdown /r /t 0",
					interfaces, number(a, "2")),
				Undo: lines("reg delete \"%[1]s\" /v TcpAckFrequency /f\nreg delete \"%[1]s\" /v TcpDelAckTicks /f\nshutdown /r /t 0", interfaces),
				Note: "takes effect after a reboot; one ACK for so many segments, or 100 ms after the first (a tick)", Ref: "K2H report: 2 to 10"}
		}},
		{[]string{"sysctl.net.ipv4.tcp_rmem", "sysctl.net.ipv4.tcp_window_scaling", "stack.receive-window", "ftp.receive-buffer"}, window},
		{[]string{"ethtool.features.tso", "ethtool.features.gso"}, onOff("Lso")},
		{[]string{"ethtool.features.tx", "ethtool.features.rx"}, onOff("ChecksumOffload")},
		{[]string{"ethtool.features.gro", "ethtool.features.lro"}, onOff("Rsc")},
		{[]string{"ethtool.channels.", "queue.rx-0.rps_cpus", "irq.N.smp_affinity"}, fixed("Microsoft, Set-NetAdapterRss", ps,
			lines("Enable-NetAdapterRss -Name Ethernet\nSet-NetAdapterRss -Name Ethernet -Profile NUMAStatic -NumberOfReceiveQueues (Get-CimInstance Win32_Processor).NumberOfCores"),
			lines("Set-NetAdapterRss -Name Ethernet -Profile NUMAStatic -NumberOfReceiveQueues 1"))},
		{[]string{"ethtool.coalesce.rx-usecs", "ethtool.coalesce.rx-frames", "ethtool.coalesce.tx-usecs", "ethtool.coalesce.tx-frames", "ethtool.coalesce.adaptive-rx", "link.gro_flush_timeout"},
			property("Interrupt Moderation Rate", same("Adaptive"))},
		{[]string{"ethtool.rings.rx", "ethtool.rings.tx"}, func(a result.Advice) Instruction {
			name := map[string]string{"rx": "Receive Buffers", "tx": "Transmit Buffers"}[key(a)]
			return property(name, func(a result.Advice) string { return number(a, "2048") })(a)
		}},
		{[]string{"ethtool.pause."}, property("Flow Control", same("Rx & Tx Enabled"))},
		{[]string{"ethtool.eee.eee"}, property("Energy Efficient Ethernet", same("Disabled"))},
		{[]string{"phy.autoneg"}, property("Speed & Duplex", same("Auto Negotiation"))},
		{[]string{"link.mtu"}, func(a result.Advice) Instruction {
			mtu := number(a, "1500")
			do := lines("netsh interface ipv4 set subinterface \"Ethernet\" mtu=%s store=persistent", mtu)
			if n, err := strconv.Atoi(mtu); err == nil && n > 1500 {
				do = append(lines(`Set-NetAdapterAdvancedProperty -Name Ethernet -DisplayName "Jumbo Packet" -DisplayValue "9014 Bytes"`), do...)
			}
			return Instruction{Do: do, Undo: lines("netsh interface ipv4 set subinterface \"Ethernet\" mtu=1500 store=persistent"), Note: "every host and switch between must take it; " + props, Ref: "Microsoft, netsh interface"}
		}},
		{[]string{"cpu.0.scaling_governor", "cpu.0.state1.disable"}, fixed("Microsoft, powercfg", "more power and heat", lines("powercfg /setactive SCHEME_MIN"), lines("powercfg /setactive SCHEME_BALANCED"))},
		{[]string{"module.pcie_aspm.policy"}, fixed("Microsoft, powercfg", "", lines("powercfg /setacvalueindex SCHEME_CURRENT SUB_PCIEXPRESS ASPM 0\npowercfg /setactive SCHEME_CURRENT"), lines("powercfg /setacvalueindex SCHEME_CURRENT SUB_PCIEXPRESS ASPM 1\npowercfg /setactive SCHEME_CURRENT"))},
	}
}
