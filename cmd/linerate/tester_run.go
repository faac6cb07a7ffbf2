package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"github.com/linerate/linerate/result"
)

// testSizes is what every verb of the tester does: it connects for each frame
// size in turn, has one test it, and delivers the result, a partial one too.
func testSizes(cmd *cobra.Command, c cli, o *testerOptions, out *output, kind string, one func(ctx context.Context, r *rig, sizes string, res *result.Result) error) error {
	if _, err := out.target(); err != nil {
		return err
	}
	if err := o.check(cmd); err != nil {
		return err
	}
	fmt.Fprint(c.err, o.filterList())
	ctx, start := cmd.Context(), time.Now()
	res := &result.Result{ID: result.NewID(start), Origin: result.Measured, Start: start, Ending: result.Completed,
		Workload: result.Workload{Kind: kind, Params: o.params()}}
	var err error
	for _, sizes := range o.sizesInTurn() {
		if err = testSize(ctx, c, o, sizes, res, one); err != nil {
			break
		}
	}
	res.Duration = time.Since(start)
	return out.deliver(c, res, endOf(ctx, res, err))
}

func testSize(ctx context.Context, c cli, o *testerOptions, sizes []int, res *result.Result, one func(context.Context, *rig, string, *result.Result) error) (err error) {
	r, err := openRig(ctx, o, sizes)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, r.Close()) }()
	if res.Ends == nil {
		res.Ends = r.ends()
		for _, d := range r.directions {
			fmt.Fprintf(c.err, "sends by %s; counts by %s\n", d.sender.Name(), d.sink.Name())
		}
	}
	return one(ctx, r, sizeName(sizes), res)
}

func sizeName(sizes []int) string {
	if len(sizes) > 1 {
		return "imix"
	}
	return fmt.Sprint(sizes[0])
}

// endOf notes how a run ended; an interrupt is no error.
func endOf(ctx context.Context, r *result.Result, err error) error {
	switch {
	case err == nil:
	case ctx.Err() != nil:
		r.Ending, r.Error = result.Interrupted, err.Error()
		return nil
	default:
		r.Ending, r.Error = result.Failed, err.Error()
	}
	return err
}
