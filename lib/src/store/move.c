// SPDX-License-Identifier: LGPL-2.1-or-later OR MIT
/*
 * Move an area, so that a power cut at any moment loses nothing.
 *
 * The table records the new place of the area, its old place, and the number of bytes, from
 * its start, that have been moved.  That number grows only after the bytes it counts are
 * durable.  An area may slide over itself towards the start of the disk and so overwrite
 * its old place.  Bytes that the table does not count yet must not be overwritten, so each
 * step copies at most the distance of the move.
 */
#include <errno.h>
#include <stdlib.h>

#include "device/ops.h"
#include "store/inner.h"

#define COPY_BYTES ((size_t)4 << 20)

/* A shorter buffer also does, if the locked memory of the process is limited. */
#define COPY_LEAST_BYTES ((size_t)64 << 10)

/* Bytes between two updates of the table, unless a short distance asks for fewer. */
#define STEP_BYTES (64ULL << 20)

int chario_move_begin(struct chario_store *store, uint64_t slot, uint64_t offset)
{
	struct store_entry entry;

	chario_change_copy(store->index.slots[slot], &entry);
	entry.fields.flags |= STORE_ENTRY_MOVING;
	entry.fields.move_offset = entry.fields.offset;
	entry.fields.moved_bytes = 0;
	entry.fields.offset = offset;
	return chario_change_entry(store, slot, &entry);
}

static int copy(struct chario_buffer *buffer, uint64_t from, uint64_t to, uint64_t bytes)
{
	while (bytes) {
		size_t part = (size_t)MIN(bytes, chario_buffer_bytes(buffer));
		ssize_t moved = chario_buffer_outlast(
			buffer, chario_buffer_read(buffer, 0, part, from, 0), part);

		if (moved > 0)
			moved = chario_buffer_outlast(
				buffer, chario_buffer_write(buffer, 0, (size_t)moved, to, 0),
				(size_t)moved);
		if (moved < 0)
			return chario_store_blame(moved);
		if (!moved || moved % CHARIO_STORE_BLOCK)
			return -EIO;
		from += (uint64_t)moved;
		to += (uint64_t)moved;
		bytes -= (uint64_t)moved;
	}
	return 0;
}

static uint64_t step_bytes(const struct store_fields *fields)
{
	uint64_t rest = fields->allocated_bytes - fields->moved_bytes;
	uint64_t distance = fields->move_offset > fields->offset ?
				    fields->move_offset - fields->offset :
				    fields->offset - fields->move_offset;
	uint64_t step = STEP_BYTES;

	/* Where the places have nothing in common, the distance is no less than the rest. */
	if (distance < step)
		step = distance;
	return rest < step ? rest : step;
}

/* Add @bytes to the table's count; a move that is complete leaves the area in one piece. */
static int count(struct chario_store *store, uint64_t slot, uint64_t bytes)
{
	struct store_entry entry;
	int err = chario_change_begin(store);

	if (err)
		return err;
	STORE_CHANGED(store);
	chario_change_copy(store->index.slots[slot], &entry);
	entry.fields.moved_bytes += bytes;
	if (entry.fields.moved_bytes == entry.fields.allocated_bytes) {
		entry.fields.flags &= ~STORE_ENTRY_MOVING;
		entry.fields.move_offset = 0;
		entry.fields.moved_bytes = 0;
		entry.fields.changed_ns = chario_store_now();
	}
	return chario_change_entry(store, slot, &entry);
}

static int step(struct store_move *move, struct chario_buffer *buffer,
		const struct store_fields *fields)
{
	uint64_t bytes = step_bytes(fields);
	int err = copy(buffer, fields->move_offset + fields->moved_bytes,
		       fields->offset + fields->moved_bytes, bytes);

	if (!err)
		err = chario_store_sync(move->store);
	if (!err)
		err = count(move->store, move->slot, bytes);
	if (err)
		return err;
	move->done_bytes += bytes;
	/* Other areas may have been closed meanwhile, or may take a longer way. */
	move->total_bytes = MAX(move->total_bytes, move->done_bytes);
	return move->progress ? move->progress(move->done_bytes, move->total_bytes, move->data) : 0;
}

/* Read the area's entry again.  Returns -EUCLEAN if the area has been lost meanwhile. */
static int look(struct chario_store *store, uint64_t slot, struct store_fields *fields)
{
	const struct store_item *item;
	int err = chario_store_enter(store);

	if (err)
		return err;
	CHARIO_HELD(&store->mutex);
	item = store->index.slots[slot];
	if (!item)
		return -EUCLEAN;
	*fields = item->fields;
	return 0;
}

/* The CPU never accesses the bytes, so they need no syncing. */
static int make_buffer(struct chario_device *device, struct chario_buffer **buffer)
{
	size_t bytes = COPY_BYTES;
	int err;

	do
		err = chario_buffer_pool(device, bytes, CHARIO_BUFFER_STREAMING, buffer);
	while (err == -ENOMEM && (bytes /= 2) >= COPY_LEAST_BYTES);
	return err;
}

int chario_move_run(struct store_move *move)
{
	struct chario_buffer *buffer;
	struct store_fields fields;
	int ret = make_buffer(move->store->device, &buffer);

	if (ret)
		return ret;
	ret = look(move->store, move->slot, &fields);
	while (!ret && fields.flags & STORE_ENTRY_MOVING) {
		ret = step(move, buffer, &fields);
		if (!ret)
			ret = look(move->store, move->slot, &fields);
	}
	chario_buffer_free(buffer);
	return ret;
}
