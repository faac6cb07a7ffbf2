package auto

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/linerate/linerate/internal/lever"
	"github.com/linerate/linerate/result"
)

// Step is one change to try: a setting, or several that mean something only
// together.
type Step struct {
	Name  string // "sysctl.net.ipv4.tcp_rmem=4096 131072 16777216"
	Rule  string // of the finding that asks for it
	Note  string // what is changed, for a reader
	Trade string // what it costs
	Turns []Turn
}

func (s Step) key() string { return s.Turns[0].At.Role() + " " + s.Name }

// Instruction is advice that no box here can follow: something to do by hand.
type Instruction struct {
	Rule string
	result.Advice
	Why error // why it cannot be done from here
}

// Plans is what findings ask for.
type Plans struct {
	Steps        []Step
	Instructions []Instruction
	InForce      []Instruction // stands as advised already
}

// Plan turns findings into changes to try, in their order. Each piece of advice
// goes to the end it names; what names none, to the first box that has the
// setting and has it otherwise.
func Plan(ctx context.Context, fs []result.Finding, boxes []Box) Plans {
	var out Plans
	told := map[string]bool{}
	for _, f := range fs {
		for i := 0; i < len(f.Levers); i++ {
			a := f.Levers[i]
			turns, err := follow(ctx, a, boxes)
			for ; i+1 < len(f.Levers) && together(a, f.Levers[i+1]); i++ {
				more, why := follow(ctx, f.Levers[i+1], boxes)
				if turns = append(turns, more...); why == nil {
					err = nil
				}
			}
			switch {
			case err == nil:
				out.Steps = append(out.Steps, Step{Rule: f.Rule, Trade: f.Trade, Name: name(turns), Turns: turns})
			case told[a.Lever+a.End]:
			case errors.Is(err, ErrInForce):
				out.InForce = append(out.InForce, Instruction{f.Rule, a, err})
			default:
				out.Instructions = append(out.Instructions, Instruction{f.Rule, a, err})
			}
			told[a.Lever+a.End] = true
		}
	}
	return out
}

// follow finds the box for a piece of advice and what to move there; advice for
// both ends is followed at each that has it otherwise.
func follow(ctx context.Context, a result.Advice, boxes []Box) ([]Turn, error) {
	err := fmt.Errorf("%s: not a setting of an end that can be reached: %w", a.Lever, lever.ErrNoLever)
	var turns []Turn
	for _, b := range boxes {
		if (a.End == "sender" || a.End == "receiver") && b.Role() != a.End {
			continue
		}
		moves, why := b.Find(ctx, a)
		for _, m := range moves {
			turns = append(turns, Turn{b, m})
		}
		if why == nil && a.End != "both" {
			break
		}
		if why != nil && (!errors.Is(why, lever.ErrNoLever) || !errors.Is(err, ErrInForce)) {
			err = why
		}
	}
	if len(turns) > 0 {
		return turns, nil
	}
	return nil, err
}

// together reports whether two levers that follow each other in advice are one
// mechanism: a timer and its threshold, a table and its buckets.
func together(a, b result.Advice) bool {
	if a.End != b.End {
		return false
	}
	const feature = "ethtool.features." // those switched on rest on one another
	if strings.HasPrefix(a.Lever, feature) && strings.HasPrefix(b.Lever, feature) && a.Value == "on" && b.Value == "on" {
		return true
	}
	for _, pair := range [][2]string{
		{"link.gro_flush_timeout", "link.napi_defer_hard_irqs"},
		{"ethtool.coalesce.rx-usecs", "ethtool.coalesce.rx-frames"}, {"ethtool.coalesce.tx-usecs", "ethtool.coalesce.tx-frames"},
		{"sysctl.net.core.netdev_budget", "sysctl.net.core.netdev_budget_usecs"},
		{"sysctl.net.netfilter.nf_conntrack_max", "sysctl.net.netfilter.nf_conntrack_buckets"},
		{"sysctl.net.core.rmem_max", "sysctl.net.core.rmem_default"},
		{"ethtool.pause.rx", "ethtool.pause.tx"},
		{"sysctl.net.core.rps_sock_flow_entries", "queue.rx-0.rps_flow_cnt"},
	} {
		if a.Lever == pair[0] && b.Lever == pair[1] || a.Lever == pair[1] && b.Lever == pair[0] {
			return true
		}
	}
	return false
}

func name(turns []Turn) string {
	var parts []string
	for _, t := range turns {
		parts = append(parts, t.ID+"="+t.Value)
	}
	if len(parts) > 3 {
		parts = append(parts[:2], fmt.Sprintf("and %d more", len(parts)-2))
	}
	return strings.Join(parts, ", ")
}
