// SPDX-License-Identifier: Apache-2.0
// Forwards packets of flows that the stack has let through, as it did; what it
// is not sure of is the stack's.

#include "observe.h"
#include "route.h"

/* The address and port changes of NAT. */
static __always_inline void translate(struct packet *p, struct way *w, void *end)
{
	if (p->ip) {
		p->ip->check = adjust(p->ip->check, w->network_delta);
		p->ip->saddr = w->source;
		p->ip->daddr = w->target;
	} else if (p->ip6) {
		__builtin_memcpy(&p->ip6->saddr, w->to_source, 16);
		__builtin_memcpy(&p->ip6->daddr, w->to_target, 16);
	}
	if (p->proto == IPPROTO_UDP) {
		struct udphdr *udp = p->transport;

		if ((void *)(udp + 1) > end)
			return;
		udp->source = w->sport;
		udp->dest = w->dport;
		if (udp->check || p->ip6) { /* RFC 768: 0 is none, and 0xffff stands for 0 */
			udp->check = adjust(udp->check, w->transport_delta);
			if (!udp->check)
				udp->check = 0xffff;
		}
		return;
	}
	struct tcphdr *tcp = p->transport;

	if ((void *)(tcp + 1) > end)
		return;
	tcp->source = w->sport;
	tcp->dest = w->dport;
	tcp->check = adjust(tcp->check, w->transport_delta);
}

/* Puts the frame's addresses and tag as the stack did. */
static __always_inline int dress(struct xdp_md *ctx, struct packet *p, struct way *w)
{
	struct ethhdr *eth;
	int grow = (w->out_vlan ? 4 : 0) - p->tag;
	__be16 type = p->ip ? bpf_htons(ETH_P_IP) : bpf_htons(ETH_P_IPV6);

	if (grow && bpf_xdp_adjust_head(ctx, -grow))
		return -1;
	void *data = (void *)(long)ctx->data, *end = (void *)(long)ctx->data_end;

	eth = data;
	if (data + sizeof(struct ethhdr) + 4 > end)
		return -1;
	__builtin_memcpy(eth->h_dest, w->dmac, 6);
	__builtin_memcpy(eth->h_source, w->smac, 6);
	if (w->out_vlan) {
		eth->h_proto = bpf_htons(ETH_P_8021Q);
		*(__be16 *)(eth + 1) = bpf_htons(w->out_vlan);
		*(__be16 *)((void *)(eth + 1) + 2) = type;
	} else {
		eth->h_proto = type;
	}
	return 0;
}

/* Leaves a packet to the stack so that it decides on its way. */
static __always_inline int ask(struct way *w, struct packet *p, struct config *c, __u32 port, enum reason why)
{
	w->generation = 0;
	w->asked_in = port;
	w->asked_vlan = p->vlan;
	w->tos = p->tos;
	w->ttl = p->ttl;
	w->tried = c->generation;
	return pass(why);
}

SEC("xdp")
int forward(struct xdp_md *ctx)
{
	void *data = (void *)(long)ctx->data, *end = (void *)(long)ctx->data_end;
	__u32 zero = 0, port = ctx->ingress_ifindex;
	struct config *c = bpf_map_lookup_elem(&settings, &zero);
	struct interface *in = interface_of(port);
	__u64 now = bpf_ktime_get_coarse_ns();
	struct packet p;
	struct way *w, *other;

	if (!c || !in || now > c->lease)
		return pass(PASS_OFF);
	p = parse(data, end);
	if (p.wrong == PASS_MALFORMED)
		return pass(p.wrong);
	if (((__u32 *)p.eth->h_dest)[0] != ((__u32 *)in->mac)[0] || ((__u16 *)p.eth->h_dest)[2] != ((__u16 *)in->mac)[2])
		return pass(PASS_NOT_OURS);
	if (p.wrong)
		return pass(p.wrong);
	if (c->router)
		return route(ctx, &p, c, now);
	if (p.proto == IPPROTO_TCP) {
		if (p.transport + sizeof(struct tcphdr) > end)
			return pass(PASS_MALFORMED);
	} else if (p.proto == IPPROTO_UDP) {
		if (p.transport + sizeof(struct udphdr) > end)
			return pass(PASS_MALFORMED);
	} else {
		return pass(PASS_PROTOCOL);
	}
	w = find(&p, c, 0);
	if (!w)
		return pass(PASS_UNKNOWN);
	if (p.proto == IPPROTO_TCP) {
		struct tcphdr *tcp = p.transport;

		if ((void *)(tcp + 1) > end)
			return pass(PASS_MALFORMED);
		if (tcp->fin || tcp->rst) {
			w->state = CLOSING;
			other = other_of(w);
			if (other && other->state == LIVE)
				other->state = CLOSING;
		}
		if (tcp->syn || tcp->fin || tcp->rst)
			return pass(PASS_CONTROL);
	}
	if (w->state != LIVE)
		return pass(PASS_CLOSING);
	if (w->flags & MANGLED)
		return pass(PASS_MANGLED);
	if (w->generation != c->generation)
		return ask(w, &p, c, port, PASS_UNDECIDED);
	if (now > w->checked + c->recheck)
		return ask(w, &p, c, port, PASS_RECHECK);
	if (w->in != port || w->in_vlan != p.vlan)
		return pass(PASS_INTERFACE);
	if (p.length > w->mtu)
		return pass(PASS_TOO_BIG);
	one_hop_less(&p);
	if (w->flags & NAT)
		translate(&p, w, end);
	__sync_fetch_and_add(&w->packets, 1);
	__sync_fetch_and_add(&w->bytes, p.length);
	w->last = now;
	if (dress(ctx, &p, w))
		return count(PASS_MALFORMED, XDP_DROP); /* it is changed already */
	count(FORWARDED, 0);
	return bpf_redirect_map(&ports, w->out, 0);
}

char __license[] SEC("license") = "Dual BSD/GPL";
