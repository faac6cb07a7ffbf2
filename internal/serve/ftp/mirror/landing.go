package mirror

import (
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"hash"
	"io"
	"os"
	"path"
	"time"

	"github.com/linerate/linerate/internal/serve/ftp/client"
)

// landing is a download that gets its name once it is whole.
type landing struct {
	root *os.Root
	name string // with slashes, below root
	file *os.File
}

// land opens the partial file of name below root.
func land(root *os.Root, name string) (*landing, error) {
	if err := root.MkdirAll(path.Dir(name), 0o755); err != nil {
		return nil, err
	}
	f, err := root.OpenFile(name+PartialSuffix, os.O_RDWR|os.O_CREATE, 0o644)
	if err != nil {
		return nil, err
	}
	return &landing{root, name, f}, nil
}

// adopt makes a shorter file of the final name the partial one, as another
// client may have left it.
func adopt(root *os.Root, name string, size int64) error {
	have, err := root.Lstat(name)
	if _, partial := root.Lstat(name + PartialSuffix); err != nil || partial == nil || !have.Mode().IsRegular() || have.Size() >= size {
		return nil
	}
	return root.Rename(name, name+PartialSuffix)
}

// offset returns where to go on, with the file positioned there. A partial
// file that is longer than the remote one, or older than its last change, is
// of another version: it starts anew.
func (l *landing) offset(size int64, modified time.Time) (int64, error) {
	st, err := l.file.Stat()
	if err != nil {
		return 0, err
	}
	n := st.Size()
	if size >= 0 && n > size || n > 0 && modified.After(st.ModTime()) {
		n = 0
	}
	if err := l.file.Truncate(n); err != nil {
		return 0, err
	}
	return l.file.Seek(n, io.SeekStart)
}

// finish gives the whole file its name and, unless it is zero, its time.
func (l *landing) finish(modified time.Time) error {
	if err := l.file.Close(); err != nil {
		return err
	}
	if !modified.IsZero() {
		if err := l.root.Chtimes(l.name+PartialSuffix, modified, modified); err != nil {
			return err
		}
	}
	return l.root.Rename(l.name+PartialSuffix, l.name)
}

// close keeps what arrived for another try; a partial file without a byte is
// of no use.
func (l *landing) close() {
	st, err := l.file.Stat()
	_ = l.file.Close()
	if err == nil && st.Size() == 0 {
		_ = l.root.Remove(l.name + PartialSuffix)
	}
}

// ErrMismatch is wrapped where what arrived isn't what was sent.
var ErrMismatch = errors.New("verification failed")

// verify compares the hash of local, read from its start, with the server's.
// Servers without hashes are believed, for sizes have been compared.
func (w *worker) verify(ctx context.Context, c *client.Conn, remote string, local io.Reader) error {
	sum, err := c.Hash(ctx, remote)
	if errors.Is(err, errors.ErrUnsupported) {
		w.Log.Info("server has no hash of files; sizes were compared", "file", remote)
		return nil
	}
	if err != nil {
		return err
	}
	h, err := client.NewHash(sum.Algorithm)
	if err != nil {
		return err
	}
	if err := hashAll(ctx, h, local); err != nil {
		return err
	}
	if got := hex.EncodeToString(h.Sum(nil)); got != sum.Sum {
		return fmt.Errorf("%s: %s is %s here and %s at the server: %w", remote, sum.Algorithm, got, sum.Sum, ErrMismatch)
	}
	w.Tally.Verified.Add(1)
	return nil
}

func hashAll(ctx context.Context, h hash.Hash, r io.Reader) error {
	for {
		_, err := io.CopyN(h, r, 16<<20)
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err = errors.Join(err, ctx.Err()); err != nil {
			return err
		}
	}
}

// whole reports whether name is there with the size and, if known, time of the
// remote file.
func whole(root *os.Root, name string, size int64, modified time.Time) bool {
	st, err := root.Lstat(name)
	if err != nil || !st.Mode().IsRegular() || st.Size() != size {
		return false
	}
	return modified.IsZero() || !modified.After(st.ModTime().Add(time.Second))
}
