//go:build unix

package store

import (
	"io/fs"
	"syscall"
)

func kinds() []kind {
	return []kind{
		{syscall.ENOSPC, ErrNoSpace}, {syscall.EDQUOT, ErrQuota}, {syscall.EFBIG, ErrNoSpace},
		{syscall.EISDIR, ErrIsDirectory}, {syscall.ENOTDIR, ErrNotDirectory}, {syscall.ENOTEMPTY, ErrNotEmpty},
		{syscall.ENAMETOOLONG, ErrName}, {syscall.EILSEQ, ErrName},
		{syscall.EROFS, fs.ErrPermission}, {syscall.ELOOP, fs.ErrPermission}, {syscall.EBUSY, fs.ErrPermission},
	}
}
