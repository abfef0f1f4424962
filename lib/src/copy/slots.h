/* SPDX-License-Identifier: LGPL-2.1-or-later OR MIT */
/*
 * Slots: buffers that go round, so that the disk works on some while a file fills or takes
 * another one.  The bytes lie in the memory that the drive reads or writes, and nowhere else.
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

/* Where locked memory is limited, less of it serves as well. */
#define COPY_LEAST_SLOTS 2U
#define COPY_LEAST_BYTES ((size_t)64 << 10)

/**
 * struct copy_slot - a buffer and its transfer
 * @pool: the buffer
 * @offset: of the transfer in the area
 * @wanted: bytes that were asked for
 * @bytes: of the transfer: @wanted, rounded up to whole blocks
 * @done: bytes that have been transferred
 * @err: negative errno with which the transfer has failed
 * @in_flight: the disk has the transfer
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
 * @queue: of the device of the store
 * @op: CHARIO_TRANSFER_READ or CHARIO_TRANSFER_WRITE
 * @slots: the ring
 * @slot_bytes: of each slot
 * @nr_slots: slots that have memory
 * @first: the oldest slot in use
 * @used: slots in use
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

/* Returns 0, or a negative errno, after which nothing is left open. */
int chario_slots_open(struct copy_slots *slots, const struct chario_area *area,
		      enum chario_transfer_op op);

/* Waits for the transfers in flight. */
void chario_slots_close(struct copy_slots *slots);

/* The memory of the next slot; NULL where all slots are in use. */
unsigned char *chario_slots_next(const struct copy_slots *slots);

/*
 * Begin the transfer of the next slot.  Zeroes fill up the last block of a write.  @offset is a
 * multiple of CHARIO_STORE_BLOCK; the blocks are inside the area.
 */
int chario_slots_start(struct copy_slots *slots, uint64_t offset, size_t bytes);

/* Wait for the oldest slot, which stays in use until it is dropped. */
int chario_slots_wait(struct copy_slots *slots, const struct copy_slot **slot);
void chario_slots_drop(struct copy_slots *slots);

#endif /* CHARIO_COPY_SLOTS_H */
