package mirror

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"time"

	"github.com/linerate/linerate/internal/serve/ftp/client"
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
	done, size := int64(0), int64(-1)
	err := worker.try(ctx, func(c *client.Conn, _ int) error {
		if size < 0 {
			if n, err := c.Size(ctx, remote); err == nil {
				size = n
				j.Tally.Size.Add(n)
			}
		}
		s, err := c.Get(ctx, remote, done, w, j.Data)
		done += s.Bytes
		if onlyUnsigned(err, done, size) {
			err = nil
		}
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
		if onlyUnsigned(err, offset+s.Bytes, f.size) {
			w.Log.Warn("server ended TLS without close_notify; the size is right", "file", f.remote)
			err = nil
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

// onlyUnsigned reports whether a download is whole although its TLS ended
// without close_notify, as old servers leave it: the size that the control
// connection vouches for is there.
func onlyUnsigned(err error, got, size int64) bool {
	return errors.Is(err, io.ErrUnexpectedEOF) && size >= 0 && got == size
}
