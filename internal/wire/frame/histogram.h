/* SPDX-License-Identifier: Apache-2.0
 *
 * Histograms of times in ns. histogram.go is its twin.
 */
#ifndef LINERATE_HISTOGRAM_H
#define LINERATE_HISTOGRAM_H

#include <linux/bpf.h>
#include <bpf/bpf_helpers.h>

#define BUCKETS 1024

struct histogram {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, BUCKETS);
	__type(key, __u32);
	__type(value, __u64);
};

/* 16 buckets an octave: 6 % wide. */
static __always_inline __u32 bucket(__u64 ns)
{
	__u64 v = ns;
	__u32 e = 0, b;

	if (v < 16)
		return v;
#pragma unroll
	for (int shift = 32; shift; shift >>= 1)
		if (v >> shift) {
			v >>= shift;
			e += shift;
		}
	b = (e - 3) * 16 + ((ns >> (e - 4)) & 15);
	return b < BUCKETS ? b : BUCKETS - 1;
}

static __always_inline void count(void *map, __u64 ns)
{
	__u32 b = bucket(ns);
	__u64 *n = bpf_map_lookup_elem(map, &b);

	if (n)
		(*n)++;
}

#endif
