//go:build !unix

package fleet

import "io/fs"

// exposed: other systems guard a home directory by access lists, which the
// mode does not show.
func exposed(fs.FileMode) bool { return false }
