// SPDX-License-Identifier: Apache-2.0
// Sends test frames back: addresses and ports change places. The checksums
// stay right, for they are sums over both.

#include "histogram.h"
#include "signature.h"

#define CLOCK_APART 10000000000LL /* ns: a stamp further off is of another clock */

volatile const __u32 any;	   /* also frames without our signature: UDP to the echo port */
volatile const __u32 out_ifindex;  /* the second arm; 0: back out of the same interface */
volatile const __u8 next_hop[6], own[6]; /* of the second arm */
volatile const __u32 measure;	   /* how long stamped frames took */
volatile const __u32 frags;	   /* frames may be longer than the part that we see */

enum { REFLECTED, BYTES, FOREIGN, OTHER_CLOCK, COUNTERS };

struct histogram latency SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, COUNTERS);
	__type(key, __u32);
	__type(value, __u64);
} counters SEC(".maps");

static __always_inline void add(__u32 which, __u64 n)
{
	__u64 *c = bpf_map_lookup_elem(&counters, &which);

	if (c)
		*c += n;
}

static __always_inline void swap_addresses(struct parts *p)
{
	if (p->ip) {
		__be32 a = p->ip->saddr;

		p->ip->saddr = p->ip->daddr;
		p->ip->daddr = a;
	} else if (p->ip6) {
		struct in6_addr a = p->ip6->saddr;

		p->ip6->saddr = p->ip6->daddr;
		p->ip6->daddr = a;
	}
}

static __always_inline void took(struct signature *sig)
{
	__s64 ns;

	if (!sig || !sig->stamp)
		return;
	ns = bpf_ktime_get_ns() - bpf_be64_to_cpu(sig->stamp);
	if (ns < 0 || ns > CLOCK_APART)
		add(OTHER_CLOCK, 1);
	else
		count(&latency, ns);
}

SEC("xdp")
int reflect(struct xdp_md *ctx)
{
	void *data = (void *)(long)ctx->data, *end = (void *)(long)ctx->data_end;
	struct parts p = dissect(data, end);
	struct signature *sig = signature_of(&p, end);
	__u8 mac[6];
	__be16 port;

	if (!p.udp || (!sig && !(any && p.udp->dest == bpf_htons(7)))) {
		add(FOREIGN, 1);
		return XDP_PASS;
	}
	/* RFC 1812 4.2.2.9: a source that no answer may be sent to. */
	if (p.eth->h_source[0] & 1)
		return XDP_DROP;
	add(REFLECTED, 1);
	add(BYTES, frags ? bpf_xdp_get_buff_len(ctx) : end - data);
	if (measure)
		took(sig);
	swap_addresses(&p);
	port = p.udp->source;
	p.udp->source = p.udp->dest;
	p.udp->dest = port;
	if (out_ifindex) {
		for (int i = 0; i < 6; i++) {
			p.eth->h_dest[i] = next_hop[i];
			p.eth->h_source[i] = own[i];
		}
		return bpf_redirect(out_ifindex, 0);
	}
	__builtin_memcpy(mac, p.eth->h_dest, 6);
	__builtin_memcpy(p.eth->h_dest, p.eth->h_source, 6);
	__builtin_memcpy(p.eth->h_source, mac, 6);
	return XDP_TX;
}

char __license[] SEC("license") = "Dual BSD/GPL";
