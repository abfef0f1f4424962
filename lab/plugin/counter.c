// SPDX-License-Identifier: MIT
/*
 * Counts the instructions that a guest executes between two markers, exactly.
 *
 * Every translated instruction gets two inline additions, one to its layer's
 * counter and one to its symbol's. They belong to the instruction, not to its
 * block, so a block that is left half way, by a fault or an interrupt, is
 * counted up to there. Where a symbol starts that matters, such as the context
 * switch, a third one counts the event.
 *
 * The symbols are known only once the guest runs, for modules anyway. So the
 * guest boots uncounted; a marker then makes the plugin read the map and
 * forget all translations. The same happens again after a module was loaded.
 *
 * Arguments: map=FILE (read at each MARKER_RELOAD), out=FILE.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../bench/marker.h"
#include "device.h"
#include "map.h"
#include "qemu_api.h"
#include "record.h"

/* Operations of a series that are also recorded by symbol. */
#define DETAILED_OPERATIONS      256
#define MARKER_INSN_BYTES        7
#define KERNEL_HALF              (1ull << 63)
/* Doorbells start here in the register window: submission, completion, ... */
#define NVME_DOORBELLS           0x1000
#define NVME_WINDOW_MASK         0x3fff
#define NVME_COMPLETION_DOORBELL 4

QEMU_API_EXPORT int qemu_plugin_version = QEMU_API_VERSION;
QEMU_API_EXPORT int qemu_plugin_install(qemu_plugin_id_t id, const qemu_info_t *info, int argc,
					char **argv);

static qemu_plugin_id_t plugin_id;
static const char *map_path;
static struct qemu_plugin_scoreboard *counter_score, *symbol_score;
static struct counters *counters;
static uint64_t *symbol_counts;

/* The operation that is being counted. */
static struct counters begin_counters;
static uint64_t begin_symbols[MAP_MAX_SYMBOLS];
static size_t operations;

static void count(struct qemu_plugin_insn *insn, struct qemu_plugin_scoreboard *score,
		  size_t offset)
{
	qemu_plugin_u64 entry = { .score = score, .offset = offset };

	qemu_plugin_register_vcpu_insn_exec_inline_per_vcpu(insn, QEMU_PLUGIN_INLINE_ADD_U64, entry,
							    1);
}

static void begin_operation(unsigned int vcpu, void *udata)
{
	(void)vcpu;
	(void)udata;
	if (operations < DETAILED_OPERATIONS)
		memcpy(begin_symbols, symbol_counts, map_size() * sizeof(*symbol_counts));
	begin_counters = *counters;
}

static void end_operation(unsigned int vcpu, void *udata)
{
	struct counters end = *counters;

	(void)vcpu;
	(void)udata;
	record_operation(&begin_counters, &end);
	if (operations++ < DETAILED_OPERATIONS)
		record_symbols(begin_symbols, symbol_counts, map_size());
}

static void begin_segment(unsigned int vcpu, void *udata)
{
	(void)vcpu;
	(void)udata;
	operations = 0;
	record_segment();
}

static void end_segment(unsigned int vcpu, void *udata)
{
	(void)vcpu;
	(void)udata;
	record_flush();
}

static void set_device_mode(unsigned int vcpu, void *udata)
{
	(void)vcpu;
	device_set_mode((enum device_mode)(uintptr_t)udata);
}

static void register_callbacks(qemu_plugin_id_t id);

static void reload(qemu_plugin_id_t id)
{
	if (!map_load(map_path))
		exit(EXIT_FAILURE);
	counters = qemu_plugin_scoreboard_find(counter_score, 0);
	symbol_counts = qemu_plugin_scoreboard_find(symbol_score, 0);
	register_callbacks(id);
}

static void ask_reload(unsigned int vcpu, void *udata)
{
	(void)vcpu;
	(void)udata;
	qemu_plugin_reset(plugin_id, reload);
}

static void *mode_argument(enum device_mode mode)
{
	return (void *)(uintptr_t)mode;
}

static void watch_marker(struct qemu_plugin_insn *insn, uint32_t kind)
{
	static const qemu_plugin_vcpu_udata_cb_t actions[MARKER_NR] = {
		[MARKER_BEGIN] = begin_operation,       [MARKER_END] = end_operation,
		[MARKER_RELOAD] = ask_reload,           [MARKER_SEGMENT] = begin_segment,
		[MARKER_SEGMENT_END] = end_segment,     [MARKER_DEVICE_FREE] = set_device_mode,
		[MARKER_DEVICE_LATE] = set_device_mode, [MARKER_DEVICE_STALL] = set_device_mode,
	};
	enum device_mode mode = kind == MARKER_DEVICE_LATE  ? DEVICE_LATE :
				kind == MARKER_DEVICE_STALL ? DEVICE_STALL :
							      DEVICE_FREE;

	if (kind < MARKER_NR && actions[kind])
		qemu_plugin_register_vcpu_insn_exec_cb(insn, actions[kind], QEMU_PLUGIN_CB_NO_REGS,
						       mode_argument(mode));
}

/* Return: the kind of marker that @insn is, 0 for any other instruction. */
static uint32_t marker_kind(const struct qemu_plugin_insn *insn)
{
	static const uint8_t nopl_disp32[] = { 0x0f, 0x1f, 0x80 };
	uint8_t bytes[MARKER_INSN_BYTES];
	uint32_t operand;

	if (qemu_plugin_insn_size(insn) != sizeof(bytes))
		return 0;
	qemu_plugin_insn_data(insn, bytes, sizeof(bytes));
	if (memcmp(bytes, nopl_disp32, sizeof(nopl_disp32)) != 0)
		return 0;
	memcpy(&operand, bytes + sizeof(nopl_disp32), sizeof(operand));
	if ((operand & MARKER_MAGIC_MASK) != MARKER_MAGIC)
		return 0;
	return operand & ~MARKER_MAGIC_MASK;
}

static void after_store(unsigned int vcpu, qemu_plugin_meminfo_t info, uint64_t vaddr, void *udata)
{
	struct qemu_plugin_hwaddr *hwaddr = qemu_plugin_get_hwaddr(info, vaddr);
	uint64_t offset;

	(void)vcpu;
	(void)udata;
	if (!hwaddr || !qemu_plugin_hwaddr_is_io(hwaddr) ||
	    strcmp(qemu_plugin_hwaddr_device_name(hwaddr), "nvme") != 0)
		return;
	offset = qemu_plugin_hwaddr_phys_addr(hwaddr) & NVME_WINDOW_MASK;
	if (offset < NVME_DOORBELLS)
		return;
	if (offset & NVME_COMPLETION_DOORBELL) {
		counters->cq_doorbells++;
		return;
	}
	counters->sq_doorbells++;
	if (!device_wait_done())
		counters->stalls_missed++;
}

static void watch_symbol(struct qemu_plugin_insn *insn, const struct map_symbol *symbol)
{
	bool entry = qemu_plugin_insn_vaddr(insn) == symbol->address;

	if (symbol->watch == WATCH_STORES)
		qemu_plugin_register_vcpu_mem_cb(insn, after_store, QEMU_PLUGIN_CB_NO_REGS,
						 QEMU_PLUGIN_MEM_W, NULL);
	else if (entry && symbol->watch == WATCH_IRQ)
		count(insn, counter_score, offsetof(struct counters, irqs));
	else if (entry && symbol->watch == WATCH_TICK)
		count(insn, counter_score, offsetof(struct counters, ticks));
	else if (entry && symbol->watch == WATCH_SWITCH)
		count(insn, counter_score, offsetof(struct counters, switches));
}

/* Layer 0 is user space; kernel code below the first symbol counts there too. */
static void count_insn(struct qemu_plugin_insn *insn)
{
	uint64_t address = qemu_plugin_insn_vaddr(insn);
	const struct map_symbol *symbol = NULL;
	size_t layer = 0;

	if (address >= KERNEL_HALF)
		symbol = map_find(address);
	if (symbol)
		layer = symbol->layer;
	count(insn, counter_score, offsetof(struct counters, layer) + layer * sizeof(uint64_t));
	if (!symbol)
		return;
	count(insn, symbol_score, map_index(symbol) * sizeof(uint64_t));
	watch_symbol(insn, symbol);
}

static void translate(qemu_plugin_id_t id, struct qemu_plugin_tb *tb)
{
	size_t nr_insns = qemu_plugin_tb_n_insns(tb);

	(void)id;
	for (size_t i = 0; i < nr_insns; i++) {
		struct qemu_plugin_insn *insn = qemu_plugin_tb_get_insn(tb, i);
		uint32_t kind = marker_kind(insn);

		if (kind)
			watch_marker(insn, kind);
		else if (map_size())
			count_insn(insn);
	}
}

static void vcpu_halts(qemu_plugin_id_t id, unsigned int vcpu)
{
	(void)id;
	(void)vcpu;
	device_set_idle(true);
}

static void vcpu_resumes(qemu_plugin_id_t id, unsigned int vcpu)
{
	(void)id;
	(void)vcpu;
	device_set_idle(false);
}

static void at_exit(qemu_plugin_id_t id, void *udata)
{
	(void)id;
	(void)udata;
	record_flush();
}

static void register_callbacks(qemu_plugin_id_t id)
{
	qemu_plugin_register_vcpu_tb_trans_cb(id, translate);
	qemu_plugin_register_vcpu_idle_cb(id, vcpu_halts);
	qemu_plugin_register_vcpu_resume_cb(id, vcpu_resumes);
	qemu_plugin_register_atexit_cb(id, at_exit, NULL);
}

static const char *argument(int argc, char **argv, const char *name)
{
	size_t len = strlen(name);

	for (int i = 0; i < argc; i++)
		if (!strncmp(argv[i], name, len) && argv[i][len] == '=')
			return argv[i] + len + 1;
	fprintf(stderr, "counter: the argument %s=FILE is missing\n", name);
	return NULL;
}

int qemu_plugin_install(qemu_plugin_id_t id, const qemu_info_t *info, int argc, char **argv)
{
	const char *out_path = argument(argc, argv, "out");

	plugin_id = id;
	map_path = argument(argc, argv, "map");
	if (!map_path || !out_path || !record_open(out_path))
		return -1;
	if (!info->system_emulation || info->system.max_vcpus != 1) {
		fprintf(stderr, "counter: needs a guest with one CPU\n");
		return -1;
	}
	if (!device_is_preloaded()) {
		fprintf(stderr, "counter: start QEMU with LD_PRELOAD set to "
				"this plugin as well\n");
		return -1;
	}
	counter_score = qemu_plugin_scoreboard_new(sizeof(struct counters));
	symbol_score = qemu_plugin_scoreboard_new(MAP_MAX_SYMBOLS * sizeof(uint64_t));
	register_callbacks(id);
	return 0;
}
