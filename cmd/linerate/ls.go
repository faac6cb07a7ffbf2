package main

import (
	"cmp"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"text/tabwriter"
	"time"
	"unicode"

	"github.com/spf13/cobra"

	"github.com/linerate/linerate/internal/serve/ftp/client"
	"github.com/linerate/linerate/internal/wire/ftp"
)

// listed is an entry as ls --json prints it; what the server didn't tell is
// left out.
type listed struct {
	Name     string     `json:"name"`
	Type     string     `json:"type"`
	Size     *int64     `json:"size_bytes,omitempty"`
	Modified *time.Time `json:"modified,omitempty"`
}

func newLs(c cli) *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use:     "ls URL",
		Short:   "List a directory of an FTP or FTPS server",
		Long:    "ls lists what a directory of a server holds. URLs and accounts are as in 'linerate get'.",
		Example: "  linerate ls ftp://user:password@192.168.1.4/",
		Args:    nArgs("URL"),
	}
	o := addFTP(cmd)
	cmd.Flags().BoolVar(&asJSON, "json", false, "print an array of objects")
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		cfg, err := o.config(c, args[0])
		if err != nil {
			return err
		}
		conn, err := client.Dial(cmd.Context(), cfg)
		if err != nil {
			return err
		}
		defer conn.Close()
		dir := cfg.Path
		if dir != "/" {
			dir = strings.TrimSuffix(dir, "/")
		}
		entries, err := conn.List(cmd.Context(), dir)
		if err != nil {
			return err
		}
		slices.SortFunc(entries, func(a, b ftp.Entry) int { return cmp.Compare(a.Name, b.Name) })
		if asJSON {
			return listJSON(c, entries)
		}
		return listText(c, entries)
	}
	return cmd
}

func listJSON(c cli, entries []ftp.Entry) error {
	out := make([]listed, 0, len(entries))
	for _, e := range entries {
		l := listed{Name: e.Name, Type: e.Type}
		if e.Size >= 0 {
			l.Size = &e.Size
		}
		if !e.Modify.IsZero() {
			l.Modified = &e.Modify
		}
		out = append(out, l)
	}
	enc := json.NewEncoder(c.out)
	enc.SetEscapeHTML(false)
	enc.SetIndent("", "  ")
	return enc.Encode(out)
}

func listText(c cli, entries []ftp.Entry) error {
	w := tabwriter.NewWriter(c.out, 0, 0, 2, ' ', tabwriter.AlignRight)
	for _, e := range entries {
		size, at, name := "-", "-", printable(e.Name)
		if e.Size >= 0 && !e.IsDir() {
			size = fmt.Sprint(e.Size)
		}
		if !e.Modify.IsZero() {
			at = e.Modify.Format("2006-01-02 15:04:05")
		}
		if e.IsDir() {
			name += "/"
		}
		fmt.Fprintf(w, "%s\t%s\t  %s\n", size, at, name)
	}
	return w.Flush()
}

// printable keeps a server's names from acting on the terminal.
func printable(name string) string {
	return strings.Map(func(r rune) rune {
		if unicode.IsControl(r) {
			return '?'
		}
		return r
	}, name)
}
