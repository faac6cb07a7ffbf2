// Package probe finds out what a box can do for a link: measure it, generate
// and capture frames, forward them, shape them, and which settings its
// interfaces have. Probing leaves nothing changed: what could load a module or
// alter the network is judged from the kernel's configuration instead.
package probe

import (
	"errors"
	"io/fs"

	"github.com/linerate/linerate/internal/host"
)

// Verdict of an Ability.
type Verdict string

// The verdicts.
const (
	Yes     Verdict = "yes"
	No      Verdict = "no"
	Unknown Verdict = "unknown"
)

// Ability is one thing that a box can or cannot do.
type Ability struct {
	Group   string  `json:"group"`
	Name    string  `json:"name"`
	Verdict Verdict `json:"verdict"`
	Detail  string  `json:"detail,omitempty"` // of a yes: how; of a no: why
	Do      string  `json:"do,omitempty"`     // what to do about a no
	For     string  `json:"for,omitempty"`    // what it is good for
}

// Host probes h; live says that h is the box this process runs on, so that
// system calls may be tried too.
func Host(h host.Host, live bool, interfaces []string) []Ability {
	var out []Ability
	if live {
		out = append(out, calls()...)
	}
	out = append(out, files(h)...)
	out = append(out, configured(h)...)
	for _, ifname := range interfaces {
		out = append(out, onInterface(h, ifname)...)
	}
	return out
}

// outcome makes a verdict of the error of a trial.
func outcome(group, name, use string, err error, detail, do string) Ability {
	a := Ability{Group: group, Name: name, Verdict: Yes, Detail: detail, For: use}
	if err != nil {
		a.Verdict, a.Detail, a.Do = No, reason(err), do
		if errors.Is(err, fs.ErrPermission) {
			a.Do = "run as root, or give the binary the capability: setcap cap_net_admin,cap_net_raw,cap_sys_admin,cap_bpf,cap_perfmon+ep linerate"
		}
	}
	return a
}

// reason is the cause of an error without the names around it.
func reason(err error) string {
	if p, ok := errors.AsType[*fs.PathError](err); ok {
		err = p.Err
	}
	return err.Error()
}
