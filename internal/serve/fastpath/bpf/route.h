/* SPDX-License-Identifier: Apache-2.0
 *
 * Forwards where the routing table alone decides. What it said of two addresses
 * is kept on each core, for as long as nothing changes and not longer than
 * config.recheck.
 */
#ifndef LINERATE_ROUTE_H
#define LINERATE_ROUTE_H

#include "packet.h"

/* What the routing table said. */
struct hop {
	__u64 checked;	  /* when, ns */
	__u32 generation; /* under which */
	__u32 in;
	__u32 saddr[4], daddr[4]; /* IPv4: the first word */
	__u8 family, tos;
	__u16 mtu;
	__u32 out;
	__u8 dmac[6], smac[6];
};

#define HOPS 4096
MAP(hops, BPF_MAP_TYPE_PERCPU_ARRAY, HOPS, __u32, struct hop);

/* The place for a packet's addresses: their mix by Fibonacci hashing. */
static __always_inline struct hop *hop_of(struct packet *p, struct hop *want)
{
	__u32 at = 0;

	if (p->ip) {
		want->family = 4;
		want->saddr[0] = p->ip->saddr;
		want->daddr[0] = p->ip->daddr;
	} else if (p->ip6) {
		want->family = 6;
		__builtin_memcpy(want->saddr, &p->ip6->saddr, 16);
		__builtin_memcpy(want->daddr, &p->ip6->daddr, 16);
	}
	for (int i = 0; i < 4; i++)
		at = (at ^ want->saddr[i] ^ (want->daddr[i] << 16 | want->daddr[i] >> 16)) * 0x9e3779b1;
	at >>= 20; /* HOPS is 2^12 */
	return bpf_map_lookup_elem(&hops, &at);
}

static __always_inline int same(struct hop *a, struct hop *b)
{
	__u64 *x = (void *)a->saddr, *y = (void *)b->saddr;

	return a->generation == b->generation && a->in == b->in && a->family == b->family && a->tos == b->tos && x[0] == y[0] &&
	       x[1] == y[1] && x[2] == y[2] && x[3] == y[3];
}

/* Source addresses must be routed back the way they came (RFC 3704 2.2). */
static __always_inline int came_elsewhere(struct xdp_md *ctx, struct packet *p)
{
	struct bpf_fib_lookup back = {.ifindex = ctx->ingress_ifindex};

	if (p->ip) {
		back.family = 2; /* AF_INET */
		back.ipv4_src = p->ip->daddr;
		back.ipv4_dst = p->ip->saddr;
	} else if (p->ip6) {
		back.family = 10; /* AF_INET6 */
		__builtin_memcpy(back.ipv6_src, &p->ip6->daddr, 16);
		__builtin_memcpy(back.ipv6_dst, &p->ip6->saddr, 16);
	}
	bpf_fib_lookup(ctx, &back, sizeof(back), BPF_FIB_LOOKUP_SKIP_NEIGH);
	return back.ifindex != ctx->ingress_ifindex;
}

/* Asks the routing table; 0, or why the packet is the stack's. */
static __always_inline enum reason ask_table(struct xdp_md *ctx, struct packet *p, struct config *c, struct hop *h)
{
	struct bpf_fib_lookup fib = {.ifindex = ctx->ingress_ifindex, .l4_protocol = p->proto, .tot_len = p->length};

	if (p->ip) {
		if (not_routed4(p->ip->saddr) || not_routed4(p->ip->daddr))
			return PASS_ADDRESS;
		fib.family = 2; /* AF_INET */
		fib.tos = p->tos;
		fib.ipv4_src = p->ip->saddr;
		fib.ipv4_dst = p->ip->daddr;
	} else if (p->ip6) {
		if (not_routed6(&p->ip6->saddr) || not_routed6(&p->ip6->daddr))
			return PASS_ADDRESS;
		fib.family = 10; /* AF_INET6 */
		fib.flowinfo = *(__be32 *)p->ip6 & bpf_htonl(0x0fffffff);
		__builtin_memcpy(fib.ipv6_src, &p->ip6->saddr, 16);
		__builtin_memcpy(fib.ipv6_dst, &p->ip6->daddr, 16);
	}
	switch (bpf_fib_lookup(ctx, &fib, sizeof(fib), 0)) {
	case BPF_FIB_LKUP_RET_SUCCESS:
		break;
	case BPF_FIB_LKUP_RET_NO_NEIGH:
		return PASS_NEIGHBOUR;
	case BPF_FIB_LKUP_RET_FRAG_NEEDED:
		return PASS_TOO_BIG;
	default:
		return PASS_ROUTE;
	}
	/* Back where it came from: the stack may send a redirect (RFC 792). */
	if (fib.ifindex == ctx->ingress_ifindex || !interface_of(fib.ifindex))
		return PASS_ROUTE;
	if (c->reverse && came_elsewhere(ctx, p))
		return PASS_INTERFACE;
	h->mtu = fib.mtu_result;
	h->out = fib.ifindex;
	__builtin_memcpy(h->dmac, fib.dmac, 6);
	__builtin_memcpy(h->smac, fib.smac, 6);
	return 0;
}

static __always_inline int route(struct xdp_md *ctx, struct packet *p, struct config *c, __u64 now)
{
	struct hop want = {.checked = now, .generation = c->generation, .in = ctx->ingress_ifindex, .tos = p->tos};
	struct hop *h = hop_of(p, &want);
	enum reason why;

	if (!h || p->tag)
		return pass(PASS_ROUTE);
	if (!same(h, &want)) {
		why = ask_table(ctx, p, c, &want);
		if (why)
			return pass(why);
		*h = want;
	} else if (now > h->checked + c->recheck) {
		/* The stack sees one, and so keeps its neighbour's entry alive. */
		h->generation = 0;
		return pass(PASS_RECHECK);
	} else if (p->length > h->mtu) {
		return pass(PASS_TOO_BIG);
	}
	one_hop_less(p);
	__builtin_memcpy(p->eth->h_dest, h->dmac, 6);
	__builtin_memcpy(p->eth->h_source, h->smac, 6);
	count(ROUTED, 0);
	return bpf_redirect_map(&ports, h->out, 0);
}

#endif
