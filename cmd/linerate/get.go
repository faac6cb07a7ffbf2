package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"path"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"github.com/linerate/linerate/internal/serve/ftp/client"
	"github.com/linerate/linerate/internal/serve/ftp/mirror"
)

func newGet(c cli) *cobra.Command {
	var to string
	cmd := &cobra.Command{
		Use:   "get URL",
		Short: "Download from an FTP or FTPS server",
		Long: `get downloads a file, or with --recursive a directory, from any FTP server.

The URL is ftp://[user[:password]@]host[:port]/path; ftpes:// asks for TLS on
the usual port (explicit), ftps:// for TLS from the start (implicit, port 990).
The path counts from the directory after login; //path from the server's root.
Without a user the account is taken from ~/.netrc, else it is anonymous; a
password that is missing is asked for at the terminal.

A download gets its name once it is whole. Until then it is kept under its name
with ` + mirror.PartialSuffix + ` added, where --continue takes it up.`,
		Example: `  linerate get ftp://user:password@192.168.1.4/data.bin
  linerate get -o /dev/null ftp://192.168.1.4/data.bin   # measure; the kernel drops the payload
  linerate get -r -P 4 -c --verify ftpes://host/photos -o photos`,
		Args: nArgs("URL"),
	}
	o := addJob(cmd)
	cmd.Flags().StringVarP(&to, "to", "o", "", "write to `FILE` or into a directory; - is standard output, /dev/null (or NUL) drops it")
	out := addOutputAs(cmd, "")
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		cfg, err := o.config(c, args[0])
		if err != nil {
			return err
		}
		m, err := o.options(c)
		if err != nil {
			return err
		}
		if to == "-" && out.json {
			return usagef("--json and --to - both want standard output")
		}
		j := &job{kind: "ftp.retr", where: cfg.Location, tally: m.Tally}
		j.do, err = o.getter(c, cfg, to, m)
		if err != nil {
			return err
		}
		return o.runJob(cmd, c, j, out)
	}
	return cmd
}

// getter decides what to do from the flags, so that errors of use cost no
// connection.
func (o *jobFlags) getter(c cli, cfg client.Config, to string, m mirror.Options) (func(context.Context) error, error) {
	remote := cfg.Path
	base := path.Base(strings.TrimSuffix(remote, "/"))
	if o.recursive {
		if to == "" {
			to = base
			if remote == "" || mirror.CheckName(base) != nil {
				to = "."
			}
		}
		return func(ctx context.Context) error { return getTree(ctx, cfg, remote, to, m) }, nil
	}
	if remote == "" || strings.HasSuffix(remote, "/") {
		return nil, usagef("%s names a directory; use --recursive, or 'linerate ls' to look", cfg.Location)
	}
	var w io.Writer
	switch strings.ToLower(to) {
	case "-":
		w = struct{ io.Writer }{c.out}
	case "/dev/null", "nul":
		w = io.Discard
	}
	if w != nil {
		if o.verify || o.resume {
			return nil, usagef("--verify and --continue need a file to write to")
		}
		return func(ctx context.Context) error { return mirror.Copy(ctx, cfg, remote, w, m) }, nil
	}
	if st, err := os.Stat(to); err == nil && st.IsDir() || strings.HasSuffix(to, "/") || to == "" {
		if err := mirror.CheckName(base); err != nil {
			return nil, usagef("%s: name the file to write with --to", cfg.Location)
		}
		to = filepath.Join(to, base)
	}
	return func(ctx context.Context) error {
		root, err := openDir(filepath.Dir(to))
		if err != nil {
			return err
		}
		defer root.Close()
		return mirror.Get(ctx, cfg, remote, root, filepath.Base(to), m)
	}, nil
}

func getTree(ctx context.Context, cfg client.Config, remote, to string, m mirror.Options) error {
	root, err := openDir(to)
	if err != nil {
		return err
	}
	defer root.Close()
	return mirror.GetTree(ctx, cfg, strings.TrimSuffix(remote, "/"), root, m)
}

// openDir opens a directory as the bound of what is written, and makes it where
// it is missing.
func openDir(name string) (*os.Root, error) {
	if err := os.MkdirAll(name, 0o755); err != nil {
		return nil, fmt.Errorf("target directory: %w", err)
	}
	return os.OpenRoot(name)
}
