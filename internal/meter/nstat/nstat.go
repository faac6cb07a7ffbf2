// Package nstat reads the counters of the network stack that tell why TCP or
// UDP is slow: retransmissions, timeouts, pruned and overflowing buffers.
package nstat

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"strconv"
	"strings"

	"github.com/linerate/linerate/internal/host"
	"github.com/linerate/linerate/result"
)

// Meter reads the counters of a host's network namespace.
type Meter struct{ Host host.Host }

// Name returns "nstat".
func (Meter) Name() string { return "nstat" }

// Read returns result.NetworkCounter by counter, named as nstat(8) does.
func (m Meter) Read(context.Context) ([]result.Value, error) {
	var vs []result.Value
	for _, name := range []string{"proc/net/snmp", "proc/net/netstat"} {
		b, err := fs.ReadFile(m.Host, name)
		if errors.Is(err, fs.ErrNotExist) && len(vs) > 0 {
			continue // the extended counters came later than the standard ones
		}
		if err != nil {
			return nil, fmt.Errorf("nstat: %w", err)
		}
		some, err := parse(string(b))
		if err != nil {
			return nil, fmt.Errorf("nstat: %s: %w", name, err)
		}
		vs = append(vs, some...)
	}
	return vs, nil
}

// wanted lists the counters worth keeping of some two hundred, by protocol.
func wanted(protocol string) []string {
	return strings.Fields(map[string]string{
		"Ip":  "InReceives ForwDatagrams InDiscards OutRequests OutDiscards OutNoRoutes ReasmFails FragFails FragCreates",
		"Tcp": "ActiveOpens PassiveOpens AttemptFails EstabResets InSegs OutSegs RetransSegs InErrs OutRsts InCsumErrors",
		"Udp": "InDatagrams NoPorts InErrors OutDatagrams RcvbufErrors SndbufErrors InCsumErrors MemErrors",
		"TcpExt": "ListenOverflows ListenDrops PruneCalled RcvPruned OfoPruned DelayedACKs DelayedACKLost TCPTimeouts " +
			"TCPLossProbes TCPLossProbeRecovery TCPLostRetransmit TCPFastRetrans TCPSlowStartRetrans TCPSackRecovery " +
			"TCPSpuriousRTOs TCPDSACKRecv TCPOFOQueue TCPRcvCollapsed TCPRcvQDrop TCPBacklogDrop TCPBacklogCoalesce " +
			"TCPAutoCorking TCPWantZeroWindowAdv TCPToZeroWindowAdv TCPFromZeroWindowAdv TCPZeroWindowDrop " +
			"TCPMemoryPressures TCPMemoryPressuresChrono TCPPureAcks TCPHPAcks TCPAckCompressed TCPMTUPFail TCPMTUPSuccess",
		"IpExt": "InCsumErrors InCEPkts",
	}[protocol])
}

// parse reads pairs of lines, names and numbers, that begin with a protocol.
func parse(s string) ([]result.Value, error) {
	var vs []result.Value
	lines := strings.Split(strings.TrimSpace(s), "\n")
	for i := 0; i+1 < len(lines); i += 2 {
		protocol, names, _ := strings.Cut(lines[i], ":")
		same, numbers, _ := strings.Cut(lines[i+1], ":")
		if same != protocol {
			return nil, fmt.Errorf("line %d: %q after %q", i+2, same, protocol)
		}
		name, number := strings.Fields(names), strings.Fields(numbers)
		if len(name) != len(number) {
			return nil, fmt.Errorf("%s: %d names, %d numbers", protocol, len(name), len(number))
		}
		have := map[string]string{}
		for i := range name {
			have[name[i]] = number[i]
		}
		for _, w := range wanted(protocol) {
			text, ok := have[w]
			if !ok {
				continue
			}
			n, err := strconv.ParseUint(text, 10, 64)
			if err != nil {
				return nil, fmt.Errorf("%s %s: %w", protocol, w, err)
			}
			vs = append(vs, result.NetworkCounter.Of(float64(n), "counter", protocol+w))
		}
	}
	return vs, nil
}
