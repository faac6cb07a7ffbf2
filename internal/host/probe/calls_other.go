//go:build !linux

package probe

// calls has nothing to try on this platform.
func calls() []Ability { return nil }
