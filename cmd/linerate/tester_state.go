package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"slices"
	"strings"

	"github.com/linerate/linerate/internal/host"
	"github.com/linerate/linerate/internal/workload/generator"
)

// linkState names the interfaces whose link is down, as the end of an error;
// empty where none is.
func linkState(names ...string) string {
	h, err := host.Live()
	if err != nil {
		return ""
	}
	slices.Sort(names)
	var down []string
	for _, n := range slices.Compact(names) {
		// carrier cannot be read of an interface that is set down.
		b, err := fs.ReadFile(h, path.Join("sys/class/net", n, "carrier"))
		if _, gone := fs.Stat(h, path.Join("sys/class/net", n)); gone != nil {
			continue
		}
		if err != nil || strings.TrimSpace(string(b)) != "1" {
			down = append(down, n)
		}
	}
	if len(down) == 0 {
		return ""
	}
	return fmt.Sprintf(": the link of %s is down", strings.Join(down, " and "))
}

// errSilent is wrapped by the error of a trial of which nothing came back, nor
// of a few frames after it: the device is gone, not overloaded.
var errSilent = errors.New("nothing comes back")

// alive asks, after a trial of which not one frame was received, whether the
// device still forwards a few. A device that drops everything at that load lost
// all of it; one that is gone ends the test.
func (r *rig) alive(ctx context.Context) error {
	for _, d := range r.directions {
		err := generator.Prove(ctx, d.sender, d.sink)
		switch {
		case err == nil:
		case !errors.Is(err, generator.ErrNothingArrived):
			return err
		case linkState(d.from, d.to) != "":
			return fmt.Errorf("%w%s", errSilent, linkState(d.from, d.to))
		case d.from == d.to:
			return fmt.Errorf("%w: the link of %s is up, but the reflector at %v is silent", errSilent, d.from, d.profile.DestIP)
		default:
			return fmt.Errorf("%w: the links are up, but the device forwards nothing from %s to %s", errSilent, d.from, d.to)
		}
	}
	return nil
}
