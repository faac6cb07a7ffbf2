package main

import (
	"slices"

	"github.com/linerate/linerate/internal/explain"
	"github.com/linerate/linerate/result"
)

// ladderRuleIDs are the rules that a climb is judged by, in the order of the
// climb: the line, then from the application down. The first that limits is
// what the next step has to change. The other rules look for faults, which a
// virtual cable does not have.
func ladderRuleIDs() []string {
	return []string{"line.at-rate", "app.small-segments", "tcp.window-limited", "tcp.receiver-limited", "tcp.send-buffer-limited",
		"cpu.one-core", "app.limited"}
}

// ladderBound returns what bounds a step in one direction.
func ladderBound(v explain.View) (result.Finding, bool) {
	var rules []explain.Rule
	all := explain.Rules()
	for _, id := range ladderRuleIDs() {
		if i := slices.IndexFunc(all, func(r explain.Rule) bool { return r.ID == id }); i >= 0 {
			rules = append(rules, all[i])
		}
	}
	return explain.Bound(explain.Judge(v, rules))
}
