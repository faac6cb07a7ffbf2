package client

import (
	"bufio"
	"fmt"
	"io"
	"strings"
)

// maxNetrc bounds what is read of a .netrc, in bytes.
const maxNetrc = 1 << 20

// Netrc finds the account for host (without port) in a .netrc as ftp(1)
// defines it: the first "machine" entry of that name or "default" entry.
// found is false where neither is there.
func Netrc(r io.Reader, host string) (user, password string, found bool, err error) {
	words, err := netrcWords(r)
	if err != nil {
		return "", "", false, fmt.Errorf("netrc: %w", err)
	}
	value := func(i int) string {
		if i+1 < len(words) {
			return words[i+1]
		}
		return ""
	}
	for i := 0; i < len(words); i++ {
		switch w := words[i]; w {
		case "machine", "default":
			if found {
				return user, password, true, nil
			}
			found = w == "default"
			if w == "machine" {
				found = value(i) == host
				i++
			}
		case "login", "password", "account":
			if found && w == "login" {
				user = value(i)
			} else if found && w == "password" {
				password = value(i)
			}
			i++
		}
	}
	return user, password, found, nil
}

// netrcWords returns the words without comment lines and macros; a macro lasts
// until an empty line.
func netrcWords(r io.Reader) ([]string, error) {
	var words []string
	in := bufio.NewScanner(io.LimitReader(r, maxNetrc))
	for macro := false; in.Scan(); {
		line := strings.Fields(in.Text())
		if macro = macro && len(line) > 0; macro || len(line) == 0 || line[0][0] == '#' {
			continue
		}
		if macro = line[0] == "macdef"; !macro {
			words = append(words, line...)
		}
	}
	return words, in.Err()
}
