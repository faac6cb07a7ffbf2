/* SPDX-License-Identifier: Apache-2.0
 *
 * The signature of our test frames: the first 18 bytes of the UDP payload, so
 * that it fits a 64-byte IPv4 frame. signature.go is its twin.
 */
#ifndef LINERATE_SIGNATURE_H
#define LINERATE_SIGNATURE_H

#include <linux/bpf.h>
#include <linux/if_ether.h>
#include <linux/in.h>
#include <linux/ip.h>
#include <linux/ipv6.h>
#include <linux/udp.h>
#include <bpf/bpf_endian.h>
#include <bpf/bpf_helpers.h>

#define SIGNATURE_MAGIC 0x4c52 /* "LR" */
#define SIGNATURE_LENGTH 18
#define SEQUENCE_BITS 40

struct signature {
	__be16 magic;
	__be16 flow;
	__be32 sequence_high; /* of 40 bits */
	__u8 sequence_low;
	__u8 check; /* folds flow, sequence and stamp: any single bit changed shows */
	__be64 stamp; /* ns, the sender's clock; 0: not stamped */
} __attribute__((packed, aligned(2))); /* behind any of our headers; bytes one by one cost 5 ns a frame */

static __always_inline __u8 signature_check(__u16 flow, __u64 sequence, __u64 stamp)
{
	__u64 x = stamp ^ sequence ^ ((__u64)flow << SEQUENCE_BITS);

	x ^= x >> 32;
	x ^= x >> 16;
	x ^= x >> 8;
	return (__u8)x ^ 0x5a;
}

/* Where a test frame's parts are; udp is NULL where it is none. */
struct parts {
	struct ethhdr *eth;
	struct iphdr *ip;
	struct ipv6hdr *ip6;
	struct udphdr *udp;
};

static __always_inline int is_vlan(__be16 type)
{
	return type == bpf_htons(ETH_P_8021Q) || type == bpf_htons(ETH_P_8021AD);
}

/* Finds UDP in Ethernet with up to two VLAN tags and IPv4 without options or
 * IPv6 without extension headers, which is all a generator sends. */
static __always_inline struct parts dissect(void *data, void *end)
{
	struct parts p = {};
	struct parts none = {};
	void *at = data + sizeof(struct ethhdr);
	__be16 type;

	p.eth = data;
	if (at > end)
		return none;
	type = p.eth->h_proto;
#pragma unroll
	for (int i = 0; i < 2; i++) {
		if (!is_vlan(type))
			break;
		if (at + 4 > end)
			return none;
		type = *(__be16 *)(at + 2);
		at += 4;
	}
	if (type == bpf_htons(ETH_P_IP)) {
		p.ip = at;
		at += sizeof(struct iphdr);
		if (at > end || p.ip->ihl != 5 || p.ip->protocol != IPPROTO_UDP ||
		    (p.ip->frag_off & bpf_htons(0x3fff)))
			return none;
	} else if (type == bpf_htons(ETH_P_IPV6)) {
		p.ip6 = at;
		at += sizeof(struct ipv6hdr);
		if (at > end || p.ip6->nexthdr != IPPROTO_UDP)
			return none;
	} else {
		return none;
	}
	if (at + sizeof(struct udphdr) > end)
		return none;
	p.udp = at;
	return p;
}

/* Returns the signature of a test frame, NULL where it has none. */
static __always_inline struct signature *signature_of(struct parts *p, void *end)
{
	struct signature *s = (void *)(p->udp + 1);

	if (!p->udp || (void *)(s + 1) > end || s->magic != bpf_htons(SIGNATURE_MAGIC))
		return NULL;
	return s;
}

#endif
