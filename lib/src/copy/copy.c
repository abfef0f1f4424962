// SPDX-License-Identifier: LGPL-2.1-or-later OR MIT
/*
 * The copy of bytes between an area and a file.
 *
 * A copy into an area fills a slot from the file and begins its transfer; when all slots are in
 * use, it waits for the oldest.  A copy out of an area lets all slots read ahead, and writes the
 * oldest to the file.
 */
#include <chario/copy.h>

#include "copy/run.h"
#include "copy/slots.h"

/**
 * struct ring - a copy that uses its slots in turn
 * @run: side of the caller and the file
 * @slots: side of the area
 * @begun: number of bytes whose transfer has begun
 */
struct ring {
	struct copy_run run;
	struct copy_slots slots;
	uint64_t begun;
};

/* Returns the number of bytes for the next slot. */
static size_t next_bytes(const struct ring *ring)
{
	uint64_t left = ring->run.copy->bytes - ring->begun;

	return left < ring->slots.slot_bytes ? (size_t)left : ring->slots.slot_bytes;
}

static int start(struct ring *ring, enum chario_copy_step step)
{
	size_t bytes = next_bytes(ring);
	int err = chario_slots_start(&ring->slots, ring->run.copy->offset + ring->begun, bytes);

	if (!err)
		ring->begun += bytes;
	return chario_run_judge(&ring->run, step, err);
}

/* into an area */

static int fill_next(struct ring *ring)
{
	int err = chario_run_read(&ring->run, chario_slots_next(&ring->slots), next_bytes(ring),
				  ring->run.copy->offset + ring->begun);

	return err || ring->run.stopped ? err : start(ring, CHARIO_COPY_WRITE);
}

static int finish_oldest(struct ring *ring)
{
	const struct copy_slot *slot;
	int err = chario_slots_wait(&ring->slots, &slot);

	if (err)
		return chario_run_judge(&ring->run, CHARIO_COPY_WRITE, err);
	ring->run.copy->written_bytes += slot->wanted;
	chario_slots_drop(&ring->slots);
	chario_run_tell(&ring->run);
	return 0;
}

/* Finish the pieces whose write has begun, unless a write has failed. */
static int drain(struct ring *ring, int err)
{
	while (ring->slots.used && ring->run.copy->step != CHARIO_COPY_WRITE) {
		int failed = finish_oldest(ring);

		if (failed)
			err = failed;
	}
	return err;
}

static int copy_in(struct ring *ring)
{
	int err = 0;

	while (!err && !ring->run.stopped && ring->begun < ring->run.copy->bytes)
		err = chario_slots_next(&ring->slots) ? fill_next(ring) : finish_oldest(ring);
	return drain(ring, err);
}

/* out of an area */

static int read_ahead(struct ring *ring)
{
	int err = 0;

	while (!err && ring->begun < ring->run.copy->bytes && chario_slots_next(&ring->slots))
		err = start(ring, CHARIO_COPY_READ);
	return err;
}

static int write_oldest(struct ring *ring)
{
	const struct copy_slot *slot;
	int err = chario_slots_wait(&ring->slots, &slot);

	if (err)
		return chario_run_judge(&ring->run, CHARIO_COPY_READ, err);
	ring->run.copy->read_bytes += slot->wanted;
	err = chario_run_write(&ring->run, slot->pool.memory, slot->wanted);
	chario_slots_drop(&ring->slots);
	return err;
}

static int copy_out(struct ring *ring)
{
	int err = 0;

	while (!err && !ring->run.stopped &&
	       ring->run.copy->written_bytes < ring->run.copy->bytes) {
		err = read_ahead(ring);
		if (!err)
			err = write_oldest(ring);
	}
	if (!err)
		chario_run_tell(&ring->run);
	return err;
}

/* both */

static int go_round(struct chario_area *area, int fd, struct chario_copy *copy,
		    enum chario_transfer_op op)
{
	struct ring ring = { .run = { .copy = copy, .fd = fd } };
	const bool writes = op == CHARIO_TRANSFER_WRITE;
	int err = chario_run_begin(&ring.run, area, writes);

	if (!err)
		err = chario_run_judge(&ring.run, CHARIO_COPY_START,
				       chario_slots_open(&ring.slots, area, op));
	if (!err) {
		err = writes ? copy_in(&ring) : copy_out(&ring);
		chario_slots_close(&ring.slots);
	}
	chario_run_end(&ring.run);
	return err ? err : ring.run.stopped;
}

int chario_copy_in(struct chario_area *area, int fd, struct chario_copy *copy)
{
	return go_round(area, fd, copy, CHARIO_TRANSFER_WRITE);
}

int chario_copy_out(struct chario_area *area, int fd, struct chario_copy *copy)
{
	return go_round(area, fd, copy, CHARIO_TRANSFER_READ);
}
