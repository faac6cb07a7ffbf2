// SPDX-License-Identifier: Apache-2.0
// Sends to AF_XDP sockets what is to be sealed or opened; everything else is the
// stack's.

#include <linux/bpf.h>
#include <linux/if_ether.h>
#include <linux/in.h>
#include <linux/ip.h>
#include <linux/ipv6.h>
#include <linux/udp.h>
#include <bpf/bpf_endian.h>
#include <bpf/bpf_helpers.h>

#define QUEUES 64
#define PORTS 4

struct config {
	__u32 on;
	__u16 mac[3]; /* of the interface */
	__be16 ports[PORTS]; /* of ours, for ESP in UDP; 0 is none */
};

struct prefix4 {
	__u32 length;
	__be32 address;
};

struct prefix6 {
	__u32 length;
	struct in6_addr address;
};

struct {
	__uint(type, BPF_MAP_TYPE_XSKMAP);
	__uint(max_entries, QUEUES);
	__type(key, __u32);
	__type(value, __u32);
} sockets SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct config);
} configs SEC(".maps");

/* What rules protect the way to: the longest packet that fits once sealed. */
struct {
	__uint(type, BPF_MAP_TYPE_LPM_TRIE);
	__uint(max_entries, 4096);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__type(key, struct prefix4);
	__type(value, __u32);
} remotes4 SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_LPM_TRIE);
	__uint(max_entries, 4096);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__type(key, struct prefix6);
	__type(value, __u32);
} remotes6 SEC(".maps");

/* Our outer addresses; those of IPv4 as ::ffff:a.b.c.d. */
struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 4096);
	__type(key, struct in6_addr);
	__type(value, __u32);
} locals SEC(".maps");

/* ESP or AH, in UDP or not. */
static __always_inline int protected(__u8 protocol, void *next, void *end, struct config *c)
{
	struct udphdr *udp = next;

	if (protocol == IPPROTO_ESP || protocol == IPPROTO_AH)
		return 1;
	if (protocol != IPPROTO_UDP || (void *)(udp + 1) + 4 > end)
		return 0;
	for (int i = 0; i < PORTS; i++)
		if (c->ports[i] && c->ports[i] == udp->dest)
			return *(__u32 *)(udp + 1) != 0; /* IKE (RFC 3948 2.2) */
	return 0;
}

static __always_inline int wanted4(struct iphdr *ip, void *end, struct config *c)
{
	struct in6_addr to = {};

	if ((void *)(ip + 1) > end || ip->version != 4 || ip->ihl != 5 || ip->frag_off & bpf_htons(0x3fff))
		return 0;
	to.s6_addr32[2] = bpf_htonl(0xffff);
	to.s6_addr32[3] = ip->daddr;
	if (bpf_map_lookup_elem(&locals, &to))
		return protected(ip->protocol, ip + 1, end, c);

	struct prefix4 k = {32, ip->daddr};
	__u32 *room = bpf_map_lookup_elem(&remotes4, &k);

	return room && bpf_ntohs(ip->tot_len) <= *room && ip->ttl > 1;
}

static __always_inline int wanted6(struct ipv6hdr *ip, void *end, struct config *c)
{
	if ((void *)(ip + 1) > end || ip->version != 6)
		return 0;
	if (bpf_map_lookup_elem(&locals, &ip->daddr))
		return protected(ip->nexthdr, ip + 1, end, c);

	struct prefix6 k = {128, ip->daddr};
	__u32 *room = bpf_map_lookup_elem(&remotes6, &k);

	return room && bpf_ntohs(ip->payload_len) + sizeof(*ip) <= *room && ip->hop_limit > 1;
}

static __always_inline int ours(struct ethhdr *eth, struct config *c)
{
	__u16 *to = (void *)eth->h_dest;

	return to[0] == c->mac[0] && to[1] == c->mac[1] && to[2] == c->mac[2];
}

SEC("xdp")
int steer(struct xdp_md *ctx)
{
	void *data = (void *)(long)ctx->data, *end = (void *)(long)ctx->data_end;
	struct ethhdr *eth = data;
	__u32 zero = 0;
	struct config *c = bpf_map_lookup_elem(&configs, &zero);
	int wanted = 0;

	if (!c || !c->on || (void *)(eth + 1) > end || !ours(eth, c))
		return XDP_PASS;
	if (eth->h_proto == bpf_htons(ETH_P_IP))
		wanted = wanted4((void *)(eth + 1), end, c);
	else if (eth->h_proto == bpf_htons(ETH_P_IPV6))
		wanted = wanted6((void *)(eth + 1), end, c);
	return wanted ? bpf_redirect_map(&sockets, ctx->rx_queue_index, XDP_PASS) : XDP_PASS;
}

char LICENSE[] SEC("license") = "Apache-2.0";
