// SPDX-License-Identifier: LGPL-2.1-or-later OR MIT
/*
 * Copying between an area and a file.
 *
 * Into an area, a slot is filled from the file, its transfer begins, and when all slots are in
 * use the oldest is waited for.  Out of an area, all slots read ahead, and the oldest is written
 * to the file.
 */
#include <chario/copy.h>

#include <errno.h>
#include <unistd.h>

#include "copy/slots.h"

/**
 * struct run - a copy under way
 * @copy: the caller's
 * @fd: the file
 * @slots: of the area
 * @begun: bytes whose transfer has begun
 * @stopped: the callback has ended the copy with this; 0 while it has not
 */
struct run {
	struct chario_copy *copy;
	int fd;
	struct copy_slots slots;
	uint64_t begun;
	int stopped;
};

/* An error of a step; 0 is none. */
static int judge(const struct run *run, enum chario_copy_step step, int err)
{
	if (err)
		run->copy->step = step;
	return err;
}

/* Tell how far the copy is; whether the callback has ended it, now or before. */
static bool tell(struct run *run)
{
	const struct chario_copy *copy = run->copy;

	if (copy->progress && !run->stopped)
		run->stopped = copy->progress(copy->written_bytes, copy->bytes, copy->data);
	return run->stopped;
}

/* The bytes of the next slot. */
static size_t next_bytes(const struct run *run)
{
	uint64_t left = run->copy->bytes - run->begun;

	return left < run->slots.slot_bytes ? (size_t)left : run->slots.slot_bytes;
}

static int start(struct run *run, enum chario_copy_step step)
{
	size_t bytes = next_bytes(run);
	int err = chario_slots_start(&run->slots, run->copy->offset + run->begun, bytes);

	if (!err)
		run->begun += bytes;
	return judge(run, step, err);
}

/* into an area */

static ssize_t read_once(const struct run *run, unsigned char *memory, size_t bytes,
			 uint64_t offset)
{
	ssize_t got = run->copy->flags & CHARIO_COPY_SAME_OFFSET ?
			      pread(run->fd, memory, bytes, (off_t)offset) :
			      read(run->fd, memory, bytes);

	return got < 0 ? -errno : got;
}

/* Fill memory from the file.  Returns 0 also where the copy has been ended before. */
static int read_all(struct run *run, unsigned char *memory, size_t bytes, uint64_t offset)
{
	size_t done = 0;

	while (done < bytes && !tell(run)) {
		ssize_t got = read_once(run, memory + done, bytes - done, offset + done);

		if (got == -EINTR)
			continue;
		if (got < 0)
			return judge(run, CHARIO_COPY_FILE, (int)got);
		/* A signal that ends the writer of a pipe may be meant for the reader, too. */
		if (!got)
			return tell(run) ? 0 : judge(run, CHARIO_COPY_END, -ENODATA);
		done += (size_t)got;
		run->copy->read_bytes += (uint64_t)got;
	}
	return 0;
}

static int fill_next(struct run *run)
{
	int err = read_all(run, chario_slots_next(&run->slots), next_bytes(run),
			   run->copy->offset + run->begun);

	return err || run->stopped ? err : start(run, CHARIO_COPY_WRITE);
}

static int finish_oldest(struct run *run)
{
	const struct copy_slot *slot;
	int err = chario_slots_wait(&run->slots, &slot);

	if (err)
		return judge(run, CHARIO_COPY_WRITE, err);
	run->copy->written_bytes += slot->wanted;
	chario_slots_drop(&run->slots);
	tell(run);
	return 0;
}

/* Pieces that have been begun are written, unless it is writing that has failed. */
static int drain(struct run *run, int err)
{
	while (run->slots.used && run->copy->step != CHARIO_COPY_WRITE) {
		int failed = finish_oldest(run);

		if (failed)
			err = failed;
	}
	return err;
}

static int copy_in(struct run *run)
{
	int err = 0;

	while (!err && !run->stopped && run->begun < run->copy->bytes)
		err = chario_slots_next(&run->slots) ? fill_next(run) : finish_oldest(run);
	return drain(run, err);
}

/* out of an area */

static int read_ahead(struct run *run)
{
	int err = 0;

	while (!err && run->begun < run->copy->bytes && chario_slots_next(&run->slots))
		err = start(run, CHARIO_COPY_READ);
	return err;
}

/* Returns 0 also where the copy has been ended before. */
static int write_all(struct run *run, const unsigned char *memory, size_t bytes)
{
	while (bytes && !tell(run)) {
		ssize_t put = write(run->fd, memory, bytes);

		if (put < 0 && errno == EINTR)
			continue;
		if (put < 0)
			return judge(run, CHARIO_COPY_FILE, -errno);
		memory += put;
		bytes -= (size_t)put;
		run->copy->written_bytes += (uint64_t)put;
	}
	return 0;
}

static int write_oldest(struct run *run)
{
	const struct copy_slot *slot;
	int err = chario_slots_wait(&run->slots, &slot);

	if (err)
		return judge(run, CHARIO_COPY_READ, err);
	run->copy->read_bytes += slot->wanted;
	err = write_all(run, slot->pool.memory, slot->wanted);
	chario_slots_drop(&run->slots);
	return err;
}

static int copy_out(struct run *run)
{
	int err = 0;

	while (!err && !run->stopped && run->copy->written_bytes < run->copy->bytes) {
		err = read_ahead(run);
		if (!err)
			err = write_oldest(run);
	}
	if (!err)
		tell(run);
	return err;
}

/* both */

static int check(const struct chario_area *area, const struct chario_copy *copy,
		 enum chario_transfer_op op)
{
	const bool writes = op == CHARIO_TRANSFER_WRITE;
	uint64_t bytes = area->fields.bytes;
	int err = chario_pool_check(&area->store->pool);

	if (err)
		return err;
	if (writes && area->use == AREA_READ)
		return -EROFS;
	if (copy->flags & ~(writes ? CHARIO_COPY_SAME_OFFSET : 0) ||
	    copy->offset % CHARIO_STORE_BLOCK || copy->offset > bytes ||
	    copy->bytes > bytes - copy->offset)
		return -EINVAL;
	/* The rest of a block that is not the last one would be lost. */
	if (writes && copy->bytes % CHARIO_STORE_BLOCK && copy->bytes != bytes - copy->offset)
		return -EINVAL;
	return 0;
}

static int run_copy(struct chario_area *area, int fd, struct chario_copy *copy,
		    enum chario_transfer_op op)
{
	struct run run = { .copy = copy, .fd = fd };
	int err;

	if (copy->size < sizeof(*copy))
		return -EINVAL;
	copy->step = CHARIO_COPY_DONE;
	copy->reserved = 0;
	copy->read_bytes = copy->written_bytes = 0;
	err = check(area, copy, op);
	if (!err)
		err = chario_slots_open(&run.slots, area, op);
	if (err)
		return judge(&run, CHARIO_COPY_START, err);
	err = op == CHARIO_TRANSFER_WRITE ? copy_in(&run) : copy_out(&run);
	chario_slots_close(&run.slots);
	return err ? err : run.stopped;
}

int chario_copy_in(struct chario_area *area, int fd, struct chario_copy *copy)
{
	return run_copy(area, fd, copy, CHARIO_TRANSFER_WRITE);
}

int chario_copy_out(struct chario_area *area, int fd, struct chario_copy *copy)
{
	return run_copy(area, fd, copy, CHARIO_TRANSFER_READ);
}
