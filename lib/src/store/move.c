// SPDX-License-Identifier: LGPL-2.1-or-later OR MIT
/*
 * Move an area, so that a power cut at any moment loses nothing.
 *
 * The table records the new place of the area, its old place, and the number of bytes, from
 * its start, that have been moved.  That number grows only after the bytes it counts are
 * durable.  An area may slide over itself towards the start of the disk and so overwrite
 * its old place.  Bytes that the table does not count yet must not be overwritten, so each
 * step copies at most the distance of the move.
 *
 * If a block cannot be read at the old place or written at the new one, the move is taken
 * back: the same steps in the opposite order copy the moved bytes to the old place, and the
 * number falls after the bytes are durable there.  So nothing takes the place of a block
 * that cannot be read, and the area is in one piece again.
 */
#include "store/move.h"

#include <errno.h>
#include <stdlib.h>

#include "device/ops.h"

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
			return chario_pool_is_damage(moved) ? -EIO : chario_store_blame(moved);
		if (!moved || moved % CHARIO_STORE_BLOCK)
			return -EIO;
		from += (uint64_t)moved;
		to += (uint64_t)moved;
		bytes -= (uint64_t)moved;
	}
	return 0;
}

static uint64_t step_bytes(const struct store_fields *fields, bool is_back)
{
	uint64_t rest = is_back ? fields->moved_bytes :
				  fields->allocated_bytes - fields->moved_bytes;
	/* A move away from the start of the disk never overlaps: the distance wraps, and is no limit. */
	uint64_t distance = fields->move_offset - fields->offset;
	uint64_t step = STEP_BYTES;

	if (distance < step)
		step = distance;
	return rest < step ? rest : step;
}

/* Leave the area in one piece. */
static void complete(struct store_fields *fields, uint64_t offset)
{
	fields->flags &= ~STORE_ENTRY_MOVING;
	fields->offset = offset;
	fields->move_offset = 0;
	fields->moved_bytes = 0;
	fields->changed_ns = chario_store_now();
}

/*
 * Add @bytes to the table's count or, if the move is taken back, subtract them.  Returns
 * -EUCLEAN if the area has been lost meanwhile.
 */
static int count(struct chario_store *store, uint64_t slot, uint64_t bytes, bool is_back)
{
	const struct store_item *item;
	struct store_entry entry;
	int err = chario_change_begin(store);

	if (err)
		return err;
	STORE_CHANGED(store);
	item = store->index.slots[slot];
	if (!item)
		return -EUCLEAN;
	chario_change_copy(item, &entry);
	entry.fields.moved_bytes += is_back ? -bytes : bytes;
	if (is_back && !entry.fields.moved_bytes)
		complete(&entry.fields, entry.fields.move_offset);
	else if (!is_back && entry.fields.moved_bytes == entry.fields.allocated_bytes)
		complete(&entry.fields, entry.fields.offset);
	return chario_change_entry(store, slot, &entry);
}

/* Copy the next bytes, or those that have been moved last to their old place. */
static int copy_step(const struct store_fields *fields, bool is_back, struct chario_buffer *buffer,
		     uint64_t bytes)
{
	uint64_t at = fields->moved_bytes;

	if (is_back)
		return copy(buffer, fields->offset + at - bytes, fields->move_offset + at - bytes,
			    bytes);
	return copy(buffer, fields->move_offset + at, fields->offset + at, bytes);
}

static int report(struct store_move *move, uint64_t bytes, bool is_back)
{
	/* Nothing of an area counts that returns to its old place. */
	move->done_bytes = is_back ? move->first_bytes : move->done_bytes + bytes;
	/* Other areas may have been closed meanwhile, or may take a longer way. */
	move->total_bytes = MAX(move->total_bytes, move->done_bytes);
	return move->progress ? move->progress(move->done_bytes, move->total_bytes, move->data) : 0;
}

static int step(struct store_move *move, struct chario_buffer *buffer,
		const struct store_fields *fields)
{
	bool is_back = move->course == MOVE_BACK;
	uint64_t bytes = step_bytes(fields, is_back);
	int err = copy_step(fields, is_back, buffer, bytes);

	if (err == -EIO) {
		move->course = is_back ? MOVE_STUCK : MOVE_BACK;
		return 0;
	}
	if (!err)
		err = chario_store_sync(move->store);
	if (!err)
		err = count(move->store, move->slot, bytes, is_back);
	return err ? err : report(move, bytes, is_back);
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
	move->course = MOVE_FORTH;
	move->first_bytes = move->done_bytes;
	ret = look(move->store, move->slot, &fields);
	while (!ret && fields.flags & STORE_ENTRY_MOVING && move->course != MOVE_STUCK) {
		ret = step(move, buffer, &fields);
		if (!ret)
			ret = look(move->store, move->slot, &fields);
	}
	chario_buffer_free(buffer);
	return ret;
}
