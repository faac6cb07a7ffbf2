// Package gateway moves packets through IPsec between the stack and a link: a
// TUN device on the stack's side, raw and UDP sockets on the other. It works on
// every kernel, with ESP of its own or not.
package gateway

import (
	"context"
	"fmt"
	"log/slog"
	"os"

	"github.com/linerate/linerate/internal/serve/fastpath/ipsec"
)

// Options of a gateway.
type Options struct {
	Device   string   // TUN device to make; "" is DefaultDevice
	Underlay string   // interface that outer packets use; "" leaves that to the routes
	NoRoutes bool     // leave routes to others
	XDP      []string // interfaces whose packets go past the stack, by AF_XDP, as long as it filters nothing
	File     string   // of rules; "" reads the kernel's
	Log      *slog.Logger
}

// DefaultDevice is the name of the TUN device.
const DefaultDevice = "linerate0"

// Status is what a gateway has done so far.
type Status struct {
	Device     string   `json:"device"`
	MTU        int      `json:"mtu"`
	Source     string   `json:"source"` // of the rules
	Out        uint64   `json:"out"`    // packets sealed and sent
	In         uint64   `json:"in"`     // packets opened and given to the stack
	Super      uint64   `json:"super"`  // in so many writes
	Malformed  uint64   `json:"malformed"`
	Refused    uint64   `json:"refused"`
	Unsent     uint64   `json:"unsent"`
	KeepAlives uint64   `json:"keep_alives"`
	Error      string   `json:"error,omitempty"` // why the last rules were not taken
	Ports      []uint16 `json:"ports,omitempty"`
	XDP        []string `json:"xdp,omitempty"`  // interfaces of the way past the stack
	PastStack  bool     `json:"past_stack"`     // it is taken: nothing filters
	Past       uint64   `json:"past,omitempty"` // packets sent that way
	ipsec.Status
}

// load reads the rules of a file, or the kernel's.
func load(file string) (*ipsec.Config, error) {
	if file == "" {
		return ipsec.Kernel()
	}
	f, err := os.Open(file)
	if err != nil {
		return nil, fmt.Errorf("ipsec: rules: %w", err)
	}
	defer f.Close()
	if st, err := f.Stat(); err == nil && st.Mode().Perm()&0o077 != 0 {
		return nil, fmt.Errorf("ipsec: rules: %s: others may read the keys in it: chmod 600 %s", file, file)
	}
	return ipsec.Parse(f)
}

// Check reads a file and builds what it says, without using it.
func Check(file string) (ipsec.Status, error) {
	d, err := ipsec.NewDatabase()
	if err != nil {
		return ipsec.Status{}, err
	}
	c, err := load(file)
	if err != nil {
		return ipsec.Status{}, err
	}
	defer c.Wipe()
	defer d.Close()
	if err := d.Replace(c); err != nil {
		return ipsec.Status{}, err
	}
	return d.Status(context.Background()), nil
}
