//go:build unix

package disk

import (
	"fmt"
	"io/fs"
	"syscall"
)

// unique is made of device and inode, which stay when a file is renamed.
func unique(fi fs.FileInfo) string {
	st, ok := fi.Sys().(*syscall.Stat_t)
	if !ok {
		return ""
	}
	return fmt.Sprintf("%xg%x", uint64(st.Dev), uint64(st.Ino))
}
