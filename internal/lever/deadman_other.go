//go:build !unix

package lever

import (
	"os"
	"syscall"
)

func ownSession() *syscall.SysProcAttr { return nil }

func inherited(*os.File) []*os.File { return nil }
