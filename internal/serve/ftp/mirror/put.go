package mirror

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"github.com/linerate/linerate/internal/serve/ftp/client"
)

// announceFrom is the size of an upload worth announcing to the server, which
// costs a round trip.
const announceFrom = 1 << 20

// localFile is a file to upload.
type localFile struct {
	local, remote string // local is below the source directory
}

// Send stores what r yields, size bytes or -1 where that isn't known, as
// remote. It can't be tried again once bytes have moved, unless r seeks.
func Send(ctx context.Context, cfg client.Config, r io.Reader, size int64, remote string, o Options) error {
	j := newJob(cfg, o)
	w := &worker{job: j}
	defer w.close()
	j.Tally.Files.Add(1)
	j.Tally.Size.Add(max(size, 0))
	err := w.try(ctx, func(c *client.Conn, failed int) error {
		if s, ok := r.(io.Seeker); failed > 0 && ok {
			if _, err := s.Seek(0, io.SeekStart); err != nil {
				return err
			}
		} else if failed > 0 && j.Tally.Moved.Load() > 0 {
			return fmt.Errorf("%s: the input cannot be read again for another try", remote)
		}
		if size >= announceFrom {
			if err := c.Announce(ctx, size); err != nil {
				return err
			}
		}
		_, err := c.Put(ctx, remote, 0, r, j.Data)
		return err
	})
	if err == nil {
		j.Tally.FilesDone.Add(1)
	}
	return err
}

// Put uploads the file local, a name below root, as remote.
func Put(ctx context.Context, cfg client.Config, root *os.Root, local, remote string, o Options) error {
	j := newJob(cfg, o)
	w := &worker{job: j}
	defer w.close()
	return w.upload(ctx, root, localFile{local, remote})
}

// PutTree uploads what root holds into the directory remote, which is made
// with all above it. Symbolic links are left out.
func PutTree(ctx context.Context, cfg client.Config, root *os.Root, remote string, o Options) error {
	return parallel(ctx, newJob(cfg, o),
		func(ctx context.Context, w *worker, found func(localFile) error) error {
			for i := range remote {
				if i > 0 && remote[i] == '/' {
					if err := w.makeDir(ctx, remote[:i]); err != nil {
						return err
					}
				}
			}
			return fs.WalkDir(root.FS(), ".", func(name string, d fs.DirEntry, err error) error {
				if err != nil {
					return err
				}
				target := remote
				if name != "." {
					target = join(remote, name)
				}
				switch {
				case d.IsDir():
					return w.makeDir(ctx, target)
				case d.Type().IsRegular():
					return found(localFile{name, target})
				}
				w.Tally.Skipped.Add(1)
				return nil
			})
		},
		func(ctx context.Context, w *worker, f localFile) error { return w.upload(ctx, root, f) })
}

func (w *worker) makeDir(ctx context.Context, dir string) error {
	if dir == "" || dir == "/" {
		return nil
	}
	return w.try(ctx, func(c *client.Conn, _ int) error { return c.MakeDir(ctx, dir) })
}

// upload sends one file, tries included.
func (w *worker) upload(ctx context.Context, root *os.Root, f localFile) error {
	file, err := root.Open(filepath.FromSlash(f.local))
	if err != nil {
		return err
	}
	defer file.Close()
	st, err := file.Stat()
	if err != nil {
		return err
	}
	if !st.Mode().IsRegular() {
		return fmt.Errorf("%s is not a file; directories need --recursive", f.local)
	}
	w.Tally.Files.Add(1)
	w.Tally.Size.Add(st.Size())
	err = w.try(ctx, func(c *client.Conn, failed int) error {
		return w.store(ctx, c, file, st.Size(), f.remote, w.Resume || failed > 0)
	})
	if err == nil && w.Times {
		err = w.setTime(ctx, f.remote, st.ModTime())
	}
	if err == nil {
		w.Tally.FilesDone.Add(1)
	}
	return err
}

// store sends file, from where the server's copy ends if it is to be resumed,
// and checks what arrived.
func (w *worker) store(ctx context.Context, c *client.Conn, file *os.File, size int64, remote string, resume bool) error {
	offset := int64(0)
	if resume {
		n, err := c.Size(ctx, remote)
		if err != nil && !errors.Is(err, client.ErrNoSize) {
			return err
		}
		if err == nil && n <= size {
			offset = n
		}
	}
	if offset < size || size == 0 {
		if size-offset >= announceFrom {
			if err := c.Announce(ctx, size); err != nil {
				return err
			}
		}
		if err := w.send(ctx, c, file, offset, remote); err != nil {
			return err
		}
	}
	w.Tally.Present.Add(offset)
	if n, err := c.Size(ctx, remote); err == nil && n != size {
		return fmt.Errorf("%s: the server has %d bytes of %d: %w", remote, n, size, ErrMismatch)
	} else if err != nil && !errors.Is(err, client.ErrNoSize) {
		return err
	}
	if !w.Verify {
		return nil
	}
	if _, err := file.Seek(0, io.SeekStart); err != nil {
		return err
	}
	return w.verify(ctx, c, remote, file)
}

// send puts file from offset on; a server that can't resume gets all of it.
func (w *worker) send(ctx context.Context, c *client.Conn, file *os.File, offset int64, remote string) error {
	if _, err := file.Seek(offset, io.SeekStart); err != nil {
		return err
	}
	s, err := c.Put(ctx, remote, offset, file, w.Data)
	if offset > 0 && s.Bytes == 0 && client.Refused(err) {
		w.Log.Info("server cannot resume; starting anew", "file", remote)
		if _, err := file.Seek(0, io.SeekStart); err != nil {
			return err
		}
		_, err = c.Put(ctx, remote, 0, file, w.Data)
	}
	return err
}

func (w *worker) setTime(ctx context.Context, remote string, t time.Time) error {
	err := w.try(ctx, func(c *client.Conn, _ int) error { return c.SetModTime(ctx, remote, t) })
	if errors.Is(err, errors.ErrUnsupported) || client.Refused(err) {
		w.Log.Debug("time not kept", "file", remote, "error", err)
		return nil
	}
	return err
}
