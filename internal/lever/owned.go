package lever

import (
	"fmt"
	"io"
	"os"
	"path/filepath"
)

// Own takes part in owning the journal with this ID, as the process that made
// it and its dead-man timer do, until the closer is closed or this process ends.
func Own(dir, id string) (io.Closer, error) {
	f, err := os.Open(filepath.Join(dir, filepath.Base(id)+ending))
	if err != nil {
		return nil, fmt.Errorf("journal: %w", err)
	}
	if err := share(f); err != nil {
		f.Close()
		return nil, fmt.Errorf("journal %s: %w", f.Name(), err)
	}
	return f, nil
}

// Abandoned reports whether changes wait that no process answers for any more:
// who made them and the dead-man timer have died, by kill -9 or with the box.
func Abandoned(dir string, h History) bool {
	return !h.Confirmed && h.Open() > 0 && free(filepath.Join(dir, h.ID+ending))
}

// Read returns what the journal with this ID says.
func Read(dir, id string) (History, error) {
	return read(filepath.Join(dir, filepath.Base(id)+ending))
}
