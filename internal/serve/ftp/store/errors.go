package store

import "errors"

// What a store answers besides fs.ErrNotExist, fs.ErrExist and
// fs.ErrPermission. The comment names the FTP reply of each (RFC 959 4.2.2).
var (
	ErrNoSpace      = errors.New("no space left in the store") // 452
	ErrQuota        = errors.New("quota exceeded")             // 552
	ErrName         = errors.New("file name not allowed")      // 553
	ErrOffset       = errors.New("offset beyond the end")      // 554
	ErrIsDirectory  = errors.New("is a directory")             // 550
	ErrNotDirectory = errors.New("not a directory")            // 550
	ErrNotEmpty     = errors.New("directory not empty")        // 550
	ErrClosed       = errors.New("upload already ended")       // 451
)
