package mirror

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path"
	"strings"

	"github.com/linerate/linerate/internal/serve/ftp/client"
	"github.com/linerate/linerate/internal/wire/ftp"
)

// Limits of a tree, for servers whose directories contain themselves.
const (
	maxDepth = 64
	maxFiles = 1 << 20
)

// GetTree downloads what the directory remote holds into root.
func GetTree(ctx context.Context, cfg client.Config, remote string, root *os.Root, o Options) error {
	return parallel(ctx, newJob(cfg, o),
		func(ctx context.Context, w *worker, found func(remoteFile) error) error {
			return w.walk(ctx, root, remote, ".", 0, found)
		},
		func(ctx context.Context, w *worker, f remoteFile) error {
			err := w.download(ctx, root, f)
			if _, refused := errors.AsType[*client.ReplyError](err); refused && !client.Temporary(err) {
				// One file that may not be read doesn't end the others.
				w.Log.Warn("left out", "file", f.remote, "error", err)
				w.Tally.Skipped.Add(1)
				return nil
			}
			return err
		})
}

// walk finds the files below a directory and makes the local directories.
func (w *worker) walk(ctx context.Context, root *os.Root, remote, local string, depth int, found func(remoteFile) error) error {
	if depth > maxDepth {
		return fmt.Errorf("%s: more than %d directories deep", remote, maxDepth)
	}
	var entries []ftp.Entry
	err := w.try(ctx, func(c *client.Conn, _ int) (err error) {
		entries, err = c.List(ctx, remote)
		return err
	})
	if err != nil {
		return err
	}
	if err := root.MkdirAll(local, 0o755); err != nil {
		return err
	}
	for _, e := range entries {
		if err := CheckName(e.Name); err != nil {
			w.Log.Warn(err.Error())
			w.Tally.Skipped.Add(1)
			continue
		}
		f := remoteFile{remote: join(remote, e.Name), local: path.Join(local, e.Name), size: e.Size, modified: e.Modify}
		if isLink(e) { // what it leads to has another size, or is a directory that RETR refuses
			f.size = -1
		}
		switch {
		case e.IsDir():
			err = w.walk(ctx, root, f.remote, f.local, depth+1, found)
		case e.Type == ftp.TypeOther:
			w.Tally.Skipped.Add(1)
		case w.Tally.Files.Add(1) > maxFiles:
			err = fmt.Errorf("more than %d files", maxFiles)
		default:
			w.Tally.Size.Add(max(f.size, 0))
			err = found(f)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// join appends a name to a remote directory, which may be "", the one after
// login. path.Join would turn "//x" into "/x" and lose a leading "./".
func join(dir, name string) string {
	if dir == "" || dir[len(dir)-1] == '/' {
		return dir + name
	}
	return dir + "/" + name
}

func isLink(e ftp.Entry) bool {
	return strings.HasPrefix(strings.ToLower(e.Type), "os.unix=s") // "slink:target", "symlink"
}
