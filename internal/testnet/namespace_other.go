//go:build !linux

package testnet

import (
	"errors"
	"fmt"
	"runtime"
)

var errUnsupported = fmt.Errorf("network namespaces are Linux's, not of %s: %w", runtime.GOOS, errors.ErrUnsupported)

type platform struct{}

func onThread(f func()) { go f() }

func stay(*Namespace) error  { return nil }
func enter(*Namespace) error { return errUnsupported }

func (n *Namespace) join() error    { return nil }
func (n *Namespace) release()       {}
func (n *Namespace) prepare() error { return nil }

// SetSysctl writes a setting of the namespace.
func (n *Namespace) SetSysctl(string, string) error { return errUnsupported }

// Sysctl reads a setting of the namespace.
func (n *Namespace) Sysctl(string) (string, error) { return "", errUnsupported }
