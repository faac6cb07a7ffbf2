//go:build !386 && !arm && !mips && !mipsle

package netstack

import (
	"context"
	"net"
	"net/netip"
	"testing"
	"time"

	"gvisor.dev/gvisor/pkg/tcpip"
	"gvisor.dev/gvisor/pkg/tcpip/checksum"
	"gvisor.dev/gvisor/pkg/tcpip/header"

	"github.com/linerate/linerate/internal/port"
	"github.com/linerate/linerate/internal/serve/netstack/nic"
)

// TestWriteWithAClosedWindow writes while what is not read has closed the
// window but for a few bytes that the peer has sent already, so that its
// sequence numbers, and acknowledgements with them, lie past the window.
func TestWriteWithAClosedWindow(t *testing.T) {
	near, far := port.Memory(1500, 4096)
	card, err := nic.New(nic.OnPort(near, 1024), nic.Config{})
	if err != nil {
		t.Fatal(err)
	}
	st, err := New(Config{Card: card, Addresses: []netip.Prefix{netip.MustParsePrefix("192.0.2.1/24")}})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	ran := make(chan error, 1)
	go func() { ran <- st.Run(ctx) }()
	t.Cleanup(func() {
		cancel()
		<-ran
		st.Close()
	})
	l, err := st.Listen(ctx, "tcp", "192.0.2.1:7")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	p := &scripted{t: t, port: far, mac: st.link.address}
	p.connect()
	c, err := l.Accept()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	p.fill()
	c.SetDeadline(time.Now().Add(10 * time.Second))
	wrote := make(chan error, 1)
	go func(c net.Conn) {
		_, err := c.Write(make([]byte, 1<<20))
		wrote <- err
	}(c)
	for {
		select {
		case err := <-wrote:
			if err != nil {
				t.Errorf("write: %v", err)
			}
			return
		default:
			if p.take() {
				p.send(header.TCPFlagAck, p.next, nil)
			}
		}
	}
}

// scripted is a TCP of a peer at 192.0.2.2 that does as the test says.
type scripted struct {
	t    *testing.T
	port port.Port
	mac  tcpip.LinkAddress // of the stack

	next, acked, edge uint32 // sequence numbers: to be sent, acknowledged, the furthest of all windows
	window            uint32 // the newest
	scale             int
	got               uint32 // the stack's next
}

const scriptedMAC = tcpip.LinkAddress("\x02\x00\x00\x00\x00\x02")

func (p *scripted) connect() {
	p.next, p.scale = 1000, 0
	p.send(header.TCPFlagSyn, p.next, nil)
	for p.got == 0 {
		p.take()
	}
	p.next++
	p.send(header.TCPFlagAck, p.next, nil)
}

// fill sends until the newest window is closed and an older one was not, and
// then what the older one allows.
func (p *scripted) fill() {
	for end := time.Now().Add(10 * time.Second); time.Now().Before(end); {
		p.take()
		switch room := p.edge - p.next; {
		case p.acked != p.next:
		case p.window > 0:
			n := min(p.window, 1400)
			if room > 100 {
				n = min(n, room-100)
			}
			p.data(n)
		case room == 0:
			p.t.Fatal("the window closed with nothing left over")
		default:
			p.data(room)
			return
		}
	}
	p.t.Fatal("the window never closed")
}

func (p *scripted) data(n uint32) {
	p.send(header.TCPFlagAck|header.TCPFlagPsh, p.next, make([]byte, n))
	p.next += n
}

// take reads what the stack sent and reports whether it wants an answer.
func (p *scripted) take() (answer bool) {
	frames := make([]port.Frame, 64)
	n, _ := p.port.Recv(frames) // it waits 0.1 s at most
	for _, f := range frames[:n] {
		switch e := header.Ethernet(f.Data); e.Type() {
		case header.ARPProtocolNumber:
			p.resolve(header.ARP(f.Data[header.EthernetMinimumSize:]))
		case header.IPv4ProtocolNumber:
			ip := header.IPv4(f.Data[header.EthernetMinimumSize:])
			if ip.TransportProtocol() == header.TCPProtocolNumber {
				answer = p.segment(header.TCP(ip.Payload())) || answer
			}
		}
	}
	return answer
}

func (p *scripted) segment(s header.TCP) bool {
	p.acked, p.window = s.AckNumber(), uint32(s.WindowSize())<<p.scale
	if edge := p.acked + p.window; int32(edge-p.edge) > 0 || p.edge == 0 {
		p.edge = edge
	}
	if s.Flags().Contains(header.TCPFlagSyn) {
		p.got = s.SequenceNumber() + 1
		p.scale = max(header.ParseSynOptions(s.Options(), true).WS, 0)
		return false
	}
	if s.SequenceNumber() == p.got {
		p.got += uint32(len(s.Payload()))
	}
	return len(s.Payload()) > 0
}

func (p *scripted) send(flags header.TCPFlags, seq uint32, payload []byte) {
	options := []byte(nil)
	if flags == header.TCPFlagSyn {
		options = []byte{header.TCPOptionWS, 3, 7, header.TCPOptionNOP}
	} else {
		flags |= header.TCPFlagAck
	}
	b := make([]byte, header.EthernetMinimumSize+header.IPv4MinimumSize+header.TCPMinimumSize+len(options)+len(payload))
	from, to := tcpip.AddrFrom4([4]byte{192, 0, 2, 2}), tcpip.AddrFrom4([4]byte{192, 0, 2, 1})
	header.Ethernet(b).Encode(&header.EthernetFields{SrcAddr: scriptedMAC, DstAddr: p.mac, Type: header.IPv4ProtocolNumber})
	ip := header.IPv4(b[header.EthernetMinimumSize:])
	ip.Encode(&header.IPv4Fields{TotalLength: uint16(len(ip)), TTL: 64, Protocol: uint8(header.TCPProtocolNumber), SrcAddr: from, DstAddr: to})
	ip.SetChecksum(^ip.CalculateChecksum())
	s := header.TCP(ip[header.IPv4MinimumSize:])
	s.Encode(&header.TCPFields{SrcPort: 9, DstPort: 7, SeqNum: seq, AckNum: p.got, DataOffset: uint8(header.TCPMinimumSize + len(options)), Flags: flags, WindowSize: 65535})
	copy(s[header.TCPMinimumSize:], options)
	copy(s[header.TCPMinimumSize+len(options):], payload)
	sum := header.PseudoHeaderChecksum(header.TCPProtocolNumber, from, to, uint16(len(s)))
	s.SetChecksum(^s.CalculateChecksum(checksum.Checksum(payload, sum)))
	p.port.Send([]port.Frame{{Data: b}})
}

// resolve answers the stack's question for the peer's address.
func (p *scripted) resolve(question header.ARP) {
	b := make([]byte, header.EthernetMinimumSize+header.ARPSize)
	header.Ethernet(b).Encode(&header.EthernetFields{SrcAddr: scriptedMAC, DstAddr: p.mac, Type: header.ARPProtocolNumber})
	a := header.ARP(b[header.EthernetMinimumSize:])
	a.SetIPv4OverEthernet()
	a.SetOp(header.ARPReply)
	copy(a.HardwareAddressSender(), scriptedMAC)
	copy(a.ProtocolAddressSender(), question.ProtocolAddressTarget())
	copy(a.HardwareAddressTarget(), question.HardwareAddressSender())
	copy(a.ProtocolAddressTarget(), question.ProtocolAddressSender())
	p.port.Send([]port.Frame{{Data: b}})
}
