package lever

import (
	"context"
	"fmt"
	"io/fs"
	"net/netip"
	"os"
	"regexp"
	"slices"
	"strings"

	"github.com/linerate/linerate/internal/host"
)

// Undo rolls back the open changes of past on h. Settings of the kernel do not
// outlive a boot, and those of a namespace are not seen from another: such
// changes are left, with the reason; configuration files are put back anyway.
// here is where h is.
func Undo(ctx context.Context, h host.Host, here Place, j *Journal, past History) ([]Outcome, error) {
	return j.Rollback(ctx, past, func(id string) (Lever, error) {
		if path, ok := strings.CutPrefix(id, "file:"); ok {
			return Conf{path}, nil
		}
		if past.Place.Boot == here.Boot && past.Place.Netns != here.Netns && perNamespace(id) {
			return nil, fmt.Errorf("%s: was changed in network namespace %s, this is %s: run it there", id, past.Place.Netns, here.Netns)
		}
		s, err := Find(h, id)
		return s.Lever, err
	})
}

// perNamespace reports whether each network namespace has this setting for
// itself.
func perNamespace(id string) bool {
	return strings.Contains(id, "@") || strings.HasPrefix(id, "sysctl.net.")
}

// Kept returns what the confirmed changes of hs still have in force, the last
// word on each setting.
func Kept(h host.Host, hs []History) []Wanted {
	last := map[string]Wanted{}
	var order []string
	for _, past := range hs {
		for _, st := range past.Steps {
			if !past.Confirmed || st.Back || st.Left || !st.Set {
				continue
			}
			s, err := Find(h, st.Lever)
			if err != nil {
				continue // a configuration file
			}
			w := Wanted{Setting: s, Value: st.Read}
			if s.Interface != "" {
				mac, _ := fs.ReadFile(h, "link/"+s.Interface+"/address") // without it the setting goes into the unit
				w.MAC = strings.TrimSpace(string(mac))
			}
			if _, seen := last[st.Lever]; !seen {
				order = append(order, st.Lever)
			}
			last[st.Lever] = w
		}
	}
	var out []Wanted
	for _, id := range order {
		out = append(out, last[id])
	}
	return out
}

// Controls reports whether this process is controlled through the interface:
// whether the SSH connection it runs under ends at one of its addresses.
func Controls(h host.Host, ifname string) bool {
	f := strings.Fields(os.Getenv("SSH_CONNECTION")) // client address, port, server address, port
	if len(f) != 4 {
		return false
	}
	local, err := netip.ParseAddr(f[2])
	if err != nil {
		return false
	}
	owner, ok := interfaceOf(local.Unmap())
	return !ok || owner == ifname // not known: assume the worst
}

// Kind is a line of what there is to set.
type Kind struct{ ID, Help, Trade string }

// Kinds lists the families of settings for people: "link.mtu@IF".
func Kinds() []Kind {
	var out []Kind
	plain := strings.NewReplacer(`\d+`, "N", `\`, "", "(.+)", "*", "([a-zA-Z0-9_-]+)", "*", "(", "", ")", "")
	for _, f := range catalogue() {
		id := plain.Replace(f.id)
		if f.perIf {
			id += "@IF"
		}
		out = append(out, Kind{id, f.help, f.trade})
	}
	return out
}

// Expand turns what a person names into setting IDs: an ID stands for itself,
// an interface for every setting it has.
func Expand(h host.Host, name string) ([]string, error) {
	if _, err := fs.Stat(h, "link/"+name); err != nil {
		if strings.ContainsAny(name, ".@") {
			return []string{name}, nil
		}
		return nil, fmt.Errorf("%s: neither a setting nor an interface: %w", name, ErrNoLever)
	}
	var out []string
	for _, f := range catalogue() {
		if f.perIf {
			out = append(out, f.on(h, name)...)
		}
	}
	return out, nil
}

// on lists the IDs of a family that exist on an interface.
func (f family) on(h host.Host, ifname string) []string {
	pattern := strings.ReplaceAll(f.path, "$if", ifname)
	base := pattern
	if i := strings.Index(pattern, "$"); i >= 0 {
		base = strings.TrimRight(pattern[:i], "/")
	}
	id := regexp.MustCompile("^" + f.id + "$")
	var out []string
	add := func(candidate string) {
		if id.MatchString(candidate) {
			out = append(out, candidate+"@"+ifname)
		}
	}
	if f.key != "" {
		groups, _ := fs.ReadDir(h, base) // an interface without ethtool has none
		for _, g := range groups {
			b, err := fs.ReadFile(h, base+"/"+g.Name())
			if err != nil {
				continue
			}
			for line := range strings.Lines(string(b)) {
				if k, _, ok := strings.Cut(line, ":"); ok {
					add("ethtool." + g.Name() + "." + strings.TrimSpace(k))
				}
			}
		}
		return out
	}
	if base == pattern {
		add(strings.ReplaceAll(f.id, `\`, ""))
		return out
	}
	prefix, _, _ := strings.Cut(strings.ReplaceAll(f.id, `\.`, "."), ".")
	_ = fs.WalkDir(h, base, func(p string, d fs.DirEntry, err error) error { // what cannot be listed is not shown
		if err == nil && p != base {
			rel := strings.TrimPrefix(p, base+"/")
			add(prefix + "." + strings.ReplaceAll(strings.ReplaceAll(rel, "/byte_queue_limits", ""), "/", "."))
		}
		return nil
	})
	slices.Sort(out)
	return out
}
