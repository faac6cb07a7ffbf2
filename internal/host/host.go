// Package host is the box whose counters are read and whose settings are
// changed, seen as a tree of files: proc/, sys/ and a synthetic ethtool/.
//
// Because it is a tree, a host can be live, a directory or tar copied from a
// board on which Go does not run, or a map in a test, and no meter can tell
// which.
package host

import (
	"errors"
	"fmt"
	"io/fs"

	"github.com/linerate/linerate/internal/host/ethtool"
)

// ErrUnsupported is returned where the platform, kernel or driver cannot do
// what was asked. It wraps errors.ErrUnsupported.
var ErrUnsupported = fmt.Errorf("host: %w", errors.ErrUnsupported)

// ErrUnchanged is wrapped by Write's error where the driver accepted a value
// that then reads back otherwise.
var ErrUnchanged = ethtool.ErrUnchanged

// Host is a readable, and if live writable, tree of counters and settings.
type Host interface {
	fs.FS // "proc/net/softnet_stat", "sys/class/net/eth0/mtu", "ethtool/eth0/coalesce"

	// Write changes a setting. Recorded hosts return ErrUnsupported.
	Write(name, value string) error
}

// Recorded returns a read-only Host over a copied tree.
func Recorded(tree fs.FS) Host { return recorded{tree} }

type recorded struct{ fs.FS }

func (recorded) Write(name, _ string) error {
	return fmt.Errorf("write %s: recorded host: %w", name, ErrUnsupported)
}

// LinkCounters names the counters in link/<if>/stats64 in the order of struct
// rtnl_link_stats64 (linux/if_link.h), as sys/class/net/<if>/statistics does.
func LinkCounters() []string {
	return []string{"rx_packets", "tx_packets", "rx_bytes", "tx_bytes", "rx_errors", "tx_errors", "rx_dropped", "tx_dropped",
		"multicast", "collisions", "rx_length_errors", "rx_over_errors", "rx_crc_errors", "rx_frame_errors", "rx_fifo_errors",
		"rx_missed_errors", "tx_aborted_errors", "tx_carrier_errors", "tx_fifo_errors", "tx_heartbeat_errors",
		"tx_window_errors", "rx_compressed", "tx_compressed", "rx_nohandler", "rx_otherhost_dropped"}
}
