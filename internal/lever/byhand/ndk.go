package byhand

import "github.com/linerate/linerate/result"

// ndk writes what belongs into the application's .cfg (XGCONF) and its C code.
func ndk() []rule {
	const report = "K2H report"
	// 65,536 is the most that the stack takes, for its window is not scaled.
	buffers := fixed(report+": 8,192 to 65,536 gave 23 to 50-60 MB/s", "connections are refused (fdError 12) until the heap has room for them; 65,536 is the most",
		lines(`/* in the .cfg */
Tcp.transmitBufSize = 65536;
Tcp.receiveBufSize = 65536;
Tcp.receiveBufLimit = 65536;
BIOS.heapSize = 0x100000;
/* or in C, before NC_NetStart() */
uint rc = 65536;
CfgAddEntry(hCfg, CFGTAG_IP, CFGITEM_IP_SOCKTCPTXBUF, CFG_ADDMODE_UNIQUE, sizeof(uint), (UINT8 *)&rc, 0);
CfgAddEntry(hCfg, CFGTAG_IP, CFGITEM_IP_SOCKTCPRXBUF, CFG_ADDMODE_UNIQUE, sizeof(uint), (UINT8 *)&rc, 0);
CfgAddEntry(hCfg, CFGTAG_IP, CFGITEM_IP_SOCKTCPRXLIMIT, CFG_ADDMODE_UNIQUE, sizeof(uint), (UINT8 *)&rc, 0);`),
		lines("the same entries with 8192, and BIOS.heapSize = 0x40000"))
	pacing := fixed(report+": 50-60 to 60-73 MB/s with fewer ACKs; KeyStone accumulator", "a tick is 25 us: two of them are 50 us of added delay; mode none or since-last may wait without end",
		lines("accumulator channel of the receive queue:\n  interruptPacingMode = Qmss_AccPacingMode_FIRST_NEW_PACKET (2)\n  timerLoadCount = 2"), lines("  interruptPacingMode = Qmss_AccPacingMode_LAST_INTERRUPT (1)\n  timerLoadCount = 0"))
	return []rule{
		{[]string{"stack.receive-window", "stack.send-buffer", "sysctl.net.ipv4.tcp_rmem", "sysctl.net.ipv4.tcp_wmem", "ftp.receive-buffer", "ftp.send-buffer", "app.send-buffer", "app.receive-buffer", "sysctl.net.core.rmem_max", "sysctl.net.core.rmem_default"}, buffers},
		{[]string{"stack.heap", "stack.buffers"}, fixed(report+": fdError 12 gone", "", lines("BIOS.heapSize = 0x100000;"), lines("BIOS.heapSize = 0x40000;"))},
		{[]string{"app.write-size", "ftp.data-buffer"}, fixed(report+": 512 to 1,460 bytes, with no yield and -O3, gave 11 to 23 MB/s", "", lines("send(s, buffer, 1460, 0);   /* or a multiple: each send fills its segments */"), lines("send(s, buffer, 512, 0);"))},
		{[]string{"app.yield"}, fixed(report, "tasks of the same priority no longer get a turn after each send", lines("take Task_yield() out of the send loop"), lines("put Task_yield() back"))},
		{[]string{"ftp.no-copy"}, fixed(report, "give the buffer back with recvncfree() at once: the stack's own receive buffers are lent", lines("recvnc(s, &buffer, 0, &handle); ... recvncfree(handle);   /* in place of recv() */"), lines("recv()"))},
		{[]string{"ethtool.coalesce.rx-usecs", "ethtool.coalesce.rx-frames", "ethtool.coalesce.adaptive-rx", "accumulator.pacing", "link.gro_flush_timeout"}, pacing},
		{[]string{"driver.reclaim"}, fixed(report+": 1,550-2,950 to 1,600 cycles a send", "", lines("in the NIMU driver: pop the transmit completion queue in batches, outside EmacSend()"), lines("pop it in EmacSend()"))},
		{[]string{"driver.receive"}, fixed("NIOS II TSE application note", "", lines("in the receive routine: pop until the queue is empty before the interrupt is enabled again"), lines("pop one"))},
		{[]string{"board.cache"}, fixed("XAPP1082", "write back before transmit, invalidate before receive", lines("CACHE_enableCaching(mar);   /* for each 16 MB that packets lie in */\nCache_wb(buffer, n, Cache_Type_ALL, TRUE);   /* before transmit */\nCache_inv(buffer, n, Cache_Type_ALL, TRUE);   /* before it is read */"), lines("CACHE_disableCaching(mar);"))},
		{[]string{"socket.TCP_NODELAY"}, func(result.Advice) Instruction {
			return Instruction{Do: lines("int on = 1;\nsetsockopt(s, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));"), Undo: lines("int on = 0; (the same call)"), Ref: "RFC 9293 3.7.4"}
		}},
	}
}
