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
 * A string instruction with a rep prefix is one instruction, whatever it moves.
 * It counts again where the processor takes it up again: after a page fault in
 * its middle, and in QEMU also after each 65,536th of its iterations. The bytes
 * that it moves are counted by its stores, each of which happens once.
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
#include "operation.h"
#include "points.h"
#include "qemu_api.h"
#include "record.h"
#include "scores.h"
#include "strings.h"

#define MARKER_INSN_BYTES        7
#define KERNEL_HALF              (1ull << 63)
/* NVMe: doorbells start here in the register window: submission, completion, ... */
#define NVME_DOORBELLS           0x1000
#define NVME_WINDOW_MASK         0x3fff
#define NVME_COMPLETION_DOORBELL 4
/* AHCI: each port has a register by which commands are issued. */
#define AHCI_PORTS               0x100
#define AHCI_WINDOW_MASK         0xfff
#define AHCI_PORT_MASK           0x7f
#define AHCI_COMMAND_ISSUE       0x38

QEMU_API_EXPORT int qemu_plugin_version = QEMU_API_VERSION;
QEMU_API_EXPORT int qemu_plugin_install(qemu_plugin_id_t id, const qemu_info_t *info, int argc,
					char **argv);

static qemu_plugin_id_t plugin_id;
static const char *map_path;

static void begin_operation(unsigned int vcpu, void *udata)
{
	operation_begin(vcpu);
}

static void end_operation(unsigned int vcpu, void *udata)
{
	operation_end(vcpu);
}

static void begin_segment(unsigned int vcpu, void *udata)
{
	operation_begin_series();
}

static void end_segment(unsigned int vcpu, void *udata)
{
	operation_end_series();
}

static void set_device_mode(unsigned int vcpu, void *udata)
{
	device_set_mode((enum device_mode)(uintptr_t)udata, vcpu);
}

static void register_callbacks(qemu_plugin_id_t id);

static void reload(qemu_plugin_id_t id)
{
	if (!map_load(map_path))
		exit(EXIT_FAILURE);
	register_callbacks(id);
}

static void ask_reload(unsigned int vcpu, void *udata)
{
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

enum doorbell { DOORBELL_NONE, DOORBELL_SUBMISSION, DOORBELL_COMPLETION };

static enum doorbell find_doorbell(const char *device, uint64_t address)
{
	uint64_t nvme = address & NVME_WINDOW_MASK, ahci = address & AHCI_WINDOW_MASK;

	if (!strcmp(device, "nvme") && nvme >= NVME_DOORBELLS)
		return nvme & NVME_COMPLETION_DOORBELL ? DOORBELL_COMPLETION : DOORBELL_SUBMISSION;
	if (!strcmp(device, "ahci") && ahci >= AHCI_PORTS &&
	    (ahci & AHCI_PORT_MASK) == AHCI_COMMAND_ISSUE)
		return DOORBELL_SUBMISSION;
	return DOORBELL_NONE;
}

static void after_store(unsigned int vcpu, qemu_plugin_meminfo_t info, uint64_t vaddr, void *udata)
{
	struct qemu_plugin_hwaddr *hwaddr = qemu_plugin_get_hwaddr(info, vaddr);
	struct counters *counters = scores_counters(vcpu);
	enum doorbell doorbell;

	if (!hwaddr || !qemu_plugin_hwaddr_is_io(hwaddr))
		return;
	doorbell = find_doorbell(qemu_plugin_hwaddr_device_name(hwaddr),
				 qemu_plugin_hwaddr_phys_addr(hwaddr));
	counters->cq_doorbells += doorbell == DOORBELL_COMPLETION;
	if (doorbell != DOORBELL_SUBMISSION)
		return;
	counters->sq_doorbells++;
	operation_reach(vcpu, POINT_DOORBELL);
	if (!device_rung(vcpu))
		counters->stalls_missed++;
}

static void after_copy(unsigned int vcpu, qemu_plugin_meminfo_t info, uint64_t vaddr, void *udata)
{
	uint64_t *bytes = (uint64_t *)((char *)scores_counters(vcpu) + (size_t)udata);

	*bytes += 1ull << qemu_plugin_mem_size_shift(info);
}

/* Count the bytes that @insn copies or fills memory with; @symbol is NULL in user space. */
static void count_bytes(struct qemu_plugin_insn *insn, const struct map_symbol *symbol)
{
	size_t copied = offsetof(struct counters, copied_bytes);
	size_t cleared = offsetof(struct counters, cleared_bytes);
	enum watch watch = symbol ? symbol->watch : WATCH_NONE;
	unsigned int bytes;
	enum string_kind kind = string_kind(insn, &bytes);

	if (kind != STRING_NONE)
		scores_count_stores(insn, kind == STRING_MOVS ? copied : cleared, bytes);
	else if (watch == WATCH_COPY || watch == WATCH_FILL)
		qemu_plugin_register_vcpu_mem_cb(insn, after_copy, QEMU_PLUGIN_CB_NO_REGS,
						 QEMU_PLUGIN_MEM_W,
						 (void *)(watch == WATCH_COPY ? copied : cleared));
}

static void reach_point(unsigned int vcpu, void *udata)
{
	operation_reach(vcpu, (unsigned int)(uintptr_t)udata);
}

static void watch_symbol(struct qemu_plugin_insn *insn, const struct map_symbol *symbol)
{
	bool entry = qemu_plugin_insn_vaddr(insn) == symbol->address;

	if (symbol->watch == WATCH_STORES)
		qemu_plugin_register_vcpu_mem_cb(insn, after_store, QEMU_PLUGIN_CB_NO_REGS,
						 QEMU_PLUGIN_MEM_W, NULL);
	else if (entry && symbol->watch == WATCH_IRQ)
		scores_count(insn, offsetof(struct counters, irqs));
	else if (entry && symbol->watch == WATCH_TICK)
		scores_count(insn, offsetof(struct counters, ticks));
	else if (entry && symbol->watch == WATCH_SWITCH)
		scores_count(insn, offsetof(struct counters, switches));
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
	/* Before the instruction is counted: the point lies before it. */
	if (symbol && symbol->point && symbol->address == address)
		qemu_plugin_register_vcpu_insn_exec_cb(insn, reach_point, QEMU_PLUGIN_CB_NO_REGS,
						       (void *)(uintptr_t)symbol->point);
	scores_count(insn, offsetof(struct counters, layer) + layer * sizeof(uint64_t));
	count_bytes(insn, symbol);
	if (!symbol)
		return;
	scores_count_symbol(insn, map_index(symbol));
	watch_symbol(insn, symbol);
}

static void translate(qemu_plugin_id_t id, struct qemu_plugin_tb *tb)
{
	size_t nr_insns = qemu_plugin_tb_n_insns(tb);

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
	device_set_idle(vcpu, true);
	scores_halt(vcpu, true);
}

static void vcpu_resumes(qemu_plugin_id_t id, unsigned int vcpu)
{
	device_set_idle(vcpu, false);
	scores_halt(vcpu, false);
	operation_reach(vcpu, POINT_WAKE);
}

static void at_exit(qemu_plugin_id_t id, void *udata)
{
	operation_end_series();
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
	if (!info->system_emulation || !scores_create(info->system.max_vcpus))
		return -1;
	if (!device_is_preloaded()) {
		fprintf(stderr, "counter: start QEMU with LD_PRELOAD set to "
				"this plugin as well\n");
		return -1;
	}
	register_callbacks(id);
	return 0;
}
