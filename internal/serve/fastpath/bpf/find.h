/* SPDX-License-Identifier: Apache-2.0
 *
 * Finds ways: an array with open addressing. User space fills it by writing
 * memory that both see; hash.go is the twin of what is computed here.
 */
#ifndef LINERATE_FIND_H
#define LINERATE_FIND_H

#include "packet.h"

/* A way lies at most so many places after the one that its key hashes to. */
#define WINDOW 32

static __always_inline __u32 mix(struct key *k, __u32 seed)
{
	__u64 h = (k->addresses ^ seed) * 0x9e3779b97f4a7c15;

	h ^= h >> 32;
	h = (h ^ k->ports ^ (__u64)k->kind << 32) * 0xd6e8feb86659fd93;
	return h >> 32;
}

static __always_inline __u32 fold6(struct in6_addr *a)
{
	__u64 h = ((__u64)a->s6_addr32[0] << 32 | a->s6_addr32[1]) * 0x9e3779b97f4a7c15;

	h = (h ^ (h >> 32) ^ ((__u64)a->s6_addr32[2] << 32 | a->s6_addr32[3])) * 0xd6e8feb86659fd93;
	return h >> 32;
}

static __always_inline int equal6(struct in6_addr *a, __be32 *b)
{
	return a->s6_addr32[0] == b[0] && a->s6_addr32[1] == b[1] && a->s6_addr32[2] == b[2] && a->s6_addr32[3] == b[3];
}

/* The way of a packet as it came in; with turned, of its answer. */
static __always_inline struct way *find(struct packet *p, struct config *c, int turned)
{
	struct tcphdr *ports = p->transport;
	__u32 first = ports->source, second = ports->dest;
	struct key k = {.kind = p->proto};
	struct in6_addr *source = NULL, *target = NULL;

	if (p->ip) {
		k.addresses = turned ? (__u64)p->ip->daddr << 32 | p->ip->saddr : (__u64)p->ip->saddr << 32 | p->ip->daddr;
	} else if (p->ip6) {
		source = turned ? &p->ip6->daddr : &p->ip6->saddr;
		target = turned ? &p->ip6->saddr : &p->ip6->daddr;
		k.addresses = (__u64)fold6(source) << 32 | fold6(target);
		k.kind |= SIX;
	}
	k.ports = turned ? second << 16 | first : first << 16 | second;

	__u32 at = mix(&k, c->seed);

	for (int i = 0; i < WINDOW; i++, at++) {
		__u32 place = at & c->mask;
		struct way *w = bpf_map_lookup_elem(&ways, &place);

		if (!w || w->state == NEVER)
			return NULL;
		if (w->addresses != k.addresses || w->ports != k.ports || w->kind != k.kind || w->state == FREED)
			continue;
		if (source && target && (!equal6(source, w->from_source) || !equal6(target, w->from_target)))
			continue;
		return w;
	}
	return NULL;
}

static __always_inline struct way *other_of(struct way *w)
{
	__u32 at = w->other;

	return bpf_map_lookup_elem(&ways, &at);
}

#endif
