package main

import (
	"errors"
	"fmt"
	"io"
	"os"
	"time"

	"github.com/spf13/cobra"

	"github.com/linerate/linerate/internal/explain"
	"github.com/linerate/linerate/internal/wire/iperf3"
	"github.com/linerate/linerate/internal/wire/netperf"
	"github.com/linerate/linerate/result"
)

// maxImport bounds what is read of a file, in bytes.
const maxImport = 256 << 20

func newImport(c cli) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "import FILE",
		Short: "Make a result of what iperf3 or netperf printed",
		Long: "Reads the output of iperf3 -J or --json-stream, or what netperf printed, one test or many, and makes\n" +
			"a result of it, for explain, diff and report. FILE - is the standard input.",
		Example: "  iperf3 -c 192.0.2.1 -J | linerate import -\n  linerate import netperf.txt --out netperf.html",
		Args:    nArgs("FILE"),
	}
	out := addOutput(cmd)
	cmd.RunE = func(_ *cobra.Command, args []string) error {
		b, at, err := readImport(c, args[0])
		if err != nil {
			return err
		}
		r, err := imported(b, at)
		if err != nil {
			return fmt.Errorf("import %s: %w", args[0], err)
		}
		r.Findings = explain.Explain(r)
		return out.deliver(c, r, nil)
	}
	return cmd
}

// readImport returns a file and when it was written.
func readImport(c cli, name string) ([]byte, time.Time, error) {
	in, at := c.in, time.Now()
	if name != "-" {
		f, err := os.Open(name)
		if err != nil {
			return nil, at, err
		}
		defer f.Close()
		if st, err := f.Stat(); err == nil {
			at = st.ModTime()
		}
		in = f
	}
	b, err := io.ReadAll(io.LimitReader(in, maxImport+1))
	if err == nil && len(b) > maxImport {
		err = fmt.Errorf("%s: more than %d bytes", name, maxImport)
	}
	return b, at, err
}

// imported finds out whose output b is.
func imported(b []byte, at time.Time) (*result.Result, error) {
	o, jsonErr := iperf3.ParseOutput(b)
	if jsonErr == nil {
		return o.Result(), nil
	}
	runs, textErr := netperf.ParseOutput(string(b))
	if textErr == nil {
		return netperf.Result(runs, at.UTC()), nil
	}
	return nil, errors.Join(jsonErr, textErr)
}
