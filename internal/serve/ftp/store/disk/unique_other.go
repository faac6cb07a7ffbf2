//go:build !unix

package disk

import "io/fs"

func unique(fs.FileInfo) string { return "" }
