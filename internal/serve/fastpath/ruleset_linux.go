package fastpath

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"sync"

	"github.com/mdlayher/netlink"
	"golang.org/x/sys/unix"
)

// ruleset tells whether anything beside the routing table decides on forwarded
// packets.
type ruleset struct {
	mu     sync.Mutex
	nft    *netlink.Conn
	route  *netlink.Conn
	xfrm   *netlink.Conn // nil: the kernel has no IPsec
	legacy []*os.File    // names of the tables of iptables
	tables string        // as last read
}

// openRuleset opens what it asks in the calling thread's namespace.
func openRuleset() (*ruleset, error) {
	r := &ruleset{}
	var err error
	if r.nft, err = netlink.Dial(unix.NETLINK_NETFILTER, nil); err != nil {
		return nil, fmt.Errorf("nftables: %w", err)
	}
	if r.route, err = netlink.Dial(unix.NETLINK_ROUTE, nil); err != nil {
		return nil, errors.Join(fmt.Errorf("policy routing: %w", err), r.close())
	}
	if r.xfrm, err = netlink.Dial(unix.NETLINK_XFRM, nil); err != nil && !errors.Is(err, unix.EPROTONOSUPPORT) {
		return nil, errors.Join(fmt.Errorf("IPsec policies: %w", err), r.close())
	}
	for _, name := range []string{"ip_tables_names", "ip6_tables_names"} {
		if f, err := os.Open("/proc/thread-self/net/" + name); err == nil {
			r.legacy = append(r.legacy, f) // without iptables there is none
		}
	}
	r.legacyChanged()
	return r, nil
}

func (r *ruleset) close() error {
	var err error
	for _, c := range []*netlink.Conn{r.nft, r.route, r.xfrm} {
		if c != nil {
			err = errors.Join(err, c.Close())
		}
	}
	for _, f := range r.legacy {
		f.Close()
	}
	return err
}

// legacyChanged reports whether iptables has got or lost a table.
func (r *ruleset) legacyChanged() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	var all strings.Builder
	for _, f := range r.legacy {
		if _, err := f.Seek(0, io.SeekStart); err == nil {
			_, _ = io.Copy(&all, f) // what can't be read has not changed
		}
	}
	changed := all.String() != r.tables
	r.tables = all.String()
	return changed
}

// filters reports whether rules of nftables or iptables, policies of IPsec, or
// rules of policy routing that look at more than addresses may decide on
// forwarded packets.
func (r *ruleset) filters() (bool, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.tables != "" {
		return true, nil
	}
	if n, err := r.policies(); err != nil || n > 0 {
		return true, err
	}
	if deep, err := r.selective(); err != nil || deep {
		return true, err
	}
	return r.chains()
}

// chains looks for base chains of hooks that forwarded packets pass.
func (r *ruleset) chains() (bool, error) {
	const generic = 4 // struct nfgenmsg
	messages, err := r.nft.Execute(netlink.Message{
		Header: netlink.Header{Type: unix.NFNL_SUBSYS_NFTABLES<<8 | unix.NFT_MSG_GETCHAIN, Flags: netlink.Request | netlink.Dump},
		Data:   make([]byte, generic),
	})
	if err != nil {
		return true, fmt.Errorf("list chains: %w", err)
	}
	for _, m := range messages {
		if len(m.Data) < generic {
			return true, errors.New("list chains: a short answer")
		}
		if passes, err := hooked(m.Data[0], m.Data[generic:]); err != nil || passes {
			return true, err
		}
	}
	return false, nil
}

// hooked reports whether a chain hangs on a hook that forwarded packets pass.
func hooked(family uint8, attributes []byte) (bool, error) {
	d, err := netlink.NewAttributeDecoder(attributes)
	if err != nil {
		return true, err
	}
	d.ByteOrder = binary.BigEndian
	passes := false
	for d.Next() {
		if d.Type() != unix.NFTA_CHAIN_HOOK {
			continue
		}
		d.Nested(func(h *netlink.AttributeDecoder) error {
			for h.Next() {
				if h.Type() == unix.NFTA_HOOK_HOOKNUM {
					hook := h.Uint32()
					local := hook == unix.NF_INET_LOCAL_IN || hook == unix.NF_INET_LOCAL_OUT
					inet := family == unix.NFPROTO_INET || family == unix.NFPROTO_IPV4 || family == unix.NFPROTO_IPV6
					passes = passes || !inet || !local
				}
			}
			return nil
		})
	}
	return passes, d.Err()
}

// selective looks for rules of policy routing that ask for marks, protocols or
// ports, which the programs do not tell the routing table.
func (r *ruleset) selective() (bool, error) {
	const header = 12 // struct fib_rule_hdr
	messages, err := r.route.Execute(netlink.Message{
		Header: netlink.Header{Type: unix.RTM_GETRULE, Flags: netlink.Request | netlink.Dump},
		Data:   make([]byte, header),
	})
	if err != nil {
		return true, fmt.Errorf("list routing rules: %w", err)
	}
	for _, m := range messages {
		if len(m.Data) < header {
			return true, errors.New("list routing rules: a short answer")
		}
		d, err := netlink.NewAttributeDecoder(m.Data[header:])
		if err != nil {
			return true, fmt.Errorf("list routing rules: %w", err)
		}
		for d.Next() {
			switch t := d.Type(); {
			case t == unix.FRA_FWMARK, t == unix.FRA_TUN_ID, t == unix.FRA_IP_PROTO, t == unix.FRA_SPORT_RANGE, t == unix.FRA_DPORT_RANGE, t > unix.FRA_DPORT_RANGE+1:
				return true, nil
			}
		}
	}
	return false, nil
}

// policies counts the policies of IPsec.
func (r *ruleset) policies() (uint32, error) {
	const (
		getInfo = 0x25 // XFRM_MSG_GETSPDINFO
		counts  = 1    // XFRMA_SPD_INFO: struct xfrmu_spdinfo, three counts and three more for sockets
	)
	if r.xfrm == nil {
		return 0, nil
	}
	messages, err := r.xfrm.Execute(netlink.Message{Header: netlink.Header{Type: getInfo, Flags: netlink.Request}, Data: make([]byte, 4)})
	if err != nil {
		return 0, fmt.Errorf("count IPsec policies: %w", err)
	}
	var n uint32
	for _, m := range messages {
		if len(m.Data) < 4 {
			continue
		}
		d, err := netlink.NewAttributeDecoder(m.Data[4:])
		if err != nil {
			return 0, err
		}
		for d.Next() {
			if b := d.Bytes(); d.Type() == counts && len(b) >= 12 {
				for i := range 3 {
					n += binary.NativeEndian.Uint32(b[4*i:])
				}
			}
		}
	}
	return n, nil
}

// strictReverse returns 1 where any of the interfaces wants sources to be
// routed back the way they came (rp_filter 1; the larger of all and its own
// counts, ip-sysctl).
func strictReverse(interfaces []string) (uint32, error) {
	for _, name := range interfaces {
		most := 0
		for _, of := range []string{"all", name} {
			b, err := os.ReadFile("/proc/sys/net/ipv4/conf/" + of + "/rp_filter")
			if err != nil {
				return 0, fmt.Errorf("rp_filter: %w", err)
			}
			if b = []byte(strings.TrimSpace(string(b))); len(b) == 1 {
				most = max(most, int(b[0]-'0'))
			}
		}
		if most == 1 {
			return 1, nil
		}
	}
	return 0, nil
}
