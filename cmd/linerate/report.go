package main

import (
	"fmt"
	"io"
	"maps"
	"os"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/linerate/linerate/internal/report"
	"github.com/linerate/linerate/result"
)

// renderer writes a Result in one format.
type renderer func(io.Writer, *result.Result) error

// renderers are the formats of --format.
func renderers() map[string]renderer {
	return map[string]renderer{
		"text": report.Text, "json": result.Encode, "csv": report.CSV, "html": report.HTML, "prometheus": report.Prometheus,
	}
}

func newReport(c cli) *cobra.Command {
	var format, out string
	cmd := &cobra.Command{
		Use:   "report FILE",
		Short: "Show a result as text, JSON, CSV, HTML or Prometheus text",
		Long: "report reads a result that another verb wrote ('-' reads standard input) and shows it in another format.\n" +
			"The HTML page needs no other file, no network and no script to be read.",
		Example: "  linerate report result.json\n  linerate report result.json -o result.html\n  ssh board linerate bench 192.168.1.11 --json | linerate report - --format csv",
		Args:    nArgs("FILE"),
		RunE: func(_ *cobra.Command, args []string) error {
			show, err := pickRenderer(format, out)
			if err != nil {
				return err
			}
			r, err := readResult(c, args[0])
			if err != nil {
				return err
			}
			if out == "" {
				return show(c.out, r)
			}
			return writeFile(out, func(w io.Writer) error { return show(w, r) })
		},
	}
	f := cmd.Flags()
	f.StringVarP(&format, "format", "f", "", "show as `FORMAT`: "+strings.Join(formats(), ", ")+" (default: by the ending of --out, else text)")
	f.StringVarP(&out, "out", "o", "", "write to `FILE` instead of standard output")
	_ = cmd.RegisterFlagCompletionFunc("format", cobra.FixedCompletions(formats(), cobra.ShellCompDirectiveNoFileComp)) // fails only for a flag that isn't there
	return cmd
}

// formats lists the names that --format takes.
func formats() []string { return slices.Sorted(maps.Keys(renderers())) }

// pickRenderer chooses by --format, else by the ending of --out, else text.
func pickRenderer(format, out string) (renderer, error) {
	switch {
	case format == "" && out == "":
		return report.Text, nil
	case format == "":
		return rendererFor(out)
	}
	show, ok := renderers()[format]
	if !ok {
		return nil, usagef("--format %s: want one of %s", format, strings.Join(formats(), ", "))
	}
	return show, nil
}

// readResult reads a Result from a file, or from standard input for "-".
func readResult(c cli, name string) (*result.Result, error) {
	if name == "-" {
		return result.Decode(c.in)
	}
	f, err := os.Open(name)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	r, err := result.Decode(f)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	return r, nil
}
