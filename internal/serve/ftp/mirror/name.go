package mirror

import (
	"fmt"
	"path/filepath"
	"runtime"
	"strings"
)

// PartialSuffix marks a download that isn't whole yet.
const PartialSuffix = ".linerate-part"

// CheckName refuses a file name that a server sent unless it names something
// directly within a directory, on this system too: no "..", no separator, no
// drive, stream or device of Windows.
func CheckName(name string) error {
	bad := name == "" || name == "." || strings.ContainsAny(name, "/\x00") || !filepath.IsLocal(name)
	if runtime.GOOS == "windows" {
		bad = bad || strings.ContainsAny(name, `\:*?"<>|`)
	}
	if bad {
		return fmt.Errorf("the server names a file %.100q, which cannot be a name here; left out", name)
	}
	return nil
}
