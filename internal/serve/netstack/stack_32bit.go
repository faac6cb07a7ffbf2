//go:build 386 || arm || mips || mipsle

package netstack

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"

	"github.com/linerate/linerate/internal/serve/netstack/nic"
	"github.com/linerate/linerate/result"
)

// Config says what a Stack is.
type Config struct {
	Card      *nic.NIC
	Addresses []netip.Prefix
	Gateways  []netip.Addr
	Knobs     Knobs
}

// Stack is a TCP/IP stack on a card; gVisor's is kept to 64-bit systems, for
// boards of 32 bits have their own to tune and no room to spare.
type Stack struct{}

func unsupported() error {
	return fmt.Errorf("netstack: the user stack is not built for 32-bit systems: %w", errors.ErrUnsupported)
}

// New wraps errors.ErrUnsupported here, as all of these do.
func New(Config) (*Stack, error) { return nil, unsupported() }

// Run drives the card.
func (*Stack) Run(context.Context) error { return unsupported() }

// Close frees nothing here.
func (*Stack) Close() error { return nil }

// Card returns none.
func (*Stack) Card() *nic.NIC { return nil }

// Addresses returns none.
func (*Stack) Addresses() []netip.Prefix { return nil }

// Name implements run.Meter.
func (*Stack) Name() string { return "netstack" }

// Read reads nothing.
func (*Stack) Read(context.Context) ([]result.Value, error) { return nil, unsupported() }

// Listen listens on nothing.
func (*Stack) Listen(context.Context, string, string) (net.Listener, error) {
	return nil, unsupported()
}

// DialContext connects to nothing.
func (*Stack) DialContext(context.Context, string, string) (net.Conn, error) {
	return nil, unsupported()
}
