package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"net"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/linerate/linerate/internal/fleet"
	"github.com/linerate/linerate/internal/host"
	"github.com/linerate/linerate/internal/lever"
	"github.com/linerate/linerate/internal/lever/auto"
	"github.com/linerate/linerate/internal/workload/stream"
	"github.com/linerate/linerate/result"
)

// autoEnds are the boxes of a session, with their journals and leashes.
type autoEnds struct {
	boxes  []auto.Journalled
	ends   []tuneEnd
	leash  []io.WriteCloser
	remote *remoteBox // nil: the other end has no agent
	handed bool       // to the dead-man timers: a confirmation may come
}

// boxes opens this end, and the other one where it is a namespace of this box.
func (o *autoOptions) boxes(b *autoBench) (_ *autoEnds, err error) {
	es := &autoEnds{}
	defer func() {
		if err != nil {
			es.close()
		}
	}()
	ours, theirs := b.roles()
	if err := es.add(o, "", b.ifname, ours); err != nil {
		return nil, err
	}
	if o.stream.far.given() {
		return es, es.reach(o, b, theirs)
	}
	if o.peerNetns == "" {
		return es, nil
	}
	if err := es.add(o, o.peerNetns, "", theirs); err != nil {
		return nil, err
	}
	far := &es.boxes[1]
	if far.Interface, err = interfaceTowards(far.Host, b.target); err != nil {
		return nil, err
	}
	b.far = namespaceEnd(far.Host, far.Interface, b.target, theirs == "sender")
	return es, nil
}

// add opens an end, its journal and the process that undoes it when we die.
func (es *autoEnds) add(o *autoOptions, netns, ifname, role string) error {
	end, err := openEnd(netns)
	if err != nil {
		return err
	}
	es.ends = append(es.ends, end)
	j, err := lever.Create(o.dir, end.place)
	if err != nil {
		return err
	}
	es.boxes = append(es.boxes, auto.Journalled{Local: auto.Local{Host: end.host, Interface: ifname, As: role}, Journal: j})
	exe, err := self()
	if err != nil {
		return err
	}
	leash, err := j.Leash(exe, "tune", "watchdog", "--leash", "--state", o.dir, "--wait", o.within.String(), "--netns", netns, j.ID)
	if err != nil {
		return err
	}
	es.leash = append(es.leash, leash)
	return nil
}

// all are the boxes in the order in which they are asked.
func (es *autoEnds) all(b *autoBench) []auto.Box {
	var out []auto.Box
	for _, x := range es.boxes {
		out = append(out, x)
	}
	if es.remote != nil {
		out = append(out, es.remote)
	}
	ours, theirs := b.roles()
	return append(out, &workloadBox{bench: b, role: ours}, &workloadBox{bench: b, role: theirs})
}

// close lets the leashes go: what is neither confirmed nor handed over is put
// back by the other process.
func (es *autoEnds) close() {
	for i, l := range es.leash {
		if es.handed {
			fmt.Fprintln(l, "wait") // a dead timer has put back already
		}
		l.Close()
		es.boxes[i].Journal.Close()
	}
	for _, e := range es.ends {
		e.close()
	}
	if es.remote != nil {
		es.remote.far.Close() // with what was not left to its timer
	}
}

// undo puts back what is in force, here and now.
func (es *autoEnds) undo(ctx context.Context, c cli) error {
	var errs []error
	for i, b := range es.boxes {
		for {
			o, any, err := b.Journal.Back(ctx, func(id string) (lever.Lever, error) {
				s, err := lever.Find(es.ends[i].host, id)
				return s.Lever, err
			})
			if !any || err != nil {
				errs = append(errs, err)
				break
			}
			printOutcome(c, o)
		}
	}
	if es.remote != nil {
		errs = append(errs, es.remote.undo(ctx, c))
	}
	if err := errors.Join(errs...); err != nil {
		return fmt.Errorf("%w: %w; run 'linerate tune rollback'", errNotBack, err)
	}
	return nil
}

// finish confirms what was kept or says how, and shows the files that would make
// it last.
func (es *autoEnds) finish(ctx context.Context, c cli, o *autoOptions, r *result.Result) error {
	if len(r.Changes) == 0 {
		return nil
	}
	if !o.keep {
		es.handed = true
		if !o.json {
			fmt.Fprintf(c.out, "put back in %v unless you run: linerate tune confirm; then 'linerate tune persist' writes\n", o.within)
		}
	}
	if es.remote != nil {
		if err := es.remote.finish(ctx, c, o); err != nil {
			return err
		}
	}
	exe, err := self()
	if err != nil {
		return err
	}
	for i, b := range es.boxes {
		if o.keep {
			if err := b.Journal.Confirm(); err != nil {
				return err
			}
		}
		if o.json {
			continue
		}
		h, err := lever.Read(o.dir, b.Journal.ID)
		if err != nil {
			return err
		}
		h.Confirmed = true // as it will be
		files := lever.Files(lever.Kept(es.ends[i].host, []lever.History{h}), exe)
		for _, name := range slices.Sorted(maps.Keys(files)) {
			fmt.Fprintf(c.out, "==> /%s\n%s\n", name, files[name])
		}
	}
	return nil
}

// interfaceTowards returns the interface of h that has the address of target.
func interfaceTowards(h host.Host, target string) (string, error) {
	name := target
	if at, _, err := net.SplitHostPort(target); err == nil {
		name = at
	}
	ifname, err := lever.InterfaceOf(h, strings.Trim(name, "[]"))
	if err != nil {
		return "", fmt.Errorf("--peer-netns: %w", err)
	}
	return ifname, nil
}

// otherEnd is what the other end counts and how it is set; nil: it is not known.
type otherEnd struct {
	counters func(context.Context) ([]result.Value, error)
	describe func(context.Context) (result.End, error)
}

// namespaceEnd is an end in a network namespace of this box.
func namespaceEnd(h host.Host, ifname, name string, sends bool) *otherEnd {
	ms := ruleMeters(h, fleet.Selection{Interfaces: []string{ifname}, Sends: sends})
	return &otherEnd{
		counters: func(ctx context.Context) ([]result.Value, error) { return readAll(ctx, ms), nil },
		describe: func(context.Context) (result.End, error) {
			facts, settings := host.Describe(h, ifname)
			return result.End{Role: "dut", Host: name, Facts: facts, Settings: settings}, nil
		},
	}
}

func (e *otherEnd) read(ctx context.Context) ([]result.Value, error) {
	if e == nil {
		return nil, nil
	}
	return e.counters(ctx)
}

// into fills in the other end of a Result.
func (e *otherEnd) into(ctx context.Context, r *result.Result) (err error) {
	if e != nil && len(r.Ends) > 1 {
		r.Ends[1], err = e.describe(ctx)
	}
	return err
}

// ampleWrite is a size of writes whose calls cost little beside their bytes.
const ampleWrite = 64 << 10

// workloadBox turns what the workload does in an application's place.
type workloadBox struct {
	bench *autoBench
	role  string
	undo  []func()
}

// Role returns the end whose application it stands for.
func (w *workloadBox) Role() string { return w.role }

// Find knows the size of writes and the buffers of sockets, of our own end.
func (w *workloadBox) Find(_ context.Context, a result.Advice) ([]auto.Move, error) {
	now, ok := w.values()[a.Lever]
	ours, _ := w.bench.roles()
	if !ok || w.role != ours {
		return nil, fmt.Errorf("%s: %w", a.Lever, lever.ErrNoLever)
	}
	want, err := strconv.Atoi(a.Value)
	if err != nil { // "1460 or more": how much more is ours to say
		want = ampleWrite
	}
	if *now == want || a.Lever == "app.write-size" && *now >= want {
		return nil, fmt.Errorf("%s: %w", a.Lever, auto.ErrInForce)
	}
	return []auto.Move{{ID: a.Lever, Before: strconv.Itoa(*now), Value: strconv.Itoa(want)}}, nil
}

func (w *workloadBox) values() map[string]*int {
	t := &w.bench.test
	vs := map[string]*int{"app.send-buffer": &t.Socket.SendBuffer, "app.receive-buffer": &t.Socket.RecvBuffer}
	if t.Socket.Window > 0 {
		vs["app.send-buffer"], vs["app.receive-buffer"] = &t.Socket.Window, &t.Socket.Window
	}
	if t.Protocol == stream.TCP && !t.Transactions() {
		vs["app.write-size"] = &t.Message
	}
	return vs
}

// Apply changes the workload.
func (w *workloadBox) Apply(_ context.Context, m auto.Move, why string) (result.Change, error) {
	at := w.values()[m.ID]
	want, err := strconv.Atoi(m.Value)
	if at == nil || err != nil {
		return result.Change{}, fmt.Errorf("%s: %w", m.ID, lever.ErrNoLever)
	}
	before := *at
	*at = want
	w.undo = append(w.undo, func() { *at = before })
	return result.Change{Lever: m.ID, Before: strconv.Itoa(before), After: m.Value, At: time.Now(), Why: why, End: w.role}, nil
}

// Back undoes the latest change.
func (w *workloadBox) Back(context.Context) error {
	n := len(w.undo)
	if n == 0 {
		return errors.New("nothing to put back")
	}
	w.undo[n-1]()
	w.undo = w.undo[:n-1]
	return nil
}
