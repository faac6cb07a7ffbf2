// Package store says what an FTP server keeps files in. A store hands out
// readers and writers that may be able to do more than copy (give away the
// file for sendfile, lend mapped memory to receive into, drop what arrives);
// package data declares those abilities where it uses them.
//
// Names are slash-separated and rooted at the store: "/" is its top, and ".."
// never leads above it.
package store

import (
	"context"
	"io"
	"io/fs"
	"os"
	"time"
)

// Info describes a file or directory.
type Info struct {
	Name    string // last element
	Size    int64  // bytes
	Mode    fs.FileMode
	ModTime time.Time
	Unique  string // the same for two names of one file, RFC 3659 7.5.2; empty where unknown
	Partial bool   // an upload that broke off; Size is what has arrived
	SHA256  []byte // of the content, where the store has it at no cost
}

// IsDir reports whether it is a directory.
func (i Info) IsDir() bool { return i.Mode.IsDir() }

// A Store holds files by name. Errors wrap fs.ErrNotExist, fs.ErrExist,
// fs.ErrPermission or one of this package's.
type Store interface {
	// Stat describes name. Where only a broken-off upload of that name exists
	// it is described, so that a client learns from SIZE where to resume.
	Stat(ctx context.Context, name string) (Info, error)

	// List returns the entries of directory name by name; broken-off uploads
	// are left out.
	List(ctx context.Context, name string) ([]Info, error)

	// Open reads file name from offset on. The reader keeps the content of
	// this moment, also when the file is replaced. An offset beyond the end
	// is an ErrOffset.
	Open(ctx context.Context, name string, offset int64) (Reader, error)

	// Create begins an upload, which name shows only after Commit.
	Create(ctx context.Context, name string, o CreateOptions) (Writer, error)

	Mkdir(ctx context.Context, name string) error
	Remove(ctx context.Context, name string) error // of a file
	Rmdir(ctx context.Context, name string) error  // of an empty directory
	Rename(ctx context.Context, from, to string) error
	Chmod(ctx context.Context, name string, mode fs.FileMode) error // permission bits
	Chtimes(ctx context.Context, name string, mtime time.Time) error

	// Close ends the store; readers and writers still open stay usable.
	Close() error
}

// CreateOptions says how an upload begins.
type CreateOptions struct {
	// Offset keeps the first bytes of what is there, of a broken-off upload
	// before those of the file, and goes on behind them; what followed is cut
	// off (REST before STOR, RFC 3659 5.3). More than is there is an ErrOffset.
	Offset int64
	// Append goes on behind what Stat shows (APPE, RFC 959 4.1.3).
	Append bool
	// Size announces the bytes to come where the client did (ALLO): space for
	// them is taken at once or refused. It is no limit.
	Size int64
	// Unique picks a name that isn't taken, made from the one given (STOU).
	Unique bool
}

// A Reader reads a file's content from where it was opened.
type Reader interface {
	io.ReadCloser
	Size() int64 // of the whole file in bytes
}

// A Writer takes an upload. Exactly one of Commit and Abort ends it.
type Writer interface {
	io.Writer
	Name() string // last element; with Unique the one that was picked
	// Commit puts the upload in place of what name held, in one step.
	Commit() error
	// Abort leaves name as it was and keeps what has arrived for a resume
	// where the store can.
	Abort() error
}

// Extent is a range of a file that holds content: what sendfile takes.
type Extent struct {
	File   *os.File
	Offset int64
	Length int64
}
