package facts

import (
	"io/fs"
	"strconv"
	"strings"

	"github.com/linerate/linerate/result"
)

// FromFiles reads the facts of one interface that a host's files tell beside
// its counters and settings: what a ring could hold, whether EEE is active, how
// full the connection table is. What is not there is left out.
func FromFiles(host fs.FS, ifname string) []result.Value {
	var vs []result.Value
	number := func(key, text string) {
		f, _ := Find(key)
		if n, err := strconv.ParseFloat(strings.TrimSpace(text), 64); err == nil && n >= 0 {
			vs = append(vs, f.Of(n))
		}
	}
	number("ring.rx-max", line(host, "ethtool/"+ifname+"/rings", "rx-max"))
	number("conntrack.count", file(host, "proc/sys/net/netfilter/nf_conntrack_count"))
	if line(host, "ethtool/"+ifname+"/eee", "active") == "on" {
		f, _ := Find("link.eee")
		vs = append(vs, f.Seen("active", true))
	}
	if n, ok := conntrackFailures(file(host, "proc/net/stat/nf_conntrack")); ok {
		f, _ := Find("conntrack.insert-failed")
		vs = append(vs, f.Of(n))
	}
	return vs
}

// conntrackFailures adds up the entries that found no place: one line of
// hexadecimal columns for each core below a line of names.
func conntrackFailures(s string) (sum float64, ok bool) {
	names, rows, found := strings.Cut(s, "\n")
	if !found {
		return 0, false
	}
	columns := strings.Fields(names)
	for row := range strings.Lines(rows) {
		for i, cell := range strings.Fields(row) {
			if i >= len(columns) || columns[i] != "insert_failed" && columns[i] != "early_drop" {
				continue
			}
			n, err := strconv.ParseUint(cell, 16, 64)
			if err != nil {
				return 0, false
			}
			sum, ok = sum+float64(n), true
		}
	}
	return sum, ok
}

// file returns the text of a file, "" where there is none.
func file(host fs.FS, name string) string {
	b, _ := fs.ReadFile(host, name)
	return string(b)
}

// line returns the value of a key in a file of "key: value" lines.
func line(host fs.FS, name, key string) string {
	for l := range strings.Lines(file(host, name)) {
		if k, v, ok := strings.Cut(l, ":"); ok && strings.TrimSpace(k) == key {
			return strings.TrimSpace(v)
		}
	}
	return ""
}
