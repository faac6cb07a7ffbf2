package fastpath

import (
	"fmt"
	"net"
	"os"
	"strings"
	"sync/atomic"
	"time"

	"golang.org/x/sys/unix"
)

// State reads the counters.
func (p *Path) State() (State, error) {
	s := State{
		Routed: atomic.LoadUint32(&p.config.Router) == 1, Generation: atomic.LoadUint32(&p.config.Generation), Flows: p.table.count(), Room: p.table.room(),
		Lease: time.Duration(int64(atomic.LoadUint64(&p.config.Lease)) - monotonic()), Interfaces: p.pinned(),
	}
	for i, r := range reasonTexts() {
		var each []uint64
		if err := p.objs.Reasons.Lookup(uint32(i), &each); err != nil {
			return s, fmt.Errorf("fastpath: counters: %w", err)
		}
		for _, n := range each {
			r.Packets += n
		}
		s.Reasons = append(s.Reasons, r)
	}
	return s, nil
}

func monotonic() int64 {
	var now unix.Timespec
	_ = unix.ClockGettime(unix.CLOCK_MONOTONIC, &now) // it does not fail for this clock
	return now.Nano()
}

// pinned returns the interfaces that have a program.
func (p *Path) pinned() []string {
	pins, _ := os.ReadDir(p.opt.Dir) // an unreadable one shows none
	var names []string
	for _, pin := range pins {
		if name, ok := strings.CutSuffix(pin.Name(), "-in"); ok {
			names = append(names, name)
		}
	}
	return names
}

// Modes says where the program of each interface that this process attached
// sits: driver or stack.
func (p *Path) Modes() map[string]string { return p.modes }

// Flows reads the connections held.
func (p *Path) Flows() []Flow {
	var flows []Flow
	now, generation := monotonic(), atomic.LoadUint32(&p.config.Generation)
	for i := range p.table.ways {
		c, live := p.table.connection(uint32(i))
		if !live {
			continue
		}
		ways := [2]*programWay{&p.table.ways[i], &p.table.ways[p.table.ways[i].Other]}
		f := Flow{Connection: c, State: "fast"}
		for way, w := range ways {
			f.Ways[way] = Way{Packets: atomic.LoadUint64(&w.Packets), Bytes: atomic.LoadUint64(&w.Bytes)}
			if w.Last > 0 {
				f.Ways[way].Idle = time.Duration(now - int64(w.Last))
			}
			if ifi, err := net.InterfaceByIndex(int(w.Out)); err == nil {
				f.Ways[way].Out = ifi.Name
			}
			switch {
			case w.Flags&flagMangled != 0:
				f.State = "mangled"
			case w.Generation != generation && f.State == "fast":
				f.State = "undecided"
			}
		}
		if ways[0].state() == programStateCLOSING {
			f.State = "closing"
		}
		flows = append(flows, f)
	}
	return flows
}
