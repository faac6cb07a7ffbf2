/* SPDX-License-Identifier: Apache-2.0
 *
 * Finds a packet's headers and changes them.
 */
#ifndef LINERATE_PACKET_H
#define LINERATE_PACKET_H

#include "flow.h"

struct packet {
	struct ethhdr *eth;
	struct iphdr *ip;     /* or */
	struct ipv6hdr *ip6;
	void *transport;      /* NULL: neither TCP nor UDP */
	__u16 vlan, tag;      /* its tag control information and bytes */
	__u8 proto, tos, ttl;
	__u16 length;	      /* of the IP packet */
	enum reason wrong;    /* why to leave it to the stack; 0: none */
};

/* Adds two numbers in ones' complement (RFC 1071). */
static __always_inline __u16 fold(__u32 sum)
{
	sum = (sum & 0xffff) + (sum >> 16);
	return (sum & 0xffff) + (sum >> 16);
}

/* RFC 1624 (3): HC' = ~(~HC + delta). */
static __always_inline __u16 adjust(__u16 check, __u16 delta)
{
	return ~fold((__u16)~check + (__u32)delta);
}

static __always_inline int header_sum_right(struct iphdr *ip)
{
	__u16 *w = (void *)ip;
	__u32 sum = 0;

#pragma unroll
	for (int i = 0; i < 10; i++)
		sum += w[i];
	return fold(sum) == 0xffff;
}

/* The IPv4 header has no options. */
static __always_inline enum reason parse4(struct packet *p, void *at, void *end)
{
	p->ip = at;
	if (at + sizeof(struct iphdr) > end)
		return PASS_MALFORMED;
	p->length = bpf_ntohs(p->ip->tot_len);
	if (p->ip->version != 4 || p->ip->ihl < 5 || p->length < sizeof(struct iphdr) || at + p->length > end)
		return PASS_MALFORMED;
	if (p->ip->ihl != 5)
		return PASS_OPTIONS;
	if (p->ip->frag_off & bpf_htons(0x3fff))
		return PASS_FRAGMENT;
	if (!header_sum_right(p->ip))
		return PASS_MALFORMED;
	p->proto = p->ip->protocol;
	p->tos = p->ip->tos;
	p->ttl = p->ip->ttl;
	p->transport = p->ip + 1;
	return 0;
}

static __always_inline enum reason parse6(struct packet *p, void *at, void *end)
{
	__u16 payload;

	p->ip6 = at;
	if (at + sizeof(struct ipv6hdr) > end)
		return PASS_MALFORMED;
	payload = bpf_ntohs(p->ip6->payload_len);
	if (p->ip6->version != 6 || at + sizeof(struct ipv6hdr) + payload > end)
		return PASS_MALFORMED;
	p->length = payload + sizeof(struct ipv6hdr);
	p->proto = p->ip6->nexthdr;
	switch (p->proto) { /* RFC 8200 4 */
	case 0: case 43: case 44: case 50: case 51: case 60: case 135: case 139: case 140:
		return PASS_OPTIONS;
	}
	p->tos = p->ip6->priority << 4 | p->ip6->flow_lbl[0] >> 4;
	p->ttl = p->ip6->hop_limit;
	p->transport = p->ip6 + 1;
	return 0;
}

/* Fills in a packet that has at most one VLAN tag. */
static __always_inline struct packet parse(void *data, void *end)
{
	struct packet p = {};
	void *at = data + sizeof(struct ethhdr);
	__be16 type;

	p.eth = data;
	if (at > end) {
		p.wrong = PASS_MALFORMED;
		return p;
	}
	type = p.eth->h_proto;
	if (type == bpf_htons(ETH_P_8021Q)) {
		if (at + 4 > end) {
			p.wrong = PASS_MALFORMED;
			return p;
		}
		p.vlan = bpf_ntohs(*(__be16 *)at);
		p.tag = 4;
		type = *(__be16 *)(at + 2);
		at += 4;
	}
	if (type == bpf_htons(ETH_P_IP))
		p.wrong = parse4(&p, at, end);
	else if (type == bpf_htons(ETH_P_IPV6))
		p.wrong = parse6(&p, at, end);
	else
		p.wrong = PASS_NOT_IP;
	if (!p.wrong && p.ttl <= 1)
		p.wrong = PASS_TTL;
	return p;
}

/* Addresses that no router forwards (RFC 1812 5.3.7, RFC 4291 2.5, 2.7). */
static __always_inline int not_routed4(__be32 a)
{
	__u8 first = bpf_ntohl(a) >> 24;

	return first == 0 || first == 127 || first >= 224;
}

static __always_inline int not_routed6(struct in6_addr *a)
{
	__u16 first = bpf_ntohs(a->s6_addr16[0]);

	return (first & 0xff00) == 0xff00 || (first & 0xffc0) == 0xfe80 ||
	       (!a->s6_addr32[0] && !a->s6_addr32[1] && !a->s6_addr32[2] && bpf_ntohl(a->s6_addr32[3]) <= 1);
}

static __always_inline void one_hop_less(struct packet *p)
{
	if (p->ip) {
		/* The TTL is the upper byte of its word: RFC 1141. */
		p->ip->check = adjust(p->ip->check, bpf_htons(0xfeff));
		p->ip->ttl--;
	} else if (p->ip6) {
		p->ip6->hop_limit--;
	}
}

#endif
