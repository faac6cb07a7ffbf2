package host

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"path"
	"slices"
	"strings"

	"golang.org/x/tools/txtar"
)

// Bounds on a recorded host: a tree of small text files.
const (
	maxArchive  = 256 << 20 // bytes of all files
	maxArchived = 100_000   // files
	maxName     = 1024      // bytes of a file's name
)

// Open returns the Host recorded at name: a directory, or a .tar, .tar.gz or
// .txtar file, as the collect verb or its shell script writes them.
func Open(name string) (Host, error) {
	st, err := os.Stat(name)
	if err != nil {
		return nil, fmt.Errorf("recorded host: %w", err)
	}
	if st.IsDir() {
		return Recorded(os.DirFS(name)), nil
	}
	f, err := os.Open(name)
	if err != nil {
		return nil, fmt.Errorf("recorded host: %w", err)
	}
	defer f.Close()
	h, err := Read(f)
	if err != nil {
		return nil, fmt.Errorf("recorded host: %s: %w", name, err)
	}
	return h, nil
}

// Read returns the Host in an archive, whichever of Open's kinds it is.
func Read(r io.Reader) (Host, error) {
	b, err := readBounded(r)
	if err != nil {
		return nil, err
	}
	if bytes.HasPrefix(b, []byte{0x1f, 0x8b}) { // RFC 1952 2.3.1
		z, err := gzip.NewReader(bytes.NewReader(b))
		if err != nil {
			return nil, err
		}
		if b, err = readBounded(z); err != nil {
			return nil, err
		}
	}
	tree := memory{}
	if a := txtar.Parse(b); len(a.Files) > 0 && !isTar(b) {
		for _, f := range a.Files {
			tree.add(f.Name, f.Data)
		}
	} else if err := tree.readTar(bytes.NewReader(b)); err != nil {
		return nil, err
	}
	if len(tree) == 0 {
		return nil, errors.New("no files in it: want a tar, tar.gz or txtar of proc, sys, link and ethtool")
	}
	return Recorded(tree), nil
}

func readBounded(r io.Reader) ([]byte, error) {
	b, err := io.ReadAll(io.LimitReader(r, maxArchive+1))
	if err == nil && len(b) > maxArchive {
		err = fmt.Errorf("more than %d MiB: not a recorded host", maxArchive>>20)
	}
	return b, err
}

// isTar looks for the magic of POSIX and old GNU tar (pax(1), ustar).
func isTar(b []byte) bool { return len(b) >= 262 && string(b[257:262]) == "ustar" }

// memory is a tree of files by their full names.
type memory map[string][]byte

func (m memory) readTar(r io.Reader) error {
	t := tar.NewReader(r)
	for {
		h, err := t.Next()
		if err == io.EOF {
			return nil
		}
		if err != nil {
			return fmt.Errorf("tar: %w", err)
		}
		if h.Typeflag != tar.TypeReg {
			continue // directories follow from names; links lead nowhere in a copy
		}
		if len(m) >= maxArchived {
			return fmt.Errorf("tar: more than %d files: not a recorded host", maxArchived)
		}
		b, err := io.ReadAll(t)
		if err != nil {
			return fmt.Errorf("tar: %s: %w", h.Name, err)
		}
		m.add(h.Name, b)
	}
}

// add files a name, which may begin with "./" or "/"; a name that leaves the
// tree, or is longer than any of the kernel's, is dropped.
func (m memory) add(name string, b []byte) {
	if len(name) > maxName {
		return
	}
	name = strings.TrimLeft(path.Clean(name), "/")
	if fs.ValidPath(name) && name != "." {
		m[name] = b
	}
}

// Open opens a file, or the directory that names of files imply.
func (m memory) Open(name string) (fs.File, error) {
	if !fs.ValidPath(name) {
		return nil, &fs.PathError{Op: "open", Path: name, Err: fs.ErrInvalid}
	}
	if b, ok := m[name]; ok {
		return file(name, b), nil
	}
	prefix := name + "/"
	if name == "." {
		prefix = ""
	}
	children := map[string]bool{}
	for n := range m {
		if rest, ok := strings.CutPrefix(n, prefix); ok {
			if first, _, below := strings.Cut(rest, "/"); below {
				children[first+"/"] = true
			} else {
				children[first] = true
			}
		}
	}
	if len(children) == 0 {
		return nil, &fs.PathError{Op: "open", Path: name, Err: fs.ErrNotExist}
	}
	return dir(name, entries(slices.Collect(maps.Keys(children))...)), nil
}
