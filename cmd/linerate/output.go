package main

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"github.com/linerate/linerate/internal/report"
	"github.com/linerate/linerate/result"
)

// output is how a verb that makes a Result shows and judges it.
type output struct {
	json   bool
	file   string
	expect string
	text   renderer // for verbs whose text is not report.Text; nil: it is
}

// addOutput gives cmd the flags that every measuring verb has. They are checked
// before the verb runs, so that a typing error costs no measurement.
func addOutput(cmd *cobra.Command) *output { return addOutputAs(cmd, "o") }

// addOutputAs names the short flag of --out for verbs where -o means another
// thing; "" is none.
func addOutputAs(cmd *cobra.Command, short string) *output {
	o := &output{}
	f := cmd.Flags()
	f.BoolVar(&o.json, "json", false, "print the result as JSON ("+result.SchemaID+")")
	f.StringVarP(&o.file, "out", short, "", "also write the result to `FILE`; .json, .csv, .html, .txt or .prom by its ending")
	f.StringVar(&o.expect, "expect", "", "exit with status 4 if goodput is below `RATE`, such as 940Mbit/s")
	cmd.PreRunE = func(*cobra.Command, []string) error {
		_, err := o.target()
		if err == nil && o.file != "" {
			_, err = rendererFor(o.file)
		}
		return err
	}
	return o
}

// target returns the rate of --expect in bit/s, 0 where none was given.
func (o *output) target() (float64, error) {
	if o.expect == "" {
		return 0, nil
	}
	v, err := result.ParseRate(o.expect)
	if err != nil {
		return 0, usagef("--expect: %v", err)
	}
	return v, nil
}

// deliver writes r to --out, shows it and compares it with --expect. runErr is
// how the run ended; the partial result of a failed run is delivered first.
func (o *output) deliver(c cli, r *result.Result, runErr error) error {
	if r == nil {
		return runErr
	}
	show := report.Text
	if o.text != nil {
		show = o.text
	}
	if o.json {
		show = result.Encode
	}
	var err error
	if o.file != "" { // first: a reader of ours that goes away ends the process
		err = writeResult(o.file, r)
	}
	err = errors.Join(err, show(c.out, r))
	if runErr == nil { // a run that failed has its own status
		runErr = o.judge(r)
	}
	return errors.Join(runErr, err)
}

// judge compares the goodput of r, in each direction it has, with --expect.
func (o *output) judge(r *result.Result) error {
	want, err := o.target()
	if want == 0 || err != nil {
		return err
	}
	judged := false
	for _, v := range r.Totals {
		if v.Metric != result.Goodput.Name {
			continue
		}
		judged = true
		if v.V < want {
			return fmt.Errorf("goodput %s%s is below %s: %w", strings.TrimLeft(v.Labels["direction"]+" ", " "), result.FormatRate(v.V), result.FormatRate(want), errMissed)
		}
	}
	if !judged {
		return fmt.Errorf("--expect %s: the result has no goodput: %w", o.expect, errMissed)
	}
	return nil
}

// writeResult writes r to a file in the format of its ending.
func writeResult(name string, r *result.Result) error {
	show, err := rendererFor(name)
	if err != nil {
		return err
	}
	return writeFile(name, func(w io.Writer) error { return show(w, r) })
}

// rendererFor picks the format by the ending of a file's name.
func rendererFor(name string) (renderer, error) {
	format := strings.TrimPrefix(strings.ToLower(filepath.Ext(name)), ".")
	switch format {
	case "txt":
		format = "text"
	case "prom":
		format = "prometheus"
	}
	show, ok := renderers()[format]
	if !ok {
		return nil, usagef("--out %s: want a name that ends in .json, .csv, .html, .txt or .prom", name)
	}
	return show, nil
}

// writeFile writes a file that is complete or absent, never half written.
func writeFile(name string, write func(io.Writer) error) error {
	f, err := os.CreateTemp(filepath.Dir(name), ".linerate-*")
	if err != nil {
		return fmt.Errorf("--out: %w", err)
	}
	defer os.Remove(f.Name())
	err = errors.Join(write(f), f.Chmod(0o644), f.Close())
	if err == nil {
		err = os.Rename(f.Name(), name)
	}
	if err != nil {
		return fmt.Errorf("--out %s: %w", name, err)
	}
	return nil
}
