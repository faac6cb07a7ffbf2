package fastpath

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/netip"
	"sync"
	"time"

	"github.com/mdlayher/netlink"
	"github.com/ti-mo/conntrack"
	"github.com/ti-mo/netfilter"
)

// learner keeps the table in step with conntrack.
type learner struct {
	table  *table
	log    *slog.Logger
	events *conntrack.Conn
	orders *conntrack.Conn
	soften []*conntrack.Conn
	ready  chan Connection // TCP, to be softened first

	mu      sync.Mutex
	refused map[string]uint64 // connections left to the stack, by reason
}

const (
	// eventBuffer holds the events of some ten thousand connections, in bytes.
	eventBuffer = 16 << 20
	// softeners work side by side: an answer of conntrack takes 0.1 ms.
	softeners = 4
)

// newLearner opens its sockets in the calling thread's namespace.
func newLearner(t *table, log *slog.Logger) (*learner, error) {
	l := &learner{table: t, log: log, ready: make(chan Connection, 1<<16), refused: map[string]uint64{}}
	all := []**conntrack.Conn{&l.events, &l.orders}
	l.soften = make([]*conntrack.Conn, softeners)
	for i := range l.soften {
		all = append(all, &l.soften[i])
	}
	for _, c := range all {
		var err error
		if *c, err = conntrack.Dial(nil); err != nil {
			return nil, errors.Join(fmt.Errorf("conntrack: %w", err), l.close())
		}
	}
	_ = l.events.SetReadBuffer(eventBuffer) // with less, more bursts need a dump
	// What a full buffer loses, the stack decides on: see dump and recheck.
	_ = l.events.SetOption(netlink.NoENOBUFS, true)
	return l, nil
}

func (l *learner) close() (err error) {
	for _, c := range append([]*conntrack.Conn{l.events, l.orders}, l.soften...) {
		if c != nil {
			err = errors.Join(err, c.Close())
		}
	}
	return err
}

// reconcile is how often the table is compared with conntrack: events may have
// been lost.
const reconcile = time.Minute

// run learns until ctx ends.
func (l *learner) run(ctx context.Context) error {
	events := make(chan conntrack.Event, 4096)
	broken, err := l.events.Listen(events, 1, []netfilter.NetlinkGroup{netfilter.GroupCTNew, netfilter.GroupCTUpdate, netfilter.GroupCTDestroy})
	if err != nil {
		return fmt.Errorf("conntrack events: %w", err)
	}
	for _, c := range l.soften {
		go l.softener(ctx, c)
	}
	if err := l.dump(); err != nil {
		return err
	}
	again := time.NewTicker(reconcile)
	defer again.Stop()
	for {
		select {
		case <-ctx.Done():
			return nil
		case err := <-broken:
			if ctx.Err() != nil {
				return nil
			}
			return fmt.Errorf("conntrack events: %w", err)
		case <-again.C:
			if err := l.dump(); err != nil {
				return err
			}
		case e := <-events:
			if e.Flow == nil {
				continue
			}
			if e.Type == conntrack.EventDestroy {
				l.table.end(connectionOf(e.Flow))
			} else {
				l.see(e.Flow)
			}
		}
	}
}

// dump learns what was there before, and forgets what went unseen.
func (l *learner) dump() error {
	flows, err := l.orders.Dump(nil)
	if err != nil {
		return fmt.Errorf("conntrack dump: %w", err)
	}
	there := map[Connection]bool{}
	for i := range flows {
		there[connectionOf(&flows[i])] = true
		l.see(&flows[i])
	}
	for _, c := range l.table.connections() {
		if !there[c] {
			l.table.end(c)
		}
	}
	return nil
}

// see takes up a connection that is ready, and lets go of one that no longer
// is.
func (l *learner) see(f *conntrack.Flow) {
	c := connectionOf(f)
	why := unfit(f, c)
	switch {
	case why != "" && l.table.has(c):
		l.table.end(c)
	case why != "" && why != notYet:
		l.refuse(why)
	case why != "" || l.table.has(c):
	case c.Original.Protocol == tcp:
		select {
		case l.ready <- c:
		default: // too many at once: the next reconciliation takes it
		}
	default:
		l.add(c)
	}
}

func (l *learner) add(c Connection) {
	if err := l.table.add(c); err != nil {
		l.refuse(err.Error())
	}
}

func (l *learner) refuse(why string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.refused[why]++
}

// notYet is the reason of a connection that may become fit.
const notYet = "not established"

// established is TCP_CONNTRACK_ESTABLISHED.
const established = 3

// unfit says why the stack must forward a connection, "" if it need not.
func unfit(f *conntrack.Flow, c Connection) string {
	switch {
	case f.Zone != 0:
		return "in a conntrack zone"
	case f.Helper.Name != "" || f.Status.Helper():
		return "a helper reads it (" + f.Helper.Name + ")"
	case f.Status.SeqAdjust():
		return "its sequence numbers are changed"
	case !c.valid():
		return "neither TCP nor UDP of one family"
	case c.Original.Target.Addr().IsMulticast():
		return "multicast"
	case f.Status.Dying() || !f.Status.Confirmed() || !f.Status.SeenReply():
		return notYet
	case f.ProtoInfo.TCP != nil && (f.ProtoInfo.TCP.State != established || !f.Status.Assured()):
		return notYet
	}
	return ""
}

func connectionOf(f *conntrack.Flow) Connection {
	return Connection{tupleOf(f.TupleOrig), tupleOf(f.TupleReply)}
}

func tupleOf(t conntrack.Tuple) Tuple {
	return Tuple{netip.AddrPortFrom(t.IP.SourceAddress, t.Proto.SourcePort), netip.AddrPortFrom(t.IP.DestinationAddress, t.Proto.DestinationPort), t.Proto.Protocol}
}

// beLiberal is IP_CT_TCP_FLAG_BE_LIBERAL, as value and as mask.
const beLiberal = 8<<8 | 8

// softener tells conntrack not to judge the sequence numbers of connections
// that become fast: it does not see what goes beside it, and would take their
// FIN for invalid.
func (l *learner) softener(ctx context.Context, orders *conntrack.Conn) {
	for {
		select {
		case <-ctx.Done():
			return
		case c := <-l.ready:
			err := orders.Update(conntrack.Flow{
				TupleOrig: tupleFor(c.Original), TupleReply: tupleFor(c.Reply),
				ProtoInfo: conntrack.ProtoInfo{TCP: &conntrack.ProtoInfoTCP{State: established, OriginalFlags: beLiberal, ReplyFlags: beLiberal}},
			})
			if err != nil {
				l.refuse(notYet) // it is gone already, or on its way
				continue
			}
			l.add(c)
		}
	}
}

func tupleFor(t Tuple) conntrack.Tuple {
	return conntrack.Tuple{
		IP:    conntrack.IPTuple{SourceAddress: t.Source.Addr(), DestinationAddress: t.Target.Addr()},
		Proto: conntrack.ProtoTuple{Protocol: t.Protocol, SourcePort: t.Source.Port(), DestinationPort: t.Target.Port()},
	}
}
