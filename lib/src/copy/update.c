// SPDX-License-Identifier: LGPL-2.1-or-later OR MIT
/*
 * The update of an area.
 *
 * A part of the area is loaded as a view, compared with the same part of the file, corrected in
 * memory, and flushed; then comes the next part.  The part of the file is read before the part
 * of the area is changed, so each block is the old or the new one, wherever an update ends.
 */
#include <chario/copy.h>
#include <chario/view.h>

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "copy/run.h"
#include "copy/slots.h"

#define BLOCK ((size_t)CHARIO_STORE_BLOCK)

/**
 * struct update - an update under way
 * @run: side of the caller and the file
 * @area: area, open for writing
 * @pool: buffer into which a part of the area is loaded
 * @fresh: memory for the same part of the file
 * @part_bytes: length of @pool and of @fresh
 */
struct update {
	struct copy_run run;
	struct chario_area *area;
	struct chario_pool pool;
	unsigned char *fresh;
	size_t part_bytes;
};

/* Correct a part in memory, block by block. */
static void correct(const struct update *update, struct chario_view *view, size_t bytes)
{
	for (size_t at = 0; at < bytes; at += BLOCK) {
		size_t length = MIN(BLOCK, bytes - at);

		if (!memcmp(update->pool.memory + at, update->fresh + at, length))
			continue;
		memcpy(update->pool.memory + at, update->fresh + at, length);
		chario_view_mark(view, at, length);
	}
}

static int write_part(struct update *update, uint64_t offset, size_t bytes)
{
	struct chario_view *view;
	uint64_t written;
	int err = chario_view_load(update->area, offset, bytes, update->pool.buffer, 0,
				   CHARIO_TRACKING_MARKS, &view);

	if (err)
		return chario_run_judge(&update->run, CHARIO_COPY_READ, err);
	correct(update, view, bytes);
	err = chario_view_flush(view, 0, &written);
	update->run.copy->changed_bytes += written;
	chario_view_unload(view, 0);
	if (!err)
		update->run.copy->written_bytes += bytes;
	return chario_run_judge(&update->run, CHARIO_COPY_WRITE, err);
}

static int update_part(struct update *update)
{
	uint64_t left = update->run.copy->bytes - update->run.copy->written_bytes;
	uint64_t offset = update->run.copy->offset + update->run.copy->written_bytes;
	size_t bytes = left < update->part_bytes ? (size_t)left : update->part_bytes;
	int err = chario_run_read(&update->run, update->fresh, bytes, offset);

	if (!err && !update->run.stopped)
		err = write_part(update, offset, bytes);
	if (!err)
		chario_run_tell(&update->run);
	return err;
}

static int update_all(struct update *update)
{
	int err = 0;

	while (!err && !update->run.stopped &&
	       update->run.copy->written_bytes < update->run.copy->bytes)
		err = update_part(update);
	return err;
}

/* The memory for the file is aligned to blocks, because the file may be a disk. */
static int make_memory(struct update *update)
{
	int err;

	for (update->part_bytes = COPY_SLOT_BYTES;; update->part_bytes /= 2) {
		err = chario_pool_create(&update->pool, update->area->store->device,
					 update->part_bytes, 0);
		if (err != -ENOMEM || update->part_bytes <= COPY_LEAST_BYTES)
			break;
	}
	if (err)
		return err;
	update->fresh = aligned_alloc(BLOCK, update->part_bytes);
	return update->fresh ? 0 : -ENOMEM;
}

int chario_copy_update(struct chario_area *area, int fd, struct chario_copy *copy)
{
	struct update update = { .run = { .copy = copy, .fd = fd }, .area = area };
	int err = chario_run_begin(&update.run, area, true);

	if (!err)
		err = chario_run_judge(&update.run, CHARIO_COPY_START, make_memory(&update));
	if (!err)
		err = update_all(&update);
	chario_run_end(&update.run);
	free(update.fresh);
	chario_pool_destroy(&update.pool);
	return err ? err : update.run.stopped;
}
