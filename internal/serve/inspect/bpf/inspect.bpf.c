// SPDX-License-Identifier: Apache-2.0
// Looks at the frames of an interface and lets them go on: headers or whole
// frames into a ring that user space reads, or counters only. The same code
// runs in the driver (XDP) and in the stack (tcx, the only place that sees what
// is sent). Constants are set before loading, so that the kernel drops what a
// mode doesn't use.

#include "dissect.h"

enum { COUNT, SPLIT, FULL };

volatile const __u32 mode;
volatile const __u32 headers;	 /* SPLIT: most bytes of a record */
volatile const __u32 trim;	 /* SPLIT: end records where the payload starts */
volatile const __u32 snap;	 /* FULL: most bytes of a record */
volatile const __u32 sample;	 /* one of so many matching frames; 0, 1: all */
volatile const __u64 per_slot;	 /* most frames in a slot of time; 0: no limit */
volatile const __u32 linear;	 /* in the stack: bytes that the filter may read */

#ifndef TCX_NEXT
#define TCX_NEXT -1 /* linux 6.6 */
#endif

#define SLOT_NS 10000000
#define MOST_BYTES 16384

/* Sizes of a frame with FCS as RFC 2819 counts them (etherStatsPkts). */
#define SIZES 7

struct counters {
	__u64 seen, seen_bytes;
	__u64 matched, matched_bytes;
	__u64 skipped; /* by sampling */
	__u64 limited; /* by the rate limit */
	__u64 lost;    /* no room in the ring, or in the flow table */
	__u64 taken;
	__u64 turn;
	__u64 sizes[SIZES];
};

struct volume {
	__u64 frames, bytes;
};

struct traffic {
	__u64 frames, bytes;
	__u64 first, last; /* ns */
};

/* A record in the ring: this header, then bytes of the frame. */
struct record {
	__u64 time;	 /* ns, monotonic clock */
	__u32 length;	 /* of the frame */
	__u16 captured;	 /* bytes that follow */
	__u8 outgoing;
	__u8 segments; /* frames that this one will be cut into, where known */
};

/* The ring, its size set before loading. */
struct {
	__uint(type, BPF_MAP_TYPE_RINGBUF);
	__uint(max_entries, 1 << 23);
} records SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct counters);
} counts SEC(".maps");

/* By IP protocol; what isn't IP comes under OTHER. */
struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, OTHER + 1);
	__type(key, __u32);
	__type(value, struct volume);
} protocols SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_HASH);
	__uint(max_entries, 65536);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__type(key, struct flow);
	__type(value, struct traffic);
} flows SEC(".maps");

volatile __u64 slot, slot_used;

/* So that bpf2go finds the type. */
const struct record *unused_record __attribute__((unused));

/* What a frame is looked at through, in the driver or in the stack. */
struct view {
	void *ctx, *data, *end;
	__u32 length;
	__u32 segments;
	int skb, outgoing;
};

/* The compiled expression takes this function's place. */
static __attribute__((noinline)) int filter(void *data, void *end, __u32 length)
{
	int pass = 1;

	asm volatile("" : "+r"(pass) : "r"(data), "r"(end), "r"(length));
	return pass;
}

/* Loads n bytes, 1 to most; the barrier keeps the check where the verifier sees
 * it. */
static __always_inline long load_bytes(struct view *v, void *to, __u64 n, __u64 most)
{
	asm volatile("" : "+r"(n));
	if (n == 0 || n > most)
		return -1;
	return v->skb ? bpf_skb_load_bytes(v->ctx, 0, to, n) : bpf_xdp_load_bytes(v->ctx, 0, to, n);
}

static __always_inline void measure(struct counters *c, struct view *v)
{
	__u32 n = v->length;

	if (v->segments > 1)
		n /= v->segments;
	n += 4;
	if (n <= 64)
		c->sizes[0] += v->segments;
	else if (n <= 127)
		c->sizes[1] += v->segments;
	else if (n <= 255)
		c->sizes[2] += v->segments;
	else if (n <= 511)
		c->sizes[3] += v->segments;
	else if (n <= 1023)
		c->sizes[4] += v->segments;
	else if (n <= 1518)
		c->sizes[5] += v->segments;
	else
		c->sizes[6] += v->segments;
}

/* Whether a slot of time has had its share. Two cores may begin a slot at once:
 * then a few frames more are let through. */
static __always_inline int over_limit(__u64 now)
{
	__u64 s = now / SLOT_NS;

	if (slot != s) {
		slot = s;
		slot_used = 0;
	}
	return __sync_fetch_and_add(&slot_used, 1) >= per_slot;
}

static __always_inline void count(struct view *v, struct counters *c, __u64 now)
{
	struct packet p = dissect_packet(v->data, v->end);
	struct traffic *t, fresh = {};
	__u32 proto = p.l4 ? p.flow.protocol : OTHER;
	struct volume *n = bpf_map_lookup_elem(&protocols, &proto);

	measure(c, v);
	if (n) {
		n->frames += v->segments;
		n->bytes += v->length;
	}
	if (!p.l4)
		return;
	t = bpf_map_lookup_elem(&flows, &p.flow);
	if (!t) {
		/* A new flow, or one new on this core. */
		bpf_map_update_elem(&flows, &p.flow, &fresh, BPF_NOEXIST);
		t = bpf_map_lookup_elem(&flows, &p.flow);
	}
	if (!t) {
		c->lost += v->segments;
		return;
	}
	if (!t->first)
		t->first = now;
	t->last = now;
	t->frames += v->segments;
	t->bytes += v->length;
	c->taken += v->segments;
}

static __always_inline void describe(struct record *r, struct view *v, __u64 now, __u32 captured)
{
	r->time = now;
	r->length = v->length;
	r->captured = captured;
	r->outgoing = v->outgoing;
	r->segments = v->segments > 255 ? 255 : v->segments;
}

static __always_inline void split(struct view *v, struct counters *c, __u64 now)
{
	__u64 n = v->length < headers ? v->length : headers;
	struct record *r;

	if (trim) {
		struct packet p = dissect_packet(v->data, v->end);

		if (p.payload && p.payload < n)
			n = p.payload;
	}
	r = bpf_ringbuf_reserve(&records, sizeof(*r) + headers, 0);
	if (!r) {
		c->lost += v->segments;
		return;
	}
	describe(r, v, now, n);
	if (headers == 64 && v->data + 64 <= v->end) {
		__builtin_memcpy(r + 1, v->data, 64);
	} else if (load_bytes(v, r + 1, n, headers)) {
		bpf_ringbuf_discard(r, BPF_RB_NO_WAKEUP);
		c->lost += v->segments;
		return;
	}
	bpf_ringbuf_submit(r, BPF_RB_NO_WAKEUP);
	c->taken += v->segments;
}

/* A record's size must be a constant: the least class that fits is taken. */
#define WHOLE(size)                                                                    \
	if (n <= (size)) {                                                             \
		struct record *r = bpf_ringbuf_reserve(&records, sizeof(*r) + (size), 0); \
                                                                                       \
		if (!r) {                                                              \
			c->lost += v->segments;                                                     \
			return;                                                        \
		}                                                                      \
		describe(r, v, now, n);                                                \
		if (load_bytes(v, r + 1, n, size)) {                                   \
			bpf_ringbuf_discard(r, BPF_RB_NO_WAKEUP);                      \
			c->lost += v->segments;                                                     \
			return;                                                        \
		}                                                                      \
		bpf_ringbuf_submit(r, BPF_RB_NO_WAKEUP);                               \
		c->taken += v->segments;                                                            \
		return;                                                                \
	}

static __always_inline void whole(struct view *v, struct counters *c, __u64 now)
{
	__u64 n = v->length < snap ? v->length : snap;

	WHOLE(128)
	WHOLE(512)
	WHOLE(1536)
	WHOLE(4096)
	WHOLE(MOST_BYTES)
}

static __always_inline void look(struct view *v)
{
	__u32 zero = 0;
	struct counters *c = bpf_map_lookup_elem(&counts, &zero);
	__u64 now;

	if (!c)
		return;
	c->seen += v->segments;
	c->seen_bytes += v->length;
	if (!filter(v->data, v->end, v->length))
		return;
	c->matched += v->segments;
	c->matched_bytes += v->length;
	if (sample > 1 && c->turn++ % sample) {
		c->skipped += v->segments;
		return;
	}
	now = bpf_ktime_get_ns();
	if (per_slot && over_limit(now)) {
		c->limited += v->segments;
		return;
	}
	if (mode == COUNT)
		count(v, c, now);
	else if (mode == SPLIT)
		split(v, c, now);
	else
		whole(v, c, now);
}

SEC("xdp.frags")
int inspect_driver(struct xdp_md *ctx)
{
	struct view v = {
		.ctx = ctx,
		.data = (void *)(long)ctx->data,
		.end = (void *)(long)ctx->data_end,
		.segments = 1,
	};

	v.length = bpf_xdp_get_buff_len(ctx);
	look(&v);
	return XDP_PASS;
}

static __always_inline int in_stack(struct __sk_buff *skb, int outgoing)
{
	struct view v = { .ctx = skb, .length = skb->len, .skb = 1, .outgoing = outgoing };

	/* Of a frame in pieces the first has the headers. Getting more of it into
	 * one piece copies the frame where TCP holds it too, so only if it must be. */
	if (skb->data_end - skb->data < linear && skb->data_end - skb->data < skb->len)
		bpf_skb_pull_data(skb, skb->len < linear ? skb->len : linear);
	v.data = (void *)(long)skb->data;
	v.end = (void *)(long)skb->data_end;
	v.segments = skb->gso_segs ?: 1;
	look(&v);
	return TCX_NEXT;
}

SEC("tc")
int inspect_in(struct __sk_buff *skb)
{
	return in_stack(skb, 0);
}

SEC("tc")
int inspect_out(struct __sk_buff *skb)
{
	return in_stack(skb, 1);
}

char __license[] SEC("license") = "Dual BSD/GPL";
