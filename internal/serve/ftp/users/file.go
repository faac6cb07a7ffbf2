// Package users says who may log in to the FTP server and what they may do. A
// users file has a line for each, as htpasswd(1) writes them, with options
// behind a further colon:
//
//	# name:hash[:option,option...]
//	alice:$argon2id$v=19$m=19456,t=2,p=1$c2FsdHNhbHQ$aGFzaA:root=/srv/alice,quota=10GB
//	press:$2y$10$Ek1...:read-only,rate=100MB/s,sessions=4
package users

import (
	"bufio"
	"fmt"
	"io"
	"strconv"
	"strings"

	"github.com/linerate/linerate/result"
)

// Account is what a user may do.
type Account struct {
	Name     string
	Root     string // directory the user sees as "/"; empty: the server's own
	ReadOnly bool
	Quota    int64 // most bytes below Root; 0: no limit
	Rate     int64 // bytes per second of all transfers together; 0: no limit
	Sessions int   // at a time; 0: no limit
}

// entry is a line of a users file.
type entry struct {
	Account
	hash string
}

// maxFile bounds a users file in bytes.
const maxFile = 16 << 20

// parse reads a users file; errors name the line.
func parse(r io.Reader) (map[string]entry, error) {
	users := map[string]entry{}
	sc := bufio.NewScanner(io.LimitReader(r, maxFile))
	for n := 1; sc.Scan(); n++ {
		line := strings.TrimSpace(sc.Text())
		if line == "" || strings.HasPrefix(line, "#") {
			continue
		}
		e, err := parseLine(line)
		if err != nil {
			return nil, fmt.Errorf("line %d: %w", n, err)
		}
		if _, twice := users[e.Name]; twice {
			return nil, fmt.Errorf("line %d: user %q is there already", n, e.Name)
		}
		users[e.Name] = e
	}
	if err := sc.Err(); err != nil {
		return nil, err
	}
	return users, nil
}

// Line makes a line of a users file. options are as there, such as
// "root=/srv/alice,read-only".
func Line(name, hash, options string) (string, error) {
	if name == "" || strings.ContainsAny(name, ":#\r\n") || strings.TrimSpace(name) != name {
		return "", fmt.Errorf("user name %q: want one without ':', '#' and spaces around it", name)
	}
	line := name + ":" + hash
	if options != "" {
		line += ":" + options
	}
	_, err := parseLine(line)
	return line, err
}

func parseLine(line string) (entry, error) {
	name, rest, ok := strings.Cut(line, ":")
	hash, options, _ := strings.Cut(rest, ":")
	if !ok || name == "" {
		return entry{}, fmt.Errorf("want name:hash, or name:hash:options")
	}
	e := entry{Account: Account{Name: name}, hash: hash}
	if err := checkHash(hash); err != nil {
		return e, fmt.Errorf("user %q: %w", name, err)
	}
	for option := range strings.SplitSeq(options, ",") {
		if err := e.set(strings.TrimSpace(option)); err != nil {
			return e, fmt.Errorf("user %q: option %q: %w", name, option, err)
		}
	}
	return e, nil
}

// set applies one option.
func (a *Account) set(option string) (err error) {
	key, value, _ := strings.Cut(option, "=")
	switch key {
	case "":
	case "root":
		a.Root = value
	case "read-only":
		a.ReadOnly = true
	case "quota":
		a.Quota, err = result.ParseSize(value)
	case "rate":
		var bits float64
		bits, err = result.ParseRate(value)
		a.Rate = int64(bits / 8)
	case "sessions":
		a.Sessions, err = strconv.Atoi(value)
		if a.Sessions < 0 {
			err = strconv.ErrRange
		}
	default:
		err = fmt.Errorf("not known; there are root=, read-only, quota=, rate= and sessions=")
	}
	return err
}
