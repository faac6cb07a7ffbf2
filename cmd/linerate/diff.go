package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"github.com/linerate/linerate/internal/report"
)

func newDiff(c cli) *cobra.Command {
	var asJSON bool
	var out string
	cmd := &cobra.Command{
		Use:   "diff BASE OTHER...",
		Short: "Compare results: medians, intervals, ratios",
		Long: "diff compares figures of two or more sets of results with those of the first set. A set is a result file, a\n" +
			"directory of them, or several joined by commas: results of the same thing done again, whose spread tells\n" +
			"whether a difference is more than chance.",
		Example: "  linerate diff before.json after.json\n  linerate diff runs/mtu1500/ runs/mtu9000/\n  linerate diff a1.json,a2.json,a3.json b1.json,b2.json,b3.json --json",
		Args: func(cmd *cobra.Command, args []string) error {
			if len(args) < 2 || len(args) > 26 {
				return usagef("%s wants 2 to 26 sets of results; see '%s --help'", cmd.CommandPath(), cmd.CommandPath())
			}
			return nil
		},
		RunE: func(_ *cobra.Command, args []string) error {
			var sets []report.Set
			for _, a := range args {
				s, err := readSet(c, a)
				if err != nil {
					return err
				}
				sets = append(sets, s)
			}
			show := report.Diff(sets).Text
			if asJSON {
				show = report.Diff(sets).JSON
			}
			if out != "" {
				return writeFile(out, show)
			}
			return show(c.out)
		},
	}
	f := cmd.Flags()
	f.BoolVar(&asJSON, "json", false, "print the comparison as JSON ("+report.ComparisonSchema+")")
	f.StringVarP(&out, "out", "o", "", "write to `FILE` instead of standard output")
	return cmd
}

// readSet reads the results that one argument of diff names.
func readSet(c cli, arg string) (report.Set, error) {
	set := report.Set{Name: arg}
	for name := range strings.SplitSeq(arg, ",") {
		files, err := resultFiles(name)
		if err != nil {
			return set, err
		}
		for _, f := range files {
			r, err := readResult(c, f)
			if err != nil {
				return set, err
			}
			set.Results = append(set.Results, r)
		}
	}
	return set, nil
}

// resultFiles are the results in a directory, or the file itself.
func resultFiles(name string) ([]string, error) {
	if info, err := os.Stat(name); err != nil || !info.IsDir() {
		return []string{name}, nil // opening it gives the better error
	}
	entries, err := os.ReadDir(name)
	if err != nil {
		return nil, err
	}
	var files []string
	for _, e := range entries {
		if filepath.Ext(e.Name()) == ".json" {
			files = append(files, filepath.Join(name, e.Name()))
		}
	}
	if len(files) == 0 {
		return nil, fmt.Errorf("%s: no .json file in this directory", name)
	}
	return files, nil
}
