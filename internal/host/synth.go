package host

import (
	"bytes"
	"io"
	"io/fs"
	"path"
	"slices"
	"strings"
	"time"
)

// file returns an open file with the content given, as a counter read from the
// kernel by a system call other than read(2) appears in the tree.
func file(name string, content []byte) fs.File {
	return &synthFile{entry: entry{name: path.Base(name)}, Reader: bytes.NewReader(content)}
}

// dir returns an open directory with the entries named.
func dir(name string, entries []fs.DirEntry) fs.File {
	slices.SortFunc(entries, func(a, b fs.DirEntry) int { return strings.Compare(a.Name(), b.Name()) })
	return &synthDir{entry: entry{name: path.Base(name), dir: true}, left: entries}
}

// entries makes directory entries: names ending in "/" are directories.
func entries(names ...string) []fs.DirEntry {
	var out []fs.DirEntry
	for _, n := range names {
		d := n[len(n)-1] == '/'
		if d {
			n = n[:len(n)-1]
		}
		out = append(out, fs.FileInfoToDirEntry(entry{name: n, dir: d}))
	}
	return out
}

// entry describes a synthetic file or directory. As in proc, a size is not
// known before reading.
type entry struct {
	name string
	dir  bool
}

func (e entry) Name() string     { return e.name }
func (entry) Size() int64        { return 0 }
func (entry) ModTime() time.Time { return time.Time{} }
func (e entry) IsDir() bool      { return e.dir }
func (entry) Sys() any           { return nil }

func (e entry) Mode() fs.FileMode {
	if e.dir {
		return fs.ModeDir | 0o555
	}
	return 0o444
}

type synthFile struct {
	entry
	*bytes.Reader
}

func (f *synthFile) Stat() (fs.FileInfo, error) { return f.entry, nil }
func (*synthFile) Size() int64                  { return 0 }
func (*synthFile) Close() error                 { return nil }

type synthDir struct {
	entry
	left []fs.DirEntry
}

func (d *synthDir) Stat() (fs.FileInfo, error) { return d.entry, nil }
func (*synthDir) Close() error                 { return nil }

func (d *synthDir) Read([]byte) (int, error) {
	return 0, &fs.PathError{Op: "read", Path: d.name, Err: fs.ErrInvalid}
}

func (d *synthDir) ReadDir(n int) ([]fs.DirEntry, error) {
	if n <= 0 {
		n = len(d.left)
	} else if len(d.left) == 0 {
		return nil, io.EOF
	}
	n = min(n, len(d.left))
	out := d.left[:n]
	d.left = d.left[n:]
	return out, nil
}
