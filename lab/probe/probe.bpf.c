// SPDX-License-Identifier: MIT
/*
 * The kernel's half of chario-probe: own times of a few functions.
 *
 * Each task has a chain of the probed functions that it is in. The idle tasks
 * have chains too, for interrupts find them running; they share their number,
 * so each CPU's has its own key.
 */
#include <linux/bpf.h>
#include <bpf/bpf_helpers.h>

#include "probe.h"

#define MAX_DEPTH  32 /* a power of two */
#define MAX_CHAINS 64

struct frame {
	__u64 function;
	__u64 begin_ns;
	__u64 called_ns;
};

struct chain {
	__u32 depth;
	struct frame frames[MAX_DEPTH];
};

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, MAX_CHAINS);
	__type(key, __u64);
	__type(value, struct chain);
} chains SEC(".maps");

struct spent spent[MAX_FUNCTIONS];
/* Returns without a call, calls whose return was not seen, and what no chain had room for. */
__u64 lost;
__u32 target;
/* The program opens the gate with its second write, and closes it with the third. */
__u32 gate_writes;

static const struct chain no_chain;

/* The verifier does not follow a comparison through a subtraction, but a mask. */
static struct frame *frame_at(struct chain *chain, __u32 depth)
{
	return &chain->frames[depth & (MAX_DEPTH - 1)];
}

static struct chain *find_chain(void)
{
	struct chain *chain;
	__u64 id = bpf_get_current_pid_tgid();
	__u64 key = (__u32)id ? (__u32)id : (1ull << 32) + bpf_get_smp_processor_id();

	if (gate_writes != 2 || ((__u32)id && id >> 32 != target))
		return NULL;
	if (!bpf_map_lookup_elem(&chains, &key))
		bpf_map_update_elem(&chains, &key, &no_chain, BPF_NOEXIST);
	chain = bpf_map_lookup_elem(&chains, &key);
	lost += !chain;
	return chain;
}

/* Return: how deep the newest call of @function is, or 0; the calls above it have ended unseen. */
static __u32 find_call(struct chain *chain, __u64 function)
{
	__u32 depth = chain->depth;

	for (__u32 i = 0; i < MAX_DEPTH && depth; i++) {
		if (frame_at(chain, depth - 1)->function == function)
			return depth;
		depth--;
	}
	return 0;
}

SEC("kprobe.multi")
int enter(void *ctx)
{
	__u64 function = bpf_get_attach_cookie(ctx);
	struct chain *chain;
	struct frame *frame;
	__u32 depth;

	if (function == GATE) {
		gate_writes += bpf_get_current_pid_tgid() >> 32 == target;
		return 0;
	}
	chain = find_chain();
	if (!chain)
		return 0;
	depth = chain->depth;
	if (depth >= MAX_DEPTH) {
		lost++;
		return 0;
	}
	frame = frame_at(chain, depth);
	frame->function = function;
	frame->called_ns = 0;
	chain->depth = depth + 1;
	frame->begin_ns = bpf_ktime_get_ns();
	return 0;
}

SEC("kretprobe.multi")
int leave(void *ctx)
{
	__u64 now_ns = bpf_ktime_get_ns(), function = bpf_get_attach_cookie(ctx), took_ns;
	struct chain *chain = function == GATE ? NULL : find_chain();
	struct frame *frame;
	__u32 depth;

	if (!chain || function >= MAX_FUNCTIONS)
		return 0;
	depth = find_call(chain, function);
	if (!depth) {
		lost++;
		return 0;
	}
	lost += chain->depth - depth;
	frame = frame_at(chain, depth - 1);
	took_ns = now_ns - frame->begin_ns;
	chain->depth = depth - 1;
	spent[function].calls++;
	if (function != SLEEPER)
		spent[function].self_ns += took_ns - frame->called_ns;
	if (depth > 1)
		frame_at(chain, depth - 2)->called_ns += took_ns;
	return 0;
}

char LICENSE[] SEC("license") = "Dual MIT/GPL";
