/* SPDX-License-Identifier: MIT */
/*
 * What each virtual CPU has executed since the guest started: its counters, and
 * its instructions by symbol. They only ever grow.
 */
#ifndef CHARIO_SCORES_H
#define CHARIO_SCORES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "map.h"
#include "qemu_api.h"

/* QEMU allocates the counters of this many CPUs at once and does not move them. */
#define SCORES_MAX_VCPUS 16

struct counters {
	uint64_t layer[MAP_MAX_LAYERS];
	uint64_t irqs;
	uint64_t ticks;
	uint64_t switches;
	uint64_t sq_doorbells;
	uint64_t cq_doorbells;
	uint64_t stalls_missed; /* STALL gave up: the device was not awaited */
	uint64_t copied_bytes; /* stored by movs, and by functions that copy */
	uint64_t cleared_bytes; /* stored by stos, and by functions that fill */
	/* By the host's clock, of scores_read(); who emulates may be held up by others. */
	uint64_t busy_ns; /* in which the CPU was not halted */
	uint64_t elapsed_ns;
};

/* scores_create() - false and a message when @vcpus are more than there is room for. */
bool scores_create(int vcpus);

/* scores_vcpus() - number of virtual CPUs. */
unsigned int scores_vcpus(void);

/* scores_counters() - the counters of @vcpu, which may be running. */
struct counters *scores_counters(unsigned int vcpu);

/* scores_read() - the counters of @vcpu now, with its times. */
struct counters scores_read(unsigned int vcpu);

/* scores_halt() - @vcpu halts, or goes on. */
void scores_halt(unsigned int vcpu, bool halted);

/* scores_symbols() - the instructions of @vcpu by the number of the symbol. */
uint64_t *scores_symbols(unsigned int vcpu);

/* scores_count() - each time @insn is executed, add one at @offset in struct counters. */
void scores_count(struct qemu_plugin_insn *insn, size_t offset);

/* scores_count_stores() - each time @insn stores, add @bytes at @offset in struct counters. */
void scores_count_stores(struct qemu_plugin_insn *insn, size_t offset, unsigned int bytes);

/* scores_count_symbol() - each time @insn is executed, add one to symbol @index. */
void scores_count_symbol(struct qemu_plugin_insn *insn, size_t index);

#endif
