package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strconv"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"github.com/linerate/linerate/internal/host"
	"github.com/linerate/linerate/internal/lever"
)

// newTune groups the verbs that change settings and put them back.
func newTune(c cli) *cobra.Command {
	o := &tuneOptions{}
	cmd := &cobra.Command{
		Use:   "tune",
		Short: "Change settings of this box and put them back",
		Long: `tune shows and changes the settings that bound a link. Each change is written to a
journal before it is made; unless it is confirmed within two minutes it undoes itself, and
'tune rollback' undoes it at any time, also after a crash.`,
		Args: noArgs,
	}
	cmd.PersistentFlags().StringVar(&o.dir, "state", lever.StateDir(), "`DIR` of the journals")
	cmd.AddCommand(newTuneShow(c), newTuneAdvise(c), newTuneApply(c, o), newTuneConfirm(c, o), newTuneRollback(c, o), newTuneHistory(c, o),
		newTunePersist(c, o), newTuneAuto(c, o), newTuneWatchdog(o))
	return cmd
}

type tuneOptions struct{ dir string }

func newTuneShow(c cli) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "show [SETTING|INTERFACE]...",
		Short: "Show settings, or what there is to set",
		Example: `  linerate tune show                                  what there is
  linerate tune show eth0                             every setting of an interface
  linerate tune show sysctl.net.ipv4.tcp_rmem
  linerate tune show eth0 --agent 192.0.2.1           of the other end`,
	}
	far := addFar(cmd, "show")
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		if far.given() && len(args) > 0 {
			return far.atFar(cmd.Context(), func(f *farEnd) error { return f.show(cmd.Context(), c.out, args) })
		}
		h, err := host.Live()
		if err != nil {
			return err
		}
		w := tabwriter.NewWriter(c.out, 0, 0, 2, ' ', 0)
		if len(args) == 0 {
			for _, k := range lever.Kinds() {
				fmt.Fprintf(w, "%s\t%s\t%s\n", k.ID, k.Help, k.Trade)
			}
			return w.Flush()
		}
		for _, a := range args {
			ids, err := lever.Expand(h, a)
			if err != nil {
				return errors.Join(w.Flush(), err)
			}
			for _, id := range ids {
				v, err := value(cmd, h, id)
				if err != nil && len(ids) == 1 {
					return errors.Join(w.Flush(), err)
				}
				if err == nil {
					fmt.Fprintf(w, "%s\t%s\n", id, v)
				}
			}
		}
		return w.Flush()
	}
	return cmd
}

func value(cmd *cobra.Command, h host.Host, id string) (string, error) {
	s, err := lever.Find(h, id)
	if err != nil {
		return "", err
	}
	return s.Get(cmd.Context())
}

func newTuneConfirm(c cli, o *tuneOptions) *cobra.Command {
	cmd := &cobra.Command{
		Use: "confirm [ID]", Short: "Keep changes that wait for confirmation", Args: cobra.MaximumNArgs(1),
		Example: "  linerate tune confirm\n  linerate tune confirm --agent 192.0.2.1",
	}
	far := addFar(cmd, "confirm at")
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		if far.given() {
			return far.atFar(cmd.Context(), func(f *farEnd) error {
				kept, err := f.confirm(cmd.Context(), args...)
				for _, h := range kept {
					fmt.Fprintf(c.out, "%s: %d changes kept\n", h.ID, h.Open())
				}
				return err
			})
		}
		return o.each(args, func(j *lever.Journal, h lever.History) error {
			if h.Confirmed || h.Open() == 0 {
				return nil
			}
			fmt.Fprintf(c.out, "%s: %d changes kept\n", h.ID, h.Open())
			return j.Confirm()
		})
	}
	return cmd
}

func newTuneRollback(c cli, o *tuneOptions) *cobra.Command {
	abandoned := false
	var far *farFlags
	cmd := &cobra.Command{
		Use: "rollback [ID]", Short: "Undo every change that is not undone yet", Args: cobra.MaximumNArgs(1),
		Example: "  linerate tune rollback\n  linerate tune rollback --abandoned\n  linerate tune rollback --agent 192.0.2.1",
		RunE: func(cmd *cobra.Command, args []string) error {
			if far.given() {
				return far.atFar(cmd.Context(), func(f *farEnd) error { return f.rollback(cmd.Context(), c, args...) })
			}
			if abandoned {
				return o.recover(cmd.Context(), c)
			}
			h, err := host.Live()
			if err != nil {
				return err
			}
			undone := 0
			err = o.each(args, func(j *lever.Journal, past lever.History) error {
				out, err := lever.Undo(cmd.Context(), h, lever.Here(h), j, past)
				for _, x := range out {
					undone++
					printOutcome(c, x)
				}
				return err
			})
			if err == nil && undone == 0 {
				fmt.Fprintln(c.out, "nothing to put back")
			}
			return err
		},
	}
	far = addFar(cmd, "put back")
	cmd.Flags().BoolVar(&abandoned, "abandoned", false, "undo only what was never confirmed and no process answers for any more")
	return cmd
}

func printOutcome(c cli, o lever.Outcome) {
	switch {
	case o.Err != nil:
		fmt.Fprintf(c.err, "%s: not put back: %v\n", o.Lever, o.Err)
	case o.Left != "":
		fmt.Fprintf(c.out, "%s: left at %q: somebody changed it since\n", o.Lever, o.Left)
	default:
		fmt.Fprintf(c.out, "%s: back to %s\n", o.Lever, brief(o.Before))
	}
}

func newTuneHistory(c cli, o *tuneOptions) *cobra.Command {
	cmd := &cobra.Command{
		Use: "history", Short: "List the changes made and undone", Args: noArgs,
		Example: "  linerate tune history\n  linerate tune history --agent 192.0.2.1",
	}
	far := addFar(cmd, "list what was changed at")
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		if far.given() {
			return far.atFar(cmd.Context(), func(f *farEnd) error { return f.history(cmd.Context(), c.out) })
		}
		hs, err := lever.Histories(o.dir)
		if err != nil {
			return err
		}
		return showHistory(c.out, hs)
	}
	return cmd
}

func showHistory(out io.Writer, hs []lever.History) error {
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	for _, h := range hs {
		state := "waits for 'tune confirm'"
		switch {
		case h.Open() == 0:
			state = "undone"
		case h.Confirmed:
			state = "kept"
		}
		fmt.Fprintf(w, "%s\t%s\n", h.ID, state)
		for _, s := range h.Steps {
			fmt.Fprintf(w, "  %s\t%s to %s\t%s\n", s.Lever, brief(s.Before), brief(s.After), s.Why)
		}
	}
	return w.Flush()
}

// brief quotes a value for a line of a table; a configuration file is told by
// its length.
func brief(v string) string {
	if strings.Contains(v, "\n") {
		return fmt.Sprintf("%d lines", strings.Count(v, "\n"))
	}
	return strconv.Quote(v)
}

// newTuneWatchdog is the dead-man timer's other process.
func newTuneWatchdog(o *tuneOptions) *cobra.Command {
	var wait time.Duration
	var leashed bool
	var netns string
	cmd := &cobra.Command{
		Use: "watchdog ID", Hidden: true, Args: nArgs("ID"),
		RunE: func(cmd *cobra.Command, args []string) error {
			end, err := openEnd(netns) // first: a namespace may be gone with its last process
			if err != nil {
				return err
			}
			defer end.close()
			if leashed {
				if said, err := io.Copy(io.Discard, os.Stdin); err != nil || said == 0 {
					wait = 0 // whom it waited for is gone without a word
				}
			}
			select {
			case <-time.After(wait):
			case <-cmd.Context().Done(): // the box shuts down: put back now
			}
			return o.each(args, func(j *lever.Journal, past lever.History) error {
				if past.Confirmed {
					return nil
				}
				_, err := lever.Undo(context.WithoutCancel(cmd.Context()), end.host, end.place, j, past)
				return err
			})
		},
	}
	cmd.Flags().DurationVar(&wait, "wait", 2*time.Minute, "time to wait for a confirmation")
	cmd.Flags().BoolVar(&leashed, "leash", false, "wait for the end of standard input first")
	cmd.Flags().StringVar(&netns, "netns", "", "put back in a network namespace")
	return cmd
}

// tuneEnd is where settings are turned: this box, or a network namespace of it.
type tuneEnd struct {
	host  host.Host
	place lever.Place
	netns string // "" for our own
	close func()
}

// openEnd opens a namespace by name or path, our own for "".
func openEnd(netns string) (tuneEnd, error) {
	h, done, err := openHost("", netns)
	if err != nil {
		return tuneEnd{}, err
	}
	e := tuneEnd{host: host.WholeBox(h), place: lever.Here(h), netns: netns, close: done}
	if netns != "" {
		if e.place, err = lever.InNamespace(h, netns); err != nil {
			done()
			return tuneEnd{}, err
		}
	}
	return e, nil
}

// each calls f with every journal, newest first, or only with the one named,
// and goes on past an error.
func (o *tuneOptions) each(args []string, f func(*lever.Journal, lever.History) error) error {
	hs, err := lever.Histories(o.dir)
	if err != nil {
		return err
	}
	var errs []error
	found := false
	for i := len(hs) - 1; i >= 0; i-- {
		if len(args) > 0 && args[0] != hs[i].ID {
			continue
		}
		found = true
		j, h, err := lever.Resume(o.dir, hs[i].ID)
		if err == nil {
			err = errors.Join(f(j, h), j.Close())
		}
		if errors.Is(err, lever.ErrNotBack) {
			err = fmt.Errorf("%w: %w", err, errNotBack)
		}
		errs = append(errs, err)
	}
	if len(args) > 0 && !found {
		return usagef("no changes with ID %q; 'linerate tune history' lists them", args[0])
	}
	return errors.Join(errs...)
}

// self returns the path of this program, for processes that must outlive it.
func self() (string, error) {
	exe, err := os.Executable()
	if err != nil {
		return "", fmt.Errorf("find own program: %w", err)
	}
	return exe, nil
}
