package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/linerate/linerate/internal/host"
	"github.com/linerate/linerate/internal/lever"
)

// recover puts back what a session that died left changed: a crash, kill -9 or
// reboot in the middle, whose dead-man timer died too. Verbs that change
// settings call it first.
func (o *tuneOptions) recover(ctx context.Context, c cli) error {
	h, err := host.Live()
	if err != nil {
		return err
	}
	hs, err := lever.Histories(o.dir)
	if err != nil {
		return err
	}
	var errs []error
	for _, past := range hs {
		if !lever.Abandoned(o.dir, past) {
			continue
		}
		fmt.Fprintf(c.err, "changes of %s were neither confirmed nor put back; putting them back\n", past.Start.Format(time.DateTime))
		errs = append(errs, o.each([]string{past.ID}, func(j *lever.Journal, past lever.History) error {
			out, err := lever.Undo(ctx, h, lever.Here(h), j, past)
			for _, x := range out {
				printOutcome(c, x)
			}
			return err
		}))
	}
	if err := errors.Join(errs...); err != nil {
		return fmt.Errorf("%w; see 'linerate tune history', then run 'linerate tune rollback'", err)
	}
	return nil
}
