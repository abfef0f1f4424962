// SPDX-License-Identifier: LGPL-2.1-or-later OR MIT
/*
 * The slots of a copy, used in turn.
 *
 * The slots are used in a circle and waited for in the same order, so all bytes before the
 * oldest slot are done, in whatever order the disk works.  After an interrupted move an area
 * lies in two pieces; a transfer that crosses their border is made in two steps, as is the
 * rest of a transfer that was cut short.
 */
#include "copy/slots.h"

#include <errno.h>
#include <string.h>

#include "device/ops.h"
#include "system/sys.h"

#define PAUSE_MS 1

static void free_pools(struct copy_slots *slots)
{
	while (slots->nr_slots)
		chario_pool_destroy(&slots->slots[--slots->nr_slots].pool);
}

static int make_pools(struct copy_slots *slots)
{
	int err = 0;

	while (slots->nr_slots < COPY_SLOTS && !err) {
		err = chario_pool_create(&slots->slots[slots->nr_slots].pool,
					 slots->area->store->device, slots->slot_bytes, 0);
		if (!err)
			slots->nr_slots++;
	}
	return slots->nr_slots >= COPY_LEAST_SLOTS ? 0 : err;
}

static int have_pools(struct copy_slots *slots)
{
	int err;

	for (slots->slot_bytes = COPY_SLOT_BYTES;; slots->slot_bytes /= 2) {
		err = make_pools(slots);
		if (err != -ENOMEM || slots->slot_bytes <= COPY_LEAST_BYTES)
			return err;
		free_pools(slots);
	}
}

int chario_slots_open(struct copy_slots *slots, const struct chario_area *area,
		      enum chario_transfer_op op)
{
	int err;

	*slots = (struct copy_slots){ .area = area, .op = op };
	err = have_pools(slots);
	if (!err)
		err = chario_queue_open(area->store->device, COPY_SLOTS, 0, &slots->queue);
	if (err)
		chario_slots_close(slots);
	return err;
}

void chario_slots_close(struct copy_slots *slots)
{
	chario_queue_close(slots->queue);
	free_pools(slots);
}

static unsigned int next_slot(const struct copy_slots *slots)
{
	return (slots->first + slots->used) % slots->nr_slots;
}

unsigned char *chario_slots_next(const struct copy_slots *slots)
{
	if (slots->used == slots->nr_slots)
		return NULL;
	return slots->slots[next_slot(slots)].pool.memory;
}

static int submit(struct copy_slots *slots)
{
	int err;

	/* The kernel is out of memory for a moment; the queue keeps the transfer. */
	while ((err = chario_queue_submit(slots->queue)) == -EAGAIN || err == -ENOMEM)
		chario_sys.sleep_ms(PAUSE_MS);
	return err;
}

static int issue(struct copy_slots *slots, unsigned int number)
{
	struct copy_slot *slot = &slots->slots[number];
	struct chario_transfer transfer = {
		.op = (uint32_t)slots->op,
		.buffer = chario_buffer_id(slot->pool.buffer),
		.buffer_offset = slot->done,
	};
	uint64_t place = 0;
	int err;

	transfer.bytes = chario_area_place(slots->area, slot->offset + slot->done,
					   slot->bytes - slot->done, &place);
	transfer.disk_offset = place;
	err = chario_queue_add(slots->queue, &transfer, number);
	if (!err)
		err = submit(slots);
	slot->in_flight = !err;
	return err;
}

/*
 * Take the result of a transfer: a number of bytes, of which 0 is an error, or a negative errno.
 * After a result that is less than was asked for, the drive may still use the memory and the
 * disk: wait until it is done.
 */
static void settle(struct copy_slot *slot, int64_t result)
{
	slot->in_flight = false;
	chario_buffer_outlast(slot->pool.buffer, (ssize_t)result, slot->bytes - slot->done);
	if (result < 0)
		slot->err = (int)result;
	else if (!result || result % CHARIO_STORE_BLOCK)
		slot->err = -EIO;
	else
		slot->done += (size_t)result;
}

int chario_slots_start(struct copy_slots *slots, uint64_t offset, size_t bytes)
{
	unsigned int number = next_slot(slots);
	struct copy_slot *slot = &slots->slots[number];
	int err;

	slot->offset = offset;
	slot->wanted = bytes;
	slot->bytes = (size_t)chario_store_round_up(bytes, CHARIO_STORE_BLOCK);
	slot->done = 0;
	slot->err = 0;
	if (slots->op == CHARIO_TRANSFER_WRITE)
		memset(slot->pool.memory + bytes, 0, slot->bytes - bytes);
	err = chario_pool_give(&slot->pool, 0, slot->bytes);
	if (!err)
		err = issue(slots, number);
	if (!err)
		slots->used++;
	return err;
}

static int reap(struct copy_slots *slots)
{
	struct chario_queue_result results[COPY_SLOTS];
	int count = chario_queue_reap(slots->queue, results, COPY_SLOTS, -1), err = 0;

	for (int i = 0; i < count; i++) {
		struct copy_slot *slot = &slots->slots[results[i].user];

		settle(slot, results[i].result);
		/* The rest of a transfer that was cut short succeeds, or returns the error. */
		if (!slot->err && slot->done < slot->bytes && !err)
			err = issue(slots, (unsigned int)results[i].user);
	}
	return count < 0 ? count : err;
}

int chario_slots_wait(struct copy_slots *slots, const struct copy_slot **slot)
{
	const struct copy_slot *oldest = &slots->slots[slots->first];
	int err = 0;

	while (oldest->in_flight && !err)
		err = reap(slots);
	*slot = oldest;
	if (err || oldest->err)
		return err ? err : oldest->err;
	return slots->op == CHARIO_TRANSFER_READ ?
		       chario_pool_take(&oldest->pool, 0, oldest->bytes) :
		       0;
}

void chario_slots_drop(struct copy_slots *slots)
{
	slots->first = (slots->first + 1) % slots->nr_slots;
	slots->used--;
}
