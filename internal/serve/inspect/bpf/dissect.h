/* SPDX-License-Identifier: Apache-2.0
 *
 * Finds the flow that a frame belongs to and where its payload starts.
 */
#ifndef LINERATE_DISSECT_H
#define LINERATE_DISSECT_H

#include <linux/bpf.h>
#include <linux/if_ether.h>
#include <linux/in.h>
#include <linux/in6.h>
#include <linux/ip.h>
#include <linux/ipv6.h>
#include <linux/tcp.h>
#include <bpf/bpf_endian.h>
#include <bpf/bpf_helpers.h>

#define OTHER 256 /* for the protocol of what isn't IP */
#define MOST_EXTENSIONS 4

struct flow {
	__u8 source[16], destination[16]; /* IPv4 in the last 4 bytes */
	__be16 source_port, destination_port;
	__be16 vlan; /* outermost ID */
	__u8 protocol;
	__u8 version;
};

struct packet {
	struct flow flow;
	__u32 l4;      /* offset of the transport header, 0: no IP */
	__u32 payload; /* offset of what follows it, 0: not known */
};

static __always_inline int is_tag(__be16 type)
{
	return type == bpf_htons(ETH_P_8021Q) || type == bpf_htons(ETH_P_8021AD);
}

/* Skips the extension headers of IPv6 (RFC 8200 4). fragment is set where no
 * transport header follows. */
static __always_inline __u32 skip_extensions(void *data, void *end, __u32 at, __u8 *proto, int *fragment)
{
	for (int i = 0; i < MOST_EXTENSIONS; i++) {
		__u8 *h = data + at;

		if (*proto != IPPROTO_HOPOPTS && *proto != IPPROTO_ROUTING && *proto != IPPROTO_DSTOPTS &&
		    *proto != IPPROTO_FRAGMENT)
			break;
		if (at > 1024 || (void *)(h + 8) > end) {
			*fragment = 1;
			break;
		}
		if (*proto == IPPROTO_FRAGMENT) {
			*fragment = *(__be16 *)(h + 2) & bpf_htons(0xfff8);
			*proto = h[0];
			at += 8;
		} else {
			*proto = h[0];
			at += (h[1] + 1) * 8;
		}
		if (*fragment)
			break;
	}
	return at;
}

static __always_inline struct packet dissect_packet(void *data, void *end)
{
	struct packet p = {}, none = {};
	__u32 at = sizeof(struct ethhdr);
	int fragment = 0;
	__be16 type;

	if (data + at > end)
		return none;
	type = ((struct ethhdr *)data)->h_proto;
	for (int i = 0; i < 2 && is_tag(type); i++) {
		if (data + at + 4 > end)
			return none;
		if (!i)
			p.flow.vlan = *(__be16 *)(data + at) & bpf_htons(0x0fff);
		type = *(__be16 *)(data + at + 2);
		at += 4;
	}
	if (type == bpf_htons(ETH_P_IP)) {
		struct iphdr *ip = data + at;

		if ((void *)(ip + 1) > end || ip->ihl < 5)
			return none;
		p.flow.version = 4;
		p.flow.protocol = ip->protocol;
		__builtin_memcpy(p.flow.source + 12, &ip->saddr, 4);
		__builtin_memcpy(p.flow.destination + 12, &ip->daddr, 4);
		fragment = ip->frag_off & bpf_htons(0x1fff);
		at += ip->ihl * 4;
	} else if (type == bpf_htons(ETH_P_IPV6)) {
		struct ipv6hdr *ip = data + at;

		if ((void *)(ip + 1) > end)
			return none;
		p.flow.version = 6;
		p.flow.protocol = ip->nexthdr;
		__builtin_memcpy(p.flow.source, &ip->saddr, 16);
		__builtin_memcpy(p.flow.destination, &ip->daddr, 16);
		at = skip_extensions(data, end, at + sizeof(*ip), &p.flow.protocol, &fragment);
	} else {
		return none;
	}
	p.l4 = at;
	if (fragment || at > 2048) {
		p.payload = at;
		return p;
	}
	if (p.flow.protocol == IPPROTO_TCP || p.flow.protocol == IPPROTO_UDP || p.flow.protocol == IPPROTO_SCTP) {
		__be16 *ports = data + at;

		if ((void *)(ports + 2) > end)
			return p;
		p.flow.source_port = ports[0];
		p.flow.destination_port = ports[1];
	}
	if (p.flow.protocol == IPPROTO_TCP) {
		struct tcphdr *tcp = data + at;

		if ((void *)(tcp + 1) <= end)
			p.payload = at + tcp->doff * 4;
	} else if (p.flow.protocol == IPPROTO_SCTP) {
		p.payload = at + 12;
	} else if (p.flow.protocol == IPPROTO_UDP || p.flow.protocol == IPPROTO_ICMP || p.flow.protocol == IPPROTO_ICMPV6) {
		p.payload = at + 8;
	} else {
		p.payload = at;
	}
	return p;
}

#endif
