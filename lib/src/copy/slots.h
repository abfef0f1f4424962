/* SPDX-License-Identifier: LGPL-2.1-or-later OR MIT */
/*
 * Slots: buffers that are used in turn, so that the disk works on some while a file fills or
 * takes another one.  The drive reads or writes these buffers itself; there is no other copy
 * of the bytes in memory.
 */
#ifndef CHARIO_COPY_SLOTS_H
#define CHARIO_COPY_SLOTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <chario/queue.h>

#include "store/area-inner.h"

#define COPY_SLOTS      4U
#define COPY_SLOT_BYTES ((size_t)4 << 20)

/* Fewer and shorter slots also do, if the locked memory of the process is limited. */
#define COPY_LEAST_SLOTS 2U
#define COPY_LEAST_BYTES ((size_t)64 << 10)

/**
 * struct copy_slot - a buffer and its transfer
 * @pool: buffer
 * @offset: offset of the transfer in the area
 * @wanted: number of bytes that were asked for
 * @bytes: length of the transfer: @wanted, rounded up to whole blocks
 * @done: number of bytes that have been transferred
 * @err: negative errno with which the transfer has failed, or 0
 * @in_flight: true while the disk has the transfer
 */
struct copy_slot {
	struct chario_pool pool;
	uint64_t offset;
	size_t wanted;
	size_t bytes;
	size_t done;
	int err;
	bool in_flight;
};

/**
 * struct copy_slots - the slots of one area
 * @area: the area, which its caller keeps open
 * @queue: queue of the device of the store
 * @op: CHARIO_TRANSFER_READ or CHARIO_TRANSFER_WRITE
 * @slots: slots, used as a ring
 * @slot_bytes: length of each slot
 * @nr_slots: number of slots that have memory
 * @first: index of the oldest slot in use
 * @used: number of slots in use
 */
struct copy_slots {
	const struct chario_area *area;
	struct chario_queue *queue;
	enum chario_transfer_op op;
	struct copy_slot slots[COPY_SLOTS];
	size_t slot_bytes;
	unsigned int nr_slots;
	unsigned int first;
	unsigned int used;
};

/* Get memory and a queue.  Returns 0, or a negative errno, after which nothing is left open. */
int chario_slots_open(struct copy_slots *slots, const struct chario_area *area,
		      enum chario_transfer_op op);

/* Wait for the transfers in flight, and free all. */
void chario_slots_close(struct copy_slots *slots);

/* Returns the memory of the next slot; NULL if all slots are in use. */
unsigned char *chario_slots_next(const struct copy_slots *slots);

/*
 * Begin the transfer of the next slot.  Zeroes fill up the last block of a write.  @offset is a
 * multiple of CHARIO_STORE_BLOCK; the blocks are inside the area.  Returns 0 or a negative errno.
 */
int chario_slots_start(struct copy_slots *slots, uint64_t offset, size_t bytes);

/*
 * Wait for the oldest slot, which stays in use until it is dropped.  Returns 0 or a negative
 * errno.
 */
int chario_slots_wait(struct copy_slots *slots, const struct copy_slot **slot);
void chario_slots_drop(struct copy_slots *slots);

#endif /* CHARIO_COPY_SLOTS_H */
