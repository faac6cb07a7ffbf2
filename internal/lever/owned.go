package lever

import "path/filepath"

// Abandoned reports whether changes wait that no process answers for any more:
// who made them and the dead-man timer have died, by kill -9 or with the box.
func Abandoned(dir string, h History) bool {
	return !h.Confirmed && h.Open() > 0 && free(filepath.Join(dir, h.ID+ending))
}

// Read returns what the journal with this ID says.
func Read(dir, id string) (History, error) {
	return read(filepath.Join(dir, filepath.Base(id)+ending))
}
