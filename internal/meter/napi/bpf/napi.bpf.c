// SPDX-License-Identifier: Apache-2.0
// Counts NAPI polls and the time of the receive softirq on each core.
//
// Raw tracepoints are used because they need no tracefs. A poll's time is the
// time since the softirq began or the poll before it returned; a poll in a
// kernel thread (threaded NAPI) runs outside the softirq and has no time.

#include <linux/bpf.h>
#include <bpf/bpf_core_read.h>
#include <bpf/bpf_helpers.h>

#define NET_RX 3 /* NET_RX_SOFTIRQ, linux/interrupt.h */
#define NAME 16	 /* IFNAMSIZ */
#define CALLS 64 /* the loader makes the map as long as it is asked to */
#define BATCHES 66
#define DURATIONS 40

struct net_device {
	char name[NAME];
} __attribute__((preserve_access_index));

struct napi_struct {
	struct net_device *dev;
} __attribute__((preserve_access_index));

struct device {
	__u64 polls, packets, empty, full, ns, timed;
};

/* One call of a poll routine, for the circular buffer. */
struct call {
	__u64 packet; /* packets of this core before it */
	__u64 since;  /* ns since the poll before it returned */
	__u64 inside; /* ns, 0 where unknown */
	__u32 work, cpu;
	char name[NAME];
};

struct core {
	__u64 mark, entry, returned, softirqs, softirq_ns, calls, packets;
};

volatile const __u32 ring_length = CALLS;

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_HASH);
	__uint(max_entries, 256);
	__type(key, char[NAME]);
	__type(value, struct device);
} devices SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct core);
} cores SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, CALLS);
	__type(key, __u32);
	__type(value, struct call);
} ring SEC(".maps");

/* Polls by packets handled: 0 to 64, then more. */
struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, BATCHES);
	__type(key, __u32);
	__type(value, __u64);
} batches SEC(".maps");

/* Timed polls by duration: slot n holds 2^n to 2^(n+1)-1 ns. */
struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, DURATIONS);
	__type(key, __u32);
	__type(value, __u64);
} durations SEC(".maps");

static __always_inline struct core *this_core(void)
{
	__u32 zero = 0;

	return bpf_map_lookup_elem(&cores, &zero);
}

static __always_inline void bump(void *map, __u32 slot)
{
	__u64 *n = bpf_map_lookup_elem(map, &slot);

	if (n)
		(*n)++;
}

static __always_inline __u32 log2_of(__u64 v)
{
	__u32 n = 0;

	for (int shift = 32; shift; shift >>= 1)
		if (v >> shift) {
			v >>= shift;
			n += shift;
		}
	return n < DURATIONS ? n : DURATIONS - 1;
}

SEC("raw_tp/softirq_entry")
int softirq_entry(struct bpf_raw_tracepoint_args *ctx)
{
	struct core *c;

	if (ctx->args[0] != NET_RX || !(c = this_core()))
		return 0;
	c->entry = c->mark = bpf_ktime_get_ns();
	return 0;
}

SEC("raw_tp/softirq_exit")
int softirq_exit(struct bpf_raw_tracepoint_args *ctx)
{
	struct core *c;

	if (ctx->args[0] != NET_RX || !(c = this_core()) || !c->entry)
		return 0;
	c->softirqs++;
	c->softirq_ns += bpf_ktime_get_ns() - c->entry;
	c->entry = c->mark = 0;
	return 0;
}

static __always_inline int record(char name[NAME], int work, int budget)
{
	static const struct device none;
	struct core *c = this_core();
	struct device *d;
	struct call *call;
	__u64 now, inside;
	__u32 slot;

	if (!c)
		return 0;
	d = bpf_map_lookup_elem(&devices, name);
	if (!d) {
		bpf_map_update_elem(&devices, name, &none, BPF_NOEXIST);
		d = bpf_map_lookup_elem(&devices, name);
		if (!d)
			return 0;
	}
	now = bpf_ktime_get_ns();
	inside = c->mark ? now - c->mark : 0;
	d->polls++;
	d->packets += work;
	d->empty += work == 0;
	d->full += work >= budget;
	if (inside) {
		d->ns += inside;
		d->timed++;
		bump(&durations, log2_of(inside));
	}
	bump(&batches, work < BATCHES ? work : BATCHES - 1);

	slot = c->calls++ % ring_length;
	call = bpf_map_lookup_elem(&ring, &slot);
	if (call) {
		call->packet = c->packets;
		call->since = c->returned ? now - inside - c->returned : 0;
		call->inside = inside;
		call->work = work;
		call->cpu = bpf_get_smp_processor_id();
		__builtin_memcpy(call->name, name, NAME);
	}
	c->packets += work;
	c->returned = now;
	if (c->mark)
		c->mark = bpf_ktime_get_ns(); /* our own time is not the next poll's */
	return 0;
}

SEC("raw_tp/napi_poll")
int poll_named(struct bpf_raw_tracepoint_args *ctx)
{
	struct napi_struct *napi = (void *)ctx->args[0];
	char name[NAME] = {};

	/* A core's backlog (netif_rx) is polled like a device, but is none. */
	if (BPF_CORE_READ_STR_INTO(&name, napi, dev, name) <= 0)
		__builtin_memcpy(name, "backlog", 8);
	return record(name, ctx->args[1], ctx->args[2]);
}

/* For kernels without BTF: all devices as one. */
SEC("raw_tp/napi_poll")
int poll_plain(struct bpf_raw_tracepoint_args *ctx)
{
	char name[NAME] = {};

	return record(name, ctx->args[1], ctx->args[2]);
}

char __license[] SEC("license") = "Dual BSD/GPL";
