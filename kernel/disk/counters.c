// SPDX-License-Identifier: GPL-2.0-only
/*
 * Counters: kept per CPU and per queue, and added up on request.
 */
#include <linux/cpumask.h>

#include "disk/disk.h"
#include "types/backend.h"
#include "types/queue.h"

/**
 * chario_counters_read() - add up the counters of a disk
 * @disk: the disk
 * @stats: the sums, filled in
 */
void chario_counters_read(const struct chario_disk *disk,
			  struct chario_stats *stats)
{
	unsigned int i;
	int cpu;

	memset(stats, 0, sizeof(*stats));
	stats->size = sizeof(*stats);
	for_each_possible_cpu(cpu) {
		const struct chario_counters *c;

		c = per_cpu_ptr(disk->counters, cpu);
		stats->read_commands += c->commands[CHARIO_OP_READ];
		stats->write_commands += c->commands[CHARIO_OP_WRITE];
		stats->flush_commands += c->commands[CHARIO_OP_FLUSH];
		stats->discard_commands += c->commands[CHARIO_OP_DISCARD];
		stats->write_zeroes_commands += c->commands[CHARIO_OP_WRITE_ZEROES];
		stats->read_bytes += c->bytes[CHARIO_OP_READ];
		stats->write_bytes += c->bytes[CHARIO_OP_WRITE];
		stats->discard_bytes += c->bytes[CHARIO_OP_DISCARD];
		stats->write_zeroes_bytes += c->bytes[CHARIO_OP_WRITE_ZEROES];
		stats->errors += c->errors;
		stats->timeouts += c->timeouts;
		stats->interrupted += c->interrupted;
	}
	for (i = 0; i < disk->drive->nr_queues; i++) {
		const struct chario_queue *q = disk->drive->queues[i];

		stats->sq_doorbells += q->sq_doorbells;
		stats->cq_doorbells += q->cq_doorbells;
		stats->interrupts += q->interrupts;
		stats->late_reaps += q->late_reaps;
	}
	stats->aborts = disk->drive->aborts;
	stats->resets = disk->drive->resets;
}
