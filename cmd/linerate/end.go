package main

import (
	"os"
	"slices"

	"github.com/linerate/linerate/internal/host"
	"github.com/linerate/linerate/result"
)

// thisEnd describes this machine as an end of the link: what it is and how it
// and the interfaces named are set, as far as the platform shows it. An
// interface without a name is one that could not be found out.
func thisEnd(role string, interfaces ...string) result.End {
	e := result.End{Role: role, Host: hostname()}
	if h, err := host.Live(); err == nil {
		e.Facts, e.Settings = host.Describe(host.WholeBox(h), slices.DeleteFunc(interfaces, func(name string) bool { return name == "" })...)
	}
	return e
}

func hostname() string {
	name, err := os.Hostname()
	if err != nil {
		return "this host"
	}
	return name
}
