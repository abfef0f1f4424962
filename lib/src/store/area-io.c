// SPDX-License-Identifier: LGPL-2.1-or-later OR MIT
/* Input and output of an area: directly between disk and buffer, or through the bounce buffer. */
#include <errno.h>
#include <limits.h>
#include <string.h>

#include "device/ops.h"
#include "store/area-inner.h"

#define BOUNCE_BYTES ((size_t)1 << 20)

/* A shorter one also does, if the locked memory of the process is limited. */
#define BOUNCE_LEAST_BYTES ((size_t)64 << 10)

uint64_t chario_area_place(const struct chario_area *area, uint64_t offset, uint64_t bytes,
			   uint64_t *disk_offset)
{
	const struct store_fields *fields = &area->fields;
	uint64_t begin = fields->offset, end = fields->allocated_bytes;

	if (fields->flags & STORE_ENTRY_MOVING) {
		if (offset < fields->moved_bytes)
			end = fields->moved_bytes;
		else
			begin = fields->move_offset;
	}
	if (offset >= end)
		return 0;
	*disk_offset = begin + offset;
	return bytes < end - offset ? bytes : end - offset;
}

/* Move one piece of a transfer.  Returns bytes, 0 at the end, or a negative errno. */
static ssize_t move_piece(const struct chario_area *area, enum chario_transfer_op op,
			  const struct chario_buffer *buffer, uint64_t buffer_offset, size_t bytes,
			  uint64_t offset, unsigned int flags)
{
	uint64_t disk_offset;
	size_t piece = (size_t)chario_area_place(area, offset, bytes, &disk_offset);
	ssize_t moved;

	if (!piece)
		return 0;
	if (op == CHARIO_TRANSFER_WRITE)
		moved = chario_buffer_write(buffer, buffer_offset, piece, disk_offset, flags);
	else
		moved = chario_buffer_read(buffer, buffer_offset, piece, disk_offset, flags);
	return chario_buffer_outlast(buffer, moved, piece);
}

/* Make one transfer of the two pieces of an area that is being moved. */
static ssize_t move(const struct chario_area *area, enum chario_transfer_op op,
		    const struct chario_buffer *buffer, uint64_t buffer_offset, size_t bytes,
		    uint64_t offset, unsigned int flags)
{
	ssize_t first = move_piece(area, op, buffer, buffer_offset, bytes, offset, flags);
	ssize_t second;

	if (first <= 0 || (size_t)first == bytes || !(area->fields.flags & STORE_ENTRY_MOVING))
		return first;
	second = move_piece(area, op, buffer, buffer_offset + (size_t)first, bytes - (size_t)first,
			    offset + (size_t)first, flags);
	return second < 0 ? first : first + second;
}

ssize_t chario_area_read_buffer(struct chario_area *area, const struct chario_buffer *buffer,
				uint64_t buffer_offset, size_t bytes, uint64_t offset,
				unsigned int flags)
{
	if (!chario_pool_is_ours(&area->store->pool))
		return -EPERM;
	return move(area, CHARIO_TRANSFER_READ, buffer, buffer_offset, bytes, offset, flags);
}

ssize_t chario_area_write_buffer(struct chario_area *area, const struct chario_buffer *buffer,
				 uint64_t buffer_offset, size_t bytes, uint64_t offset,
				 unsigned int flags)
{
	ssize_t moved;

	if (!chario_pool_is_ours(&area->store->pool))
		return -EPERM;
	if (area->use == AREA_READ)
		return -EROFS;
	moved = move(area, CHARIO_TRANSFER_WRITE, buffer, buffer_offset, bytes, offset, flags);
	return moved || !bytes ? moved : -ENOSPC;
}

/**
 * struct window - the blocks of an area that the bounce buffer holds
 * @offset: offset of the first block in the area, in bytes
 * @bytes: bytes of all blocks
 * @skip: bytes of the first block that the caller does not want
 * @wanted: bytes that the caller wants
 */
struct window {
	uint64_t offset;
	size_t bytes;
	size_t skip;
	size_t wanted;
};

static struct window window_at(const struct chario_area *area, uint64_t offset, size_t bytes)
{
	struct window window = {
		.skip = offset % CHARIO_STORE_BLOCK,
	};
	size_t whole;

	window.offset = offset - window.skip;
	window.wanted = chario_buffer_bytes(area->bounce.buffer) - window.skip;
	window.wanted = MIN(window.wanted, bytes);
	whole = window.skip + window.wanted + CHARIO_STORE_BLOCK - 1;
	window.bytes = whole / CHARIO_STORE_BLOCK * CHARIO_STORE_BLOCK;
	return window;
}

/* Read @bytes of the window, from @at on. */
static int fetch(struct chario_area *area, const struct window *window, size_t at, size_t bytes)
{
	const struct chario_pool *bounce = &area->bounce;
	int err = chario_pool_give(bounce, at, bytes);

	if (!err)
		err = chario_pool_judge(chario_area_read_buffer(area, bounce->buffer, at, bytes,
								window->offset + at, 0),
					bytes);
	return err ? err : chario_pool_take(bounce, at, bytes);
}

/* moves the bytes of a window that are wanted, to memory or from it */
typedef int move_window(struct chario_area *area, const struct window *window,
			unsigned char *memory);

static int read_window(struct chario_area *area, const struct window *window, unsigned char *memory)
{
	const unsigned char *bounce = area->bounce.memory;
	int err = fetch(area, window, 0, window->bytes);

	if (!err)
		memcpy(memory, bounce + window->skip, window->wanted);
	return err;
}

/* Read the first and the last block, unless they are written whole. */
static int fetch_edges(struct chario_area *area, const struct window *window)
{
	size_t last = window->bytes - CHARIO_STORE_BLOCK;
	bool head = window->skip;
	bool tail = window->skip + window->wanted < window->bytes;
	int err = 0;

	if (head)
		err = fetch(area, window, 0, CHARIO_STORE_BLOCK);
	if (!err && tail && (last || !head))
		err = fetch(area, window, last, CHARIO_STORE_BLOCK);
	return err;
}

static int write_window(struct chario_area *area, const struct window *window,
			unsigned char *memory)
{
	const struct chario_pool *bounce = &area->bounce;
	int err = fetch_edges(area, window);

	if (err)
		return err;
	memcpy(bounce->memory + window->skip, memory, window->wanted);
	err = chario_pool_give(bounce, 0, window->bytes);
	if (err)
		return err;
	return chario_pool_judge(chario_area_write_buffer(area, bounce->buffer, 0, window->bytes,
							  window->offset, 0),
				 window->bytes);
}

static int have_bounce(struct chario_area *area)
{
	if (!chario_pool_is_ours(&area->store->pool))
		return -EPERM;
	if (area->bounce.buffer)
		return 0;
	for (size_t bytes = BOUNCE_BYTES;; bytes /= 2) {
		int err = chario_pool_create(&area->bounce, area->store->device, bytes, 0);

		if (err != -ENOMEM || bytes <= BOUNCE_LEAST_BYTES)
			return err;
	}
}

/* Move bytes from @offset on, as far as the area goes, a window at a time. */
static ssize_t move_windows(struct chario_area *area, unsigned char *memory, size_t bytes,
			    uint64_t offset, move_window *move_one)
{
	size_t done = 0;
	int err;

	if (bytes > area->fields.bytes - offset)
		bytes = (size_t)(area->fields.bytes - offset);
	bytes = MIN(bytes, SSIZE_MAX);
	pthread_mutex_lock(&area->mutex);
	err = have_bounce(area);
	while (done < bytes && !err) {
		struct window window = window_at(area, offset + done, bytes - done);

		err = move_one(area, &window, memory + done);
		if (!err)
			done += window.wanted;
	}
	pthread_mutex_unlock(&area->mutex);
	return done ? (ssize_t)done : err;
}

ssize_t chario_area_read(struct chario_area *area, void *memory, size_t bytes, uint64_t offset)
{
	if (offset >= area->fields.bytes)
		return 0;
	return move_windows(area, memory, bytes, offset, read_window);
}

ssize_t chario_area_write(struct chario_area *area, const void *memory, size_t bytes,
			  uint64_t offset)
{
	if (area->use == AREA_READ)
		return -EROFS;
	if (!bytes)
		return 0;
	if (offset >= area->fields.bytes)
		return -ENOSPC;
	/* write_window() only reads from memory. */
	return move_windows(area, (unsigned char *)memory, bytes, offset, write_window);
}

int chario_area_sync(struct chario_area *area)
{
	return chario_pool_is_ours(&area->store->pool) ? chario_store_sync(area->store) : -EPERM;
}
