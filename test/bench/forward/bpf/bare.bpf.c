// SPDX-License-Identifier: Apache-2.0
// The least that forwarding in XDP can be: what the fast path is held against.

#include <linux/bpf.h>
#include <linux/if_ether.h>
#include <linux/in.h>
#include <linux/ip.h>
#include <linux/ipv6.h>
#include <linux/udp.h>
#include <bpf/bpf_endian.h>
#include <bpf/bpf_helpers.h>

volatile const __u32 out;    /* the way out, in ports too */
volatile const __u8 macs[12]; /* of frames that leave */
volatile const __u32 saddr;  /* what NAT makes of the source */

struct {
	__uint(type, BPF_MAP_TYPE_DEVMAP);
	__uint(max_entries, 4096);
	__type(key, __u32);
	__type(value, __u32);
} ports SEC(".maps");

struct flow {
	__be32 saddr, daddr;
	__be16 sport, dport;
	__u32 proto;
};

struct change {
	__be32 saddr, daddr;
	__be16 sport, dport;
	__u16 delta;
	__u8 macs[12];
	__u64 packets, bytes, last;
};

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 140000);
	__type(key, struct flow);
	__type(value, struct change);
} flows SEC(".maps");

static __always_inline __u16 adjust(__u16 check, __u16 delta)
{
	__u32 sum = (__u16)~check + (__u32)delta;

	sum = (sum & 0xffff) + (sum >> 16);
	return ~((sum & 0xffff) + (sum >> 16));
}

static __always_inline void one_hop_less(struct iphdr *ip)
{
	ip->check = adjust(ip->check, bpf_htons(0xfeff));
	ip->ttl--;
}

/* A router: the kernel's FIB for each packet. */
SEC("xdp")
int fib(struct xdp_md *ctx)
{
	void *end = (void *)(long)ctx->data_end;
	struct ethhdr *eth = (void *)(long)ctx->data;
	struct bpf_fib_lookup f = {.ifindex = ctx->ingress_ifindex};
	struct iphdr *ip = (void *)(eth + 1);
	struct ipv6hdr *ip6 = (void *)(eth + 1);

	if ((void *)(ip + 1) > end)
		return XDP_PASS;
	if (eth->h_proto == bpf_htons(ETH_P_IP) && ip->ttl > 1) {
		f.family = 2; /* AF_INET */
		f.tos = ip->tos;
		f.l4_protocol = ip->protocol;
		f.tot_len = bpf_ntohs(ip->tot_len);
		f.ipv4_src = ip->saddr;
		f.ipv4_dst = ip->daddr;
	} else if (eth->h_proto == bpf_htons(ETH_P_IPV6) && (void *)(ip6 + 1) <= end && ip6->hop_limit > 1) {
		f.family = 10; /* AF_INET6 */
		f.l4_protocol = ip6->nexthdr;
		f.tot_len = bpf_ntohs(ip6->payload_len) + sizeof(*ip6);
		__builtin_memcpy(f.ipv6_src, &ip6->saddr, 16);
		__builtin_memcpy(f.ipv6_dst, &ip6->daddr, 16);
	} else {
		return XDP_PASS;
	}
	if (bpf_fib_lookup(ctx, &f, sizeof(f), 0))
		return XDP_PASS;
	if (f.family == 2)
		one_hop_less(ip);
	else
		ip6->hop_limit--;
	__builtin_memcpy(eth->h_dest, f.dmac, 6);
	__builtin_memcpy(eth->h_source, f.smac, 6);
	return bpf_redirect_map(&ports, out, 0);
}

static __always_inline struct change *begin(struct flow *k)
{
	struct change c = {.saddr = saddr, .daddr = k->daddr, .sport = k->sport, .dport = k->dport};
	__u32 sum = (__u16)~(k->saddr & 0xffff) + (__u16)~(k->saddr >> 16) + (c.saddr & 0xffff) + (c.saddr >> 16);

	sum = (sum & 0xffff) + (sum >> 16);
	c.delta = (sum & 0xffff) + (sum >> 16);
	for (int i = 0; i < 12; i++)
		c.macs[i] = macs[i];
	bpf_map_update_elem(&flows, k, &c, BPF_ANY);
	return bpf_map_lookup_elem(&flows, k);
}

/* A NAT: a flow table alone, without rules or state. */
SEC("xdp")
int napt(struct xdp_md *ctx)
{
	void *end = (void *)(long)ctx->data_end;
	struct ethhdr *eth = (void *)(long)ctx->data;
	struct iphdr *ip = (void *)(eth + 1);
	struct udphdr *udp = (void *)(ip + 1);
	struct change *c;

	if ((void *)(udp + 1) > end || eth->h_proto != bpf_htons(ETH_P_IP) || ip->ttl <= 1 || ip->ihl != 5 ||
	    ip->protocol != IPPROTO_UDP || ip->frag_off & bpf_htons(0x3fff))
		return XDP_PASS;
	struct flow k = {ip->saddr, ip->daddr, udp->source, udp->dest, IPPROTO_UDP};

	c = bpf_map_lookup_elem(&flows, &k);
	if (!c)
		c = begin(&k);
	if (!c)
		return XDP_PASS;
	c->packets++;
	c->bytes += bpf_ntohs(ip->tot_len);
	c->last = bpf_ktime_get_coarse_ns();
	ip->saddr = c->saddr;
	ip->daddr = c->daddr;
	ip->check = adjust(ip->check, c->delta);
	one_hop_less(ip);
	if (udp->check) {
		udp->check = adjust(udp->check, c->delta);
		if (!udp->check)
			udp->check = 0xffff;
	}
	udp->source = c->sport;
	udp->dest = c->dport;
	__builtin_memcpy(eth, c->macs, 12);
	return bpf_redirect_map(&ports, out, 0);
}

char __license[] SEC("license") = "Dual BSD/GPL";
