package store

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
)

// What a store answers besides fs.ErrNotExist, fs.ErrExist and
// fs.ErrPermission. The comment names the FTP reply of each (RFC 959 4.2.2).
var (
	ErrBusy         = errors.New("another session uploads it") // 450
	ErrNoSpace      = errors.New("no space left in the store") // 452
	ErrIsDirectory  = errors.New("is a directory")             // 550
	ErrNotDirectory = errors.New("not a directory")            // 550
	ErrNotEmpty     = errors.New("directory not empty")        // 550
	ErrQuota        = errors.New("quota exceeded")             // 552
	ErrName         = errors.New("file name not allowed")      // 553
	ErrOffset       = errors.New("offset lies beyond the end") // 554
	ErrEnded        = errors.New("upload has ended")           // 451
)

// Classify gives a system error the meaning above that it has: the result
// wraps both. Names of files on the host are dropped from it: they are no
// business of a client.
func Classify(err error) error {
	for {
		var path *fs.PathError
		var link *os.LinkError
		var call *os.SyscallError
		switch {
		case errors.As(err, &path):
			err = path.Err
		case errors.As(err, &link):
			err = link.Err
		case errors.As(err, &call):
			err = call.Err
		default:
			if kind := kindOf(err); kind != nil {
				return fmt.Errorf("%w: %w", kind, err)
			}
			return err
		}
	}
}

// kindOf finds the meaning of a system error; nil where it has none of ours.
func kindOf(err error) error {
	for _, k := range kinds() {
		if errors.Is(err, k.cause) {
			return k.kind
		}
	}
	if err != nil && err.Error() == escapes {
		return fs.ErrPermission
	}
	return nil
}

// escapes is the text of what os.Root says of a name that leads out of it; the
// value isn't exported.
const escapes = "path escapes from parent"

type kind struct{ cause, kind error }
