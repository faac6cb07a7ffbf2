// SPDX-License-Identifier: Apache-2.0
// Makes test frames in the kernel: the program runs on live frames of
// BPF_PROG_RUN, fills each in, and redirects it out of an interface. A sink
// counts them at the other end of the device under test.

#include "histogram.h"
#include "signature.h"

#define HEADER_WORDS 9 /* 72 bytes hold Ethernet, a VLAN tag, IPv6 and UDP */
#define SIZES 64
#define WINDOW_WORDS 16 /* of 64 sequence numbers each */
#define FAR_NS 250000	/* wait longer outside than inside the program */
#define SPINS (1 << 14) /* of 25 ns and more */

/* Set before loading. */
volatile const __u32 out_ifindex;
volatile const __u32 flow_mask;	  /* flows - 1, a power of two */
volatile const __u32 flow_shift;  /* log2 of flows */
volatile const __u32 flow_base;	  /* of this generator among several */
volatile const __u32 host_mask;	  /* destination addresses - 1; 0: one */
volatile const __u64 header[HEADER_WORDS];
volatile const __u32 words, pairs; /* of 8 and 2 bytes to copy of the header */
volatile const __u32 ip_at, port_at, payload_at;
volatile const __u32 ipv6;
volatile const __u64 stamp_mask;   /* stamp where sequence & mask is 0; all ones: never */
volatile const __u64 limit;	   /* frames to send */
volatile const __u64 interval_q16; /* ns between frames, 16 fraction bits; 0: as fast as possible */
volatile const __u64 gap_min;	   /* ns between frames while catching up with the schedule */
volatile const __u64 late_max;	   /* ns; a frame later than this moves the schedule */
volatile const __u32 sizes;	   /* entries of the mix in use; 0: all frames are of one size */
volatile const __u16 size_mix[SIZES]; /* bytes without FCS, in sending order */
volatile const __u32 burst, fault_every, fault_kind;
volatile const __u32 batch;	   /* frames of one call into the driver, at most */
volatile const __u32 shuffled;	   /* flows in pseudo-random order (RFC 4814) */
volatile const __u64 step_at;	   /* frames at interval_q16; then at the next */
volatile const __u64 step_interval_q16, step_gap_min;
volatile const __u32 other_every;  /* replace every so many frames; 0: none */
volatile const __u32 other_kind;

enum { FAULT_LOSE = 1, FAULT_DUPLICATE, FAULT_REORDER, FAULT_CORRUPT };
enum { OTHER_LEFT_OUT = 1, OTHER_BROADCAST };

struct sending {
	__u64 sent, first, start, last, slips, slipped_ns;
	__u64 others;  /* of those sent */
	__u64 stepped; /* when the first frame of the second interval left */
	__u64 runs, pending, opened; /* place in the batch, frames of it that wait for its end, its time */
};

struct sending sender;

struct histogram lateness SEC(".maps");
struct histogram latency SEC(".maps");

__u32 stop; /* set from outside to end a run early */

struct until {
	__u64 due;
};

static long spin(__u32 i, void *ctx)
{
	struct until *u = ctx;

	return bpf_ktime_get_ns() >= u->due;
}

/* When frame n is due, in ns from the start. */
static __always_inline __u64 due_after(__u64 n)
{
	if (n <= step_at)
		return (n * interval_q16) >> 16;
	return (step_at * interval_q16 + (n - step_at) * step_interval_q16) >> 16;
}

/* Waits for the frame's time. Returns 0 where it is too early to wait here:
 * frames that already left are in the driver's hands only when their batch is
 * over, so that the rest of it is left empty. Only frames that are due together
 * go together. */
static __always_inline __u64 wait(struct sending *s)
{
	__u64 now = bpf_ktime_get_ns(), due, early, late;
	__u64 group = burst > 1 ? s->sent - s->sent % burst : s->sent;

	if (!s->start)
		s->start = s->first = now;
	due = early = s->start + due_after(group);
	if (burst <= 1 && !s->pending && s->opened > early)
		early = s->opened;
	if (now < early) {
		struct until u = { .due = early };

		if (s->pending || early - now > FAR_NS)
			return 0;
		bpf_loop(SPINS, spin, &u, 0);
		now = bpf_ktime_get_ns();
		if (now < early)
			return 0;
	}
	late = now - due;
	count(&lateness, late);
	if (late > late_max) {
		s->slips++;
		s->slipped_ns += late;
		s->start += late;
	}
	/* After a stall what is overdue must not leave in one burst: it would
	 * overrun a small ring and look like the device's loss. The next batch
	 * waits for each frame of this one. */
	if (!s->pending)
		s->opened = now;
	s->opened += s->sent < step_at ? gap_min : step_gap_min;
	return now;
}

/* Without a rate the clock is read for the stamps, and at both ends. */
static __always_inline __u64 hurry(struct sending *s)
{
	if (s->start && s->sent + 1 < limit && (s->sent & 63))
		return s->last;
	s->last = bpf_ktime_get_ns();
	if (!s->start)
		s->start = s->first = s->last;
	return s->last;
}

/* The i-th of a round of flows: each once a round, in an order that differs
 * from round to round. */
static __always_inline __u32 shuffle(__u32 i, __u64 round)
{
	i = (i * 0x9e3779b1 + (__u32)round * 0x85ebca6b) & flow_mask;
	i ^= i >> (flow_shift / 2 + 1);
	return i * 0xc2b2ae35 & flow_mask;
}

static __always_inline __u16 source_port(__u32 flow)
{
	__u16 port = flow * 40503;

	if (!shuffled)
		return 0xc020 + (flow & 0x3fff);
	return port < 1024 ? port + 1024 : port;
}

static __always_inline __u32 fold(__u32 sum)
{
	sum = (sum & 0xffff) + (sum >> 16);
	return (sum & 0xffff) + (sum >> 16);
}

/* Changes a word of the IP header and, in IPv4, its checksum with it (RFC 1624
 * equation 3: HC' = ~(~HC + ~m + m')). */
static __always_inline int set(void *data, void *end, __be16 *word, __be16 value)
{
	__be16 *check = data + (ip_at & 127) + 10;
	__u32 sum;

	if ((void *)(word + 1) > end || (void *)(check + 1) > end)
		return -1;
	if (!ipv6) {
		sum = (__u16)~*check + (__u16)~*word + value;
		*check = ~fold(sum);
	}
	*word = value;
	return 0;
}

#define COPY(i)     \
	if (n > i) \
		*(__u64 *)(data + 8 * i) = header[i];

/* Every byte of the header is written each time: frames are recycled with what
 * the device under test made of them. */
static __always_inline int fill(struct xdp_md *ctx, __u64 sequence, __u32 flow, __u64 stamp, int corrupt)
{
	void *data = (void *)(long)ctx->data, *end = (void *)(long)ctx->data_end;
	struct signature *sig;
	__u16 host = flow & host_mask, port = source_port(flow);
	__u32 n = words & 15, rest = pairs & 3;
	__be16 *at;

	if (n + !!rest > HEADER_WORDS || data + 8 * n + 2 * rest > end)
		return -1;
	/* n and rest are constants to the verifier: of these only what is needed
	 * remains, where a loop would be kept as one. */
	COPY(0)
	COPY(1)
	COPY(2)
	COPY(3)
	COPY(4)
	COPY(5)
	COPY(6)
	COPY(7)
	COPY(8)
	if (rest > 0)
		*(__u16 *)(data + 8 * n) = ((const volatile __u16 *)header)[4 * n];
	if (rest > 1)
		*(__u16 *)(data + 8 * n + 2) = ((const volatile __u16 *)header)[4 * n + 1];
	if (rest > 2)
		*(__u16 *)(data + 8 * n + 4) = ((const volatile __u16 *)header)[4 * n + 2];
	if (data + (port_at & 127) + sizeof(struct udphdr) > end)
		return -1;
	*(__be16 *)(data + (port_at & 127)) = bpf_htons(port);
	if (host_mask) {
		at = data + (port_at & 127) - 2; /* the address ends where UDP begins */
		if (set(data, end, at, bpf_htons(bpf_ntohs(*at) + host)))
			return -1;
	}
	if (sizes) {
		__u16 length = bpf_xdp_get_buff_len(ctx) - ip_at;

		if (set(data, end, data + (ip_at & 127) + 2, bpf_htons(length)))
			return -1;
		*(__be16 *)(data + (port_at & 127) + 4) = bpf_htons(length - sizeof(struct iphdr));
	}
	sig = data + (payload_at & 127);
	if ((void *)(sig + 1) > end)
		return -1;
	sig->magic = bpf_htons(SIGNATURE_MAGIC);
	sig->flow = bpf_htons(flow);
	sig->sequence_high = bpf_htonl(sequence >> 8);
	sig->sequence_low = sequence;
	sig->check = signature_check(flow, sequence, stamp) ^ corrupt;
	sig->stamp = bpf_cpu_to_be64(stamp);
	if (ipv6) {
		/* Two bytes that keep the sum of what varies at zero, and so
		 * the UDP checksum of the template right (RFC 768). */
		__be16 *word = (void *)sig, *balance = (void *)(sig + 1);
		__u32 sum = bpf_htons(port);

		if ((void *)(balance + 1) > end)
			return -1;
		if (host_mask)
			sum += bpf_htons(host);
#pragma unroll
		for (int i = 0; i < SIGNATURE_LENGTH / 2; i++)
			sum += word[i];
		*balance = ~fold(sum);
	}
	return 0;
}

/* A frame to everybody, of a kind that the device need not process: it goes in
 * a test frame's place (RFC 2544 section 11.1) and is not counted as one. */
static __always_inline int to_everybody(struct xdp_md *ctx)
{
	void *data = (void *)(long)ctx->data, *end = (void *)(long)ctx->data_end;
	struct signature *sig = data + (payload_at & 127);

	if ((void *)(sig + 1) > end)
		return -1;
	__builtin_memset(data, 0xff, ETH_ALEN);
	sig->magic = 0;
	return 0;
}

/* The last of every other_every frames is replaced. */
static __always_inline __u32 other(__u64 n)
{
	return other_every && n % other_every == other_every - 1 ? other_kind : 0;
}

SEC("xdp")
int generate(struct xdp_md *ctx)
{
	__u32 flow, fault = 0, kind;
	struct sending *s = &sender;
	__u64 n, sequence, now, stamp = 0;

	if (stop || s->sent >= limit)
		return XDP_DROP;
	if (interval_q16 && ++s->runs >= batch) {
		s->runs = 0;
		s->pending = 0;
	}
	now = interval_q16 ? wait(s) : hurry(s);
	if (!now)
		return XDP_DROP;
	if (step_interval_q16 && s->sent == step_at)
		s->stepped = now;
	n = s->sent++;
	s->pending++;
	s->last = now;
	kind = other(n);
	s->others += !!kind;
	if (kind == OTHER_LEFT_OUT)
		return XDP_DROP;
	if (other_every)
		n -= n / other_every;
	sequence = n >> flow_shift;
	flow = flow_base + (shuffled ? shuffle(n & flow_mask, sequence) : n & flow_mask);
	if (fault_every && n % fault_every == fault_every - 1)
		fault = fault_kind;
	if (fault == FAULT_LOSE)
		return XDP_DROP;
	if (fault == FAULT_DUPLICATE || fault == FAULT_REORDER)
		sequence -= 5;
	if (fault_kind == FAULT_REORDER && fault_every && n % fault_every == fault_every - 6)
		return XDP_DROP; /* it comes five later, in that frame's stead */
	if (!(sequence & stamp_mask))
		stamp = bpf_ktime_get_ns();
	if (sizes) {
		int want = size_mix[n % sizes & (SIZES - 1)];

		if (bpf_xdp_adjust_tail(ctx, want - (int)bpf_xdp_get_buff_len(ctx)))
			return XDP_ABORTED;
	}
	if (fill(ctx, sequence, flow, stamp, fault == FAULT_CORRUPT))
		return XDP_ABORTED;
	if (kind == OTHER_BROADCAST && to_everybody(ctx))
		return XDP_ABORTED;
	return bpf_redirect(out_ifindex, 0);
}

/* What the sink knows of a flow. */
struct received {
	__u64 next; /* highest sequence number + 1 */
	__u64 frames, bytes, unique, duplicate, reordered, too_late, corrupt;
	__u64 after;   /* of unique: from sequence number split on */
	__u64 lost_at; /* when a gap in the numbers showed last; with watch */
	__u64 jitter, jitters, last_latency; /* sum and number of differences, RFC 4689 3.2.5 */
	__u64 seen[WINDOW_WORDS];
};

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1); /* as many as flows */
	__type(key, __u32);
	__type(value, struct received);
} flows SEC(".maps");

/* Frames that are not ours, and ours of a flow that we do not know. */
struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 2);
	__type(key, __u32);
	__type(value, __u64);
} foreign SEC(".maps");

static __always_inline int stranger(__u32 kind, int verdict)
{
	__u64 *n = bpf_map_lookup_elem(&foreign, &kind);

	if (n)
		(*n)++;
	return verdict;
}

volatile const __u32 frags; /* frames may be longer than the part that we see */
__u64 split;
__u32 watch; /* note the time of every frame */

/* The longest silence between two frames, of any flow. Cores that receive at
 * the same time may disagree by a frame, never by the length of an outage. */
struct silence {
	__u64 last, from, until;
};

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct silence);
} silences SEC(".maps");

static __always_inline void note(struct received *r, __u64 q)
{
	__u64 now = bpf_ktime_get_ns();
	__u32 zero = 0;
	struct silence *s = bpf_map_lookup_elem(&silences, &zero);

	if (q > r->next)
		r->lost_at = now;
	if (!s)
		return;
	if (s->last && now - s->last > s->until - s->from) {
		s->from = s->last;
		s->until = now;
	}
	s->last = now;
}

/* A window of the last sequence numbers tells a duplicate from a late frame. */
static __always_inline void place(struct received *r, __u64 q)
{
	__u64 word = q >> 6, bit = 1ULL << (q & 63), *w;

	if (q >= r->next) {
		__u64 gap = r->next ? word - ((r->next - 1) >> 6) : WINDOW_WORDS;

		if (gap) {
#pragma unroll
			for (int i = 0; i < WINDOW_WORDS; i++)
				if (i < gap)
					r->seen[(word - i) & (WINDOW_WORDS - 1)] = 0;
		}
		r->seen[word & (WINDOW_WORDS - 1)] |= bit;
		r->next = q + 1;
		r->unique++;
		r->after += q >= split;
		return;
	}
	if (r->next - q > (WINDOW_WORDS - 1) * 64) {
		r->too_late++;
		return;
	}
	w = &r->seen[word & (WINDOW_WORDS - 1)];
	if (*w & bit) {
		r->duplicate++;
	} else {
		*w |= bit;
		r->reordered++;
		r->unique++;
		r->after += q >= split;
	}
}

static __always_inline void took(struct received *r, __u64 ns)
{
	count(&latency, ns);
	if (r->last_latency) {
		r->jitter += ns > r->last_latency ? ns - r->last_latency : r->last_latency - ns;
		r->jitters++;
	}
	r->last_latency = ns;
}

SEC("xdp")
int sink(struct xdp_md *ctx)
{
	void *data = (void *)(long)ctx->data, *end = (void *)(long)ctx->data_end;
	struct parts p = dissect(data, end);
	struct signature *sig = signature_of(&p, end);
	struct received *r;
	__u64 sequence, stamp;
	__u32 flow;

	if (!sig)
		return stranger(0, XDP_PASS);
	flow = bpf_ntohs(sig->flow);
	r = bpf_map_lookup_elem(&flows, &flow);
	if (!r)
		return stranger(1, XDP_DROP);
	sequence = (__u64)bpf_ntohl(sig->sequence_high) << 8 | sig->sequence_low;
	stamp = bpf_be64_to_cpu(sig->stamp);
	r->frames++;
	r->bytes += frags ? bpf_xdp_get_buff_len(ctx) : end - data;
	if (sig->check != signature_check(flow, sequence, stamp)) {
		r->corrupt++;
		return XDP_DROP;
	}
	if (watch)
		note(r, sequence);
	place(r, sequence);
	if (stamp)
		took(r, bpf_ktime_get_ns() - stamp);
	return XDP_DROP;
}

/* A peer that only lets redirected frames in. */
SEC("xdp")
int pass(struct xdp_md *ctx)
{
	return XDP_PASS;
}

char __license[] SEC("license") = "Dual BSD/GPL";
