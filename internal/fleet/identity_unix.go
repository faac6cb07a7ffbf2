//go:build unix

package fleet

import "io/fs"

func exposed(m fs.FileMode) bool { return m.Perm()&0o077 != 0 }
