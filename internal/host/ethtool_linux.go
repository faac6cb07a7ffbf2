package host

import (
	"io/fs"
	"slices"
	"strings"

	"github.com/linerate/linerate/internal/host/ethtool"
)

// ethtools is the tree below ethtool/.
type ethtools struct{}

func (ethtools) open(rest string) (fs.File, error) {
	ifname, name, leaf := strings.Cut(rest, "/")
	switch {
	case rest == "":
		return listLinks("ethtool")
	case leaf:
		text, err := ethtool.Read(ifname, name)
		return file(rest, []byte(text)), err
	}
	names, err := linkNames()
	if err != nil {
		return nil, err
	}
	if !slices.Contains(names, ifname) {
		return nil, fs.ErrNotExist
	}
	return dir(ifname, entries(ethtool.Files()...)), nil
}

func (ethtools) write(rest, value string) error {
	ifname, name, _ := strings.Cut(rest, "/")
	return ethtool.Write(ifname, name, value)
}
