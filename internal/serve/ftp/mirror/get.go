package mirror

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path"
	"strings"
	"time"

	"github.com/linerate/linerate/internal/serve/ftp/client"
	"github.com/linerate/linerate/internal/wire/ftp"
)

// Limits of a tree, for servers whose directories contain themselves.
const (
	maxDepth = 64
	maxFiles = 1 << 20
)

// remoteFile is a file to download.
type remoteFile struct {
	remote, local string // local is below the target directory
	size          int64  // -1: not known
	modified      time.Time
}

// Copy writes the remote file to w; io.Discard drops it in the kernel. A try
// after a failure goes on where the last one ended.
func Copy(ctx context.Context, cfg client.Config, remote string, w io.Writer, o Options) error {
	j := newJob(cfg, o)
	worker := &worker{job: j}
	defer worker.close()
	j.Tally.Files.Add(1)
	var done int64
	err := worker.try(ctx, func(c *client.Conn, failed int) error {
		size := int64(-1)
		if failed == 0 {
			if n, err := c.Size(ctx, remote); err == nil {
				size = n
				j.Tally.Size.Add(n)
			}
		}
		s, err := c.Get(ctx, remote, done, w, j.Data)
		done += s.Bytes
		if err == nil && size >= 0 && done != size {
			err = fmt.Errorf("%s: %d bytes of %d arrived: %w", remote, done, size, io.ErrUnexpectedEOF)
		}
		return err
	})
	if err == nil {
		j.Tally.FilesDone.Add(1)
	}
	return err
}

// Get downloads one file to local, a name below root.
func Get(ctx context.Context, cfg client.Config, remote string, root *os.Root, local string, o Options) error {
	j := newJob(cfg, o)
	w := &worker{job: j}
	defer w.close()
	f := remoteFile{remote: remote, local: local, size: -1}
	err := w.try(ctx, func(c *client.Conn, _ int) error {
		e, err := c.Stat(ctx, remote)
		if err == nil && e.IsDir() {
			err = fmt.Errorf("%s is a directory; use --recursive", remote)
		}
		f.size, f.modified = e.Size, e.Modify
		return err
	})
	if err != nil {
		return err
	}
	j.Tally.Files.Add(1)
	j.Tally.Size.Add(max(f.size, 0))
	return w.download(ctx, root, f)
}

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

// download brings one file in, tries included.
func (w *worker) download(ctx context.Context, root *os.Root, f remoteFile) error {
	if w.Resume && whole(root, f.local, f.size, f.modified) {
		w.Tally.Present.Add(f.size)
		w.Tally.FilesDone.Add(1)
		return nil
	}
	if w.Resume {
		if err := adopt(root, f.local, f.size); err != nil {
			return err
		}
	}
	l, err := land(root, f.local)
	if err != nil {
		return err
	}
	defer l.close()
	present := int64(0)
	err = w.try(ctx, func(c *client.Conn, failed int) error {
		offset := int64(0)
		if w.Resume || failed > 0 {
			if offset, err = l.offset(f.size, f.modified); err != nil {
				return err
			}
		} else if err := l.file.Truncate(0); err != nil {
			return err
		}
		if failed == 0 {
			present = offset
		}
		return w.fetch(ctx, c, l, f, offset)
	})
	if err != nil {
		return err
	}
	if !w.Times {
		f.modified = time.Time{}
	}
	if err := l.finish(f.modified); err != nil {
		return err
	}
	w.Tally.Present.Add(present)
	w.Tally.FilesDone.Add(1)
	return nil
}

// fetch gets f from offset on and checks it.
func (w *worker) fetch(ctx context.Context, c *client.Conn, l *landing, f remoteFile, offset int64) error {
	if offset < f.size || f.size <= 0 {
		s, err := c.Get(ctx, f.remote, offset, l.file, w.Data)
		if offset > 0 && s.Bytes == 0 && client.Refused(err) {
			w.Log.Info("server cannot resume; starting anew", "file", f.remote)
			if offset, err = l.file.Seek(0, io.SeekStart); err == nil {
				err = l.file.Truncate(0)
			}
			if err == nil {
				s, err = c.Get(ctx, f.remote, 0, l.file, w.Data)
			}
		}
		if err != nil {
			return err
		}
		if got := offset + s.Bytes; f.size >= 0 && got != f.size {
			return fmt.Errorf("%s: %d bytes of %d arrived: %w", f.remote, got, f.size, io.ErrUnexpectedEOF)
		}
	}
	if !w.Verify {
		return nil
	}
	if _, err := l.file.Seek(0, io.SeekStart); err != nil {
		return err
	}
	err := w.verify(ctx, c, f.remote, l.file)
	if errors.Is(err, ErrMismatch) { // of no use for a later try
		_ = l.file.Truncate(0)
	}
	return err
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
