package main

import (
	"context"
	"io"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"github.com/linerate/linerate/internal/serve/ftp/client"
	"github.com/linerate/linerate/internal/serve/ftp/mirror"
	"github.com/linerate/linerate/result"
)

// zeroSource is how an upload made up on the spot is spelled: "zero:292MB".
const zeroSource = "zero:"

func newPut(c cli) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "put SOURCE URL",
		Short: "Upload to an FTP or FTPS server",
		Long: `put uploads a file, or with --recursive a directory, to any FTP server.

SOURCE is a file, - for standard input, or zero:SIZE for that many zero bytes
made on the spot, to measure with. A URL that ends in / names a directory the
source keeps its name in. URLs and accounts are as in 'linerate get'.`,
		Example: `  linerate put image.bin ftp://user:password@192.168.1.4/
  linerate put zero:292MB ftp://user:password@192.168.1.4/data.bin   # measure, without a file
  linerate put -r -P 4 -c --verify photos ftpes://host/backup/`,
		Args: nArgs("SOURCE", "URL"),
	}
	o := addJob(cmd)
	out := addOutput(cmd)
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		cfg, err := o.config(c, args[1])
		if err != nil {
			return err
		}
		m, err := o.options(c)
		if err != nil {
			return err
		}
		j := &job{kind: "ftp.stor", tally: m.Tally}
		j.do, err = o.putter(c, &cfg, args[0], m)
		if err != nil {
			return err
		}
		j.where = cfg.Location
		return o.runJob(cmd, c, j, out)
	}
	return cmd
}

// putter decides what to do from the flags and completes the path of cfg.
func (o *jobFlags) putter(c cli, cfg *client.Config, source string, m mirror.Options) (func(context.Context) error, error) {
	size, zero := strings.CutPrefix(source, zeroSource)
	if name := targetName(source); cfg.Path == "" || strings.HasSuffix(cfg.Path, "/") {
		if name == "" {
			return nil, usagef("%s: name the file to make in the URL", cfg.Location)
		}
		cfg.Path += name
	}
	remote := cfg.Path
	switch {
	case zero:
		n, err := result.ParseSize(size)
		if err != nil {
			return nil, usagef("%s: %v", source, err)
		}
		return func(ctx context.Context) error { return mirror.Send(ctx, *cfg, client.Zeros(n), n, remote, m) }, nil
	case source == "-":
		return func(ctx context.Context) error {
			return mirror.Send(ctx, *cfg, struct{ io.Reader }{c.in}, -1, remote, m)
		}, nil
	case o.recursive:
		root, err := os.OpenRoot(source)
		if err != nil {
			return nil, err
		}
		return func(ctx context.Context) error {
			defer root.Close()
			return mirror.PutTree(ctx, *cfg, root, remote, m)
		}, nil
	}
	root, err := os.OpenRoot(filepath.Dir(source))
	if err != nil {
		return nil, err
	}
	return func(ctx context.Context) error {
		defer root.Close()
		return mirror.Put(ctx, *cfg, root, filepath.Base(source), remote, m)
	}, nil
}

// targetName is what a source is called at the server; "" where it has no name.
func targetName(source string) string {
	if size, ok := strings.CutPrefix(source, zeroSource); ok {
		return "zero-" + size
	}
	abs, err := filepath.Abs(source)
	if err != nil || source == "-" || filepath.Dir(abs) == abs {
		return ""
	}
	return filepath.Base(abs)
}
