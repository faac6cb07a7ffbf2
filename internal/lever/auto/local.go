package auto

import (
	"context"
	"fmt"
	"io/fs"
	"slices"
	"strconv"
	"strings"

	"github.com/linerate/linerate/internal/host"
	"github.com/linerate/linerate/internal/lever"
	"github.com/linerate/linerate/result"
)

// Local finds the settings of one machine that advice names.
type Local struct {
	Host      host.Host
	Interface string // towards the other end; "" where it is not known
	As        string // its role: "sender" or "receiver"
}

// Role returns what advice calls this end.
func (b Local) Role() string { return b.As }

// Find turns advice into settings of this machine: it adds the interface,
// spreads "cpu.0" and "irq.N" over all there are, looks for "process.other", and works out values that are
// told in words.
func (b Local) Find(ctx context.Context, a result.Advice) ([]Move, error) {
	ids, err := b.settings(ctx, a.Lever)
	if err != nil {
		return nil, err
	}
	var moves []Move
	for i, id := range ids {
		s, err := lever.Find(b.Host, id)
		if err != nil {
			return nil, err
		}
		now, err := s.Get(ctx)
		if err != nil {
			return nil, err
		}
		if strings.Contains(now, "[fixed]") {
			return nil, fmt.Errorf("%s: the driver has it fixed: %w", id, lever.ErrNoLever)
		}
		if s.Cuts && lever.Controls(b.Host, b.Interface) {
			return nil, fmt.Errorf("%s: you are connected through %s; change it with 'linerate tune apply': %w", id, b.Interface, lever.ErrNoLever)
		}
		want, err := b.value(id, i, now, a.Value)
		if err != nil {
			return nil, err
		}
		if !lever.Same(now, want) && !Roomier(id, now, want) {
			moves = append(moves, Move{id, now, want})
		}
	}
	if len(moves) == 0 {
		return nil, fmt.Errorf("%s: %w", a.Lever, ErrInForce)
	}
	return moves, nil
}

// settings lists the IDs here that a lever in advice stands for.
func (b Local) settings(ctx context.Context, id string) ([]string, error) {
	kind, rest, _ := strings.Cut(id, ".")
	of, key, _ := strings.Cut(rest, ".")
	switch kind {
	case "cpu":
		return b.each("cpu.", "."+key, "sys/devices/system/cpu", "cpu")
	case "irq":
		if of == "N" {
			return b.interrupts(key)
		}
	case "process":
		if of == "other" {
			pid, err := b.otherProgram(ctx)
			return []string{fmt.Sprintf("process.%d.%s", pid, key)}, err
		}
	case "queue":
		queue, _, _ := strings.Cut(of, "-") // "rx" of "rx-0"
		return b.each("queue."+queue+"-", "."+key+"@"+b.Interface, "sys/class/net/"+b.Interface+"/queues", queue+"-")
	}
	if _, err := lever.Find(b.Host, id); err == nil || b.Interface == "" {
		return []string{id}, err
	}
	_, err := lever.Find(b.Host, id+"@"+b.Interface)
	return []string{id + "@" + b.Interface}, err
}

// each makes an ID of every numbered directory below dir that has the setting.
func (b Local) each(before, after, dir, prefix string) ([]string, error) {
	entries, err := fs.ReadDir(b.Host, dir)
	if err != nil {
		return nil, fmt.Errorf("%s*%s: %w: %w", before, after, lever.ErrNoLever, err)
	}
	var ids []string
	for _, e := range entries {
		n, numbered := strings.CutPrefix(e.Name(), prefix)
		if _, err := strconv.Atoi(n); !numbered || err != nil {
			continue
		}
		id := before + n + after
		if s, err := lever.Find(b.Host, id); err == nil {
			if _, err := s.Get(context.Background()); err == nil {
				ids = append(ids, id)
			}
		}
	}
	if len(ids) == 0 {
		return nil, fmt.Errorf("%s*%s: none here: %w", before, after, lever.ErrNoLever)
	}
	slices.SortFunc(ids, func(a, b string) int { return len(a) - len(b) }) // cpu.10 after cpu.9
	return ids, nil
}

// interrupts lists the lines of the interface.
func (b Local) interrupts(key string) ([]string, error) {
	_, settings := host.Describe(b.Host, b.Interface)
	var ids []string
	for id := range settings {
		if line, ok := strings.CutSuffix(id, ".smp_affinity_list"); ok && strings.HasPrefix(line, "irq.") {
			ids = append(ids, line+"."+key)
		}
	}
	if len(ids) == 0 {
		return nil, fmt.Errorf("%s has no interrupt line of its own: %w", b.Interface, lever.ErrNoLever)
	}
	slices.Sort(ids)
	return ids, nil
}
