/* SPDX-License-Identifier: Apache-2.0
 *
 * What the programs share with user space. A way is one direction of a
 * connection. Its place is found by the addresses that its packets have when
 * they come in; those that it is sent out with are the other way's, turned
 * round, and NAT makes the two different.
 *
 * User space fills in what conntrack knows: the addresses before and after. All
 * else is learnt by watching the stack forward a packet of that way: where it
 * leaves, between which MAC addresses, at which MTU. A way is used only while
 * the stack has forwarded one of its packets under the present generation of
 * rules, routes and neighbours, and not longer ago than config.recheck.
 */
#ifndef LINERATE_FLOW_H
#define LINERATE_FLOW_H

#include <linux/bpf.h>
#include <linux/if_ether.h>
#include <linux/in.h>
#include <linux/ip.h>
#include <linux/ipv6.h>
#include <linux/pkt_cls.h>
#include <linux/tcp.h>
#include <linux/udp.h>
#include <bpf/bpf_endian.h>
#include <bpf/bpf_helpers.h>

/* What a way is found by. */
struct key {
	__u64 addresses; /* of IPv4 both, of IPv6 what they are folded to */
	__u32 ports;
	__u16 kind; /* the protocol, and SIX */
};

/* NEVER: nothing is further on either. */
enum state { NEVER, FREED, LIVE, CLOSING };

/* Flags of a way. */
#define NAT 1	  /* addresses or ports change */
#define MANGLED 2 /* rules change more than that: its packets stay with the stack */
#define FIRST 4	  /* as the connection was opened */
#define SIX 0x100 /* of a kind: IPv6 */

/* Two cache lines, and a third for IPv6: with many flows, memory is what
 * forwarding waits for. */
struct way {
	/* What the stack did with this way's packets. */
	__u64 checked; /* when it was last seen forwarding one, ns */
	__u64 addresses; /* struct key */
	__u32 ports;
	__u32 generation; /* that it decided under; 0: it has to decide again */
	enum state state; /* the same in both ways */
	__u32 out;	  /* interface */
	__u16 in, mtu;
	__u16 in_vlan, out_vlan; /* VLAN ID with its priority, 0: no tag */
	__u16 kind;
	__u8 flags, pad;
	__u8 dmac[6], smac[6];
	/* What NAT makes of a packet, and the checksums' differences. */
	__be16 sport, dport;
	__u16 network_delta, transport_delta;

	__u64 packets, bytes, last; /* what was forwarded beside the stack */
	__be32 source, target;	    /* what NAT makes of IPv4 addresses */
	/* Of the packet left to the stack: under which generation, where it came
	 * in, and what must not change of it. */
	__u32 tried, asked_in;
	__u16 asked_vlan;
	__u8 tos, ttl;
	__u32 other; /* the place of the other way */
	__u32 unused[4];

	__be32 from_source[4], from_target[4]; /* IPv6 */
	__be32 to_source[4], to_target[4];
};

struct config {
	__u64 lease;	  /* until when user space vouches for the generation, ns */
	__u64 recheck;	  /* ns */
	__u32 generation; /* never 0 */
	__u32 router;	  /* nothing filters: forward by the routing table alone */
	__u32 reverse;	  /* source addresses must be routed back the same way (rp_filter 1) */
	__u32 mask;	  /* places of ways - 1 */
	__u32 seed;	  /* of their hash */
	__u32 pad;
};

struct interface {
	__u8 mac[6];
	__u16 ours; /* 0: not one of the fast path's */
	__u32 mtu;
};

/* Why a packet was forwarded, or left to the stack. */
enum reason {
	FORWARDED,	    /* by a flow */
	ROUTED,		    /* by the routing table */
	PASS_OFF,	    /* no user space, or switched off */
	PASS_NOT_OURS,	    /* another MAC address: broadcast, multicast, promiscuous */
	PASS_NOT_IP,
	PASS_MALFORMED,	    /* lengths or header checksum are wrong */
	PASS_OPTIONS,	    /* IPv4 options or IPv6 extension headers */
	PASS_FRAGMENT,
	PASS_TTL,
	PASS_PROTOCOL,	    /* neither TCP nor UDP */
	PASS_ADDRESS,	    /* an address that is not routed */
	PASS_UNKNOWN,	    /* no flow: the stack decides */
	PASS_CONTROL,	    /* SYN, FIN, RST */
	PASS_CLOSING,
	PASS_UNDECIDED,	    /* the stack has not decided under the present rules */
	PASS_RECHECK,	    /* it decides once more */
	PASS_MANGLED,	    /* rules change more of the packet than addresses */
	PASS_INTERFACE,	    /* it came in elsewhere */
	PASS_TOO_BIG,
	PASS_ROUTE,	    /* the routing table has no way out that XDP can take */
	PASS_NEIGHBOUR,	    /* not resolved */
	REASONS,
};

#define MAP(name_, type_, entries, key_, value_)  \
	struct {                                  \
		__uint(type, type_);              \
		__uint(max_entries, entries);     \
		__type(key, key_);                \
		__type(value, value_);            \
	} name_ SEC(".maps")

/* By number; an array is found in no time. */
#define INTERFACES 4096
MAP(interfaces, BPF_MAP_TYPE_ARRAY, INTERFACES, __u32, struct interface);
MAP(ports, BPF_MAP_TYPE_DEVMAP, INTERFACES, __u32, __u32);
MAP(reasons, BPF_MAP_TYPE_PERCPU_ARRAY, REASONS, enum reason, __u64);

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(map_flags, BPF_F_MMAPABLE);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct way);
} ways SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(map_flags, BPF_F_MMAPABLE);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct config);
} settings SEC(".maps");

static __always_inline struct interface *interface_of(__u32 index)
{
	struct interface *i = bpf_map_lookup_elem(&interfaces, &index);

	return i && i->ours ? i : NULL;
}

static __always_inline int count(enum reason why, int action)
{
	__u32 at = why;
	__u64 *n = bpf_map_lookup_elem(&reasons, &at);

	if (n)
		*n += 1;
	return action;
}

static __always_inline int pass(enum reason why)
{
	return count(why, XDP_PASS);
}

#endif
