/* SPDX-License-Identifier: Apache-2.0
 *
 * Watches the stack send packets: what it forwards, it has decided on, with
 * every rule, route and neighbour that it goes by.
 */
#ifndef LINERATE_OBSERVE_H
#define LINERATE_OBSERVE_H

#include "find.h"

/* The MTU of the way to where the packet goes, with the route's own and what
 * path MTU discovery found. */
static __always_inline __u32 path_mtu(struct __sk_buff *skb, struct packet *p)
{
	struct bpf_fib_lookup fib = {};

	fib.ifindex = skb->ingress_ifindex;
	if (p->ip) {
		fib.family = 2; /* AF_INET */
		fib.tos = p->tos;
		fib.l4_protocol = p->proto;
		fib.ipv4_src = p->ip->saddr;
		fib.ipv4_dst = p->ip->daddr;
	} else if (p->ip6) {
		fib.family = 10; /* AF_INET6 */
		fib.l4_protocol = p->proto;
		__builtin_memcpy(fib.ipv6_src, &p->ip6->saddr, 16);
		__builtin_memcpy(fib.ipv6_dst, &p->ip6->daddr, 16);
	}
	if (bpf_fib_lookup(skb, &fib, sizeof(fib), BPF_FIB_LOOKUP_SKIP_NEIGH) < 0)
		return 0;
	return fib.mtu_result;
}

static __always_inline void learn(struct way *w, struct __sk_buff *skb, struct packet *p, struct config *c)
{
	__u32 device = skb->ifindex, mtu;
	struct interface *out = interface_of(device);

	if (!out || w->tried != c->generation)
		return;
	/* What changes more than addresses can't be repeated. */
	if (p->tos != w->tos || (__u8)(p->ttl + 1) != w->ttl) {
		w->flags |= MANGLED;
		return;
	}
	mtu = path_mtu(skb, p);
	if (!mtu || mtu > out->mtu)
		mtu = out->mtu;
	w->mtu = mtu < 0xffff ? mtu : 0xffff;
	w->in = w->asked_in;
	w->in_vlan = w->asked_vlan;
	w->out = device;
	w->out_vlan = skb->vlan_present ? skb->vlan_tci : 0;
	__builtin_memcpy(w->dmac, p->eth->h_dest, 6);
	__builtin_memcpy(w->smac, p->eth->h_source, 6);
	w->checked = bpf_ktime_get_coarse_ns();
	w->generation = c->generation;
}

SEC("tcx/egress")
int observe(struct __sk_buff *skb)
{
	void *data = (void *)(long)skb->data, *end = (void *)(long)skb->data_end;
	struct packet p = {};
	struct config *c;
	struct way *w;
	__u32 zero = 0;
	__be16 type;

	if (!skb->ingress_ifindex) /* sent by this host itself */
		return TC_ACT_UNSPEC;
	p.eth = data;
	if (data + sizeof(struct ethhdr) > end)
		return TC_ACT_UNSPEC;
	type = p.eth->h_proto;
	data += sizeof(struct ethhdr);
	/* Only a packet's headers need lie here, and a joined one is longer than
	 * its frames: lengths are not checked. */
	if (type == bpf_htons(ETH_P_IP)) {
		p.ip = data;
		if (data + sizeof(struct iphdr) > end || p.ip->ihl != 5 || (p.ip->frag_off & bpf_htons(0x3fff)))
			return TC_ACT_UNSPEC;
		p.proto = p.ip->protocol;
		p.tos = p.ip->tos;
		p.ttl = p.ip->ttl;
		p.transport = p.ip + 1;
	} else if (type == bpf_htons(ETH_P_IPV6)) {
		p.ip6 = data;
		if (data + sizeof(struct ipv6hdr) > end)
			return TC_ACT_UNSPEC;
		p.proto = p.ip6->nexthdr;
		p.tos = p.ip6->priority << 4 | p.ip6->flow_lbl[0] >> 4;
		p.ttl = p.ip6->hop_limit;
		p.transport = p.ip6 + 1;
	} else {
		return TC_ACT_UNSPEC;
	}
	if ((p.proto != IPPROTO_TCP && p.proto != IPPROTO_UDP) || p.transport + 8 > end)
		return TC_ACT_UNSPEC;
	c = bpf_map_lookup_elem(&settings, &zero);
	if (!c)
		return TC_ACT_UNSPEC;
	w = find(&p, c, 1);
	if (w)
		w = other_of(w);
	if (w && w->state == LIVE)
		learn(w, skb, &p, c);
	return TC_ACT_UNSPEC;
}

#endif
