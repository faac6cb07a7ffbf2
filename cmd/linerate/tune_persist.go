package main

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"path/filepath"
	"slices"

	"github.com/spf13/cobra"

	"github.com/linerate/linerate/internal/host"
	"github.com/linerate/linerate/internal/lever"
)

func newTunePersist(c cli, t *tuneOptions) *cobra.Command {
	o := &persistOptions{tuneOptions: t}
	cmd := &cobra.Command{
		Use:   "persist",
		Short: "Write configuration files so that the changes kept survive a reboot",
		Long: `persist writes the changes that were confirmed into sysctl.d, a systemd .link file, a udev rule
and, for what these cannot say, a unit. 'linerate tune rollback' removes the files with the changes.`,
		Example: "  linerate tune persist --dry-run\n  linerate tune persist",
		Args:    noArgs,
		RunE:    func(cmd *cobra.Command, _ []string) error { return runTunePersist(cmd.Context(), c, o) },
	}
	cmd.Flags().BoolVar(&o.dry, "dry-run", false, "print the files instead of writing them")
	cmd.Flags().StringVar(&o.root, "root", "/", "`DIR` that the files' paths start from")
	return cmd
}

type persistOptions struct {
	*tuneOptions
	dry  bool
	root string
}

func runTunePersist(ctx context.Context, c cli, o *persistOptions) (err error) {
	h, err := host.Live()
	if err != nil {
		return err
	}
	exe, err := self()
	if err != nil {
		return err
	}
	hs, err := lever.Histories(o.dir)
	if err != nil {
		return err
	}
	files := lever.Files(lever.Kept(h, hs), exe)
	if len(files) == 0 {
		return errors.New("nothing to persist: no change was applied and confirmed")
	}
	names := slices.Sorted(maps.Keys(files))
	if o.dry {
		for _, name := range names {
			fmt.Fprintf(c.out, "==> /%s\n%s\n", name, files[name])
		}
		return nil
	}
	j, err := lever.Create(o.dir, lever.Here(h))
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, j.Close()) }()
	for _, name := range names {
		if _, err := j.Apply(ctx, lever.Conf{Path: filepath.Join(o.root, name)}, files[name], "persist"); err != nil {
			return err
		}
		fmt.Fprintf(c.out, "wrote %s\n", filepath.Join(o.root, name))
	}
	return j.Confirm()
}
