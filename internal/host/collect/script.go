package collect

import (
	_ "embed"
	"strings"

	"github.com/linerate/linerate/internal/host"
)

//go:embed collect.sh
var template string

// Script returns the POSIX shell program that copies the same tree as Write,
// for boxes where only a shell runs. It lacks sockdiag, which no tool prints
// as it is.
func Script() string {
	return strings.NewReplacer(
		"@PATTERNS@", "\\\n\t"+strings.Join(patterns(), " \\\n\t"),
		"@STATS@", strings.Join(host.LinkCounters(), " "),
		"@LINKFILES@", strings.Join(linkFiles(), " "),
	).Replace(template)
}
