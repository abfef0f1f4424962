// SPDX-License-Identifier: MIT
#include "scores.h"

#include <stdatomic.h>
#include <stdio.h>
#include <time.h>

static struct qemu_plugin_scoreboard *counter_score, *symbol_score;
static unsigned int nr_vcpus;
/* When each CPU has halted, 0 while it runs; and for how long it had been halted before. */
static _Atomic uint64_t halted_since[SCORES_MAX_VCPUS], halted_ns[SCORES_MAX_VCPUS];

bool scores_create(int vcpus)
{
	if (vcpus > SCORES_MAX_VCPUS) {
		fprintf(stderr, "counter: no more than %d CPUs can be counted\n", SCORES_MAX_VCPUS);
		return false;
	}
	nr_vcpus = (unsigned int)vcpus;
	counter_score = qemu_plugin_scoreboard_new(sizeof(struct counters));
	symbol_score = qemu_plugin_scoreboard_new(MAP_MAX_SYMBOLS * sizeof(uint64_t));
	return true;
}

unsigned int scores_vcpus(void)
{
	return nr_vcpus;
}

struct counters *scores_counters(unsigned int vcpu)
{
	return qemu_plugin_scoreboard_find(counter_score, vcpu);
}

static uint64_t now_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec;
}

struct counters scores_read(unsigned int vcpu)
{
	struct counters counters = *scores_counters(vcpu);
	uint64_t since = halted_since[vcpu], now = now_ns();

	counters.elapsed_ns = now;
	counters.busy_ns = (since ? since : now) - halted_ns[vcpu];
	return counters;
}

void scores_halt(unsigned int vcpu, bool halted)
{
	uint64_t now = now_ns(), since = atomic_exchange(&halted_since[vcpu], halted ? now : 0);

	if (since)
		halted_ns[vcpu] += now - since;
}

uint64_t *scores_symbols(unsigned int vcpu)
{
	return qemu_plugin_scoreboard_find(symbol_score, vcpu);
}

static void count(struct qemu_plugin_insn *insn, struct qemu_plugin_scoreboard *score,
		  size_t offset)
{
	qemu_plugin_u64 entry = { .score = score, .offset = offset };

	qemu_plugin_register_vcpu_insn_exec_inline_per_vcpu(insn, QEMU_PLUGIN_INLINE_ADD_U64, entry,
							    1);
}

void scores_count(struct qemu_plugin_insn *insn, size_t offset)
{
	count(insn, counter_score, offset);
}

void scores_count_stores(struct qemu_plugin_insn *insn, size_t offset, unsigned int bytes)
{
	qemu_plugin_u64 entry = { .score = counter_score, .offset = offset };

	qemu_plugin_register_vcpu_mem_inline_per_vcpu(insn, QEMU_PLUGIN_MEM_W,
						      QEMU_PLUGIN_INLINE_ADD_U64, entry, bytes);
}

void scores_count_symbol(struct qemu_plugin_insn *insn, size_t index)
{
	count(insn, symbol_score, index * sizeof(uint64_t));
}
