// Package byhand says in words how to make a setting on a peer that this program
// does not run on: what to type there, in the spelling of its own tools, and how
// to undo it.
package byhand

import (
	"fmt"
	"slices"
	"strings"

	"github.com/linerate/linerate/result"
)

// OS is what runs on the peer.
type OS string

// The peers that there are instructions for.
const (
	Windows    OS = "windows"    // 10, Server 2016 and later: PowerShell, netsh, the registry
	NDK        OS = "ndk"        // TI's Network Developer's Kit on SYS/BIOS
	Linux      OS = "linux"      // without this program: ip(8), ethtool(8), sysctl(8)
	DeviceTree OS = "devicetree" // Linux on a board, in its device tree
)

// All lists them.
func All() []OS { return []OS{Windows, NDK, Linux, DeviceTree} }

// Instruction is one thing to do at the peer.
type Instruction struct {
	Do   []string // commands, or lines of a configuration
	Undo []string
	Note string // what to know before: a reboot, a limit, where the names come from
	Ref  string
}

// rule fits levers whose ID begins with one of its prefixes.
type rule struct {
	prefixes []string
	write    func(a result.Advice) Instruction
}

// For returns how a peer of this kind follows a piece of advice; false where
// nothing is known to do there.
func For(os OS, a result.Advice) (Instruction, bool) {
	rules := map[OS][]rule{Windows: windows(), NDK: ndk(), Linux: linux(), DeviceTree: deviceTree()}[os]
	for _, r := range rules {
		if slices.ContainsFunc(r.prefixes, func(p string) bool { return a.Lever == p || strings.HasSuffix(p, ".") && strings.HasPrefix(a.Lever, p) }) {
			i := r.write(a)
			return i, len(i.Do) > 0
		}
	}
	return Instruction{}, false
}

// fixed is an instruction that does not depend on the value advised.
func fixed(ref, note string, do, undo []string) func(result.Advice) Instruction {
	return func(result.Advice) Instruction { return Instruction{Do: do, Undo: undo, Note: note, Ref: ref} }
}

// key is the last part of a lever's ID, "rx-usecs" of "ethtool.coalesce.rx-usecs".
func key(a result.Advice) string { return a.Lever[strings.LastIndexByte(a.Lever, '.')+1:] }

// number returns the value where it is one, else what to take in its place.
func number(a result.Advice, other string) string {
	if a.Value != "" && strings.Trim(a.Value, "0123456789") == "" {
		return a.Value
	}
	return other
}

func lines(format string, args ...any) []string {
	return strings.Split(fmt.Sprintf(format, args...), "\n")
}
