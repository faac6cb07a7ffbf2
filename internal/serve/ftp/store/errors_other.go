//go:build !unix

package store

import "syscall"

// Windows error codes (System Error Codes, 0-499).
func kinds() []kind {
	return []kind{
		{syscall.Errno(39), ErrNoSpace}, {syscall.Errno(112), ErrNoSpace}, // ERROR_HANDLE_DISK_FULL, ERROR_DISK_FULL
		{syscall.Errno(145), ErrNotEmpty}, {syscall.Errno(123), ErrName}, // ERROR_DIR_NOT_EMPTY, ERROR_INVALID_NAME
	}
}
