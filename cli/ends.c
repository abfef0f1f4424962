// SPDX-License-Identifier: MIT
/* The two ends of a disk as a file in memory, see ends.h. */
#include "ends.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#include <chario/buffer.h>
#include <chario/device.h>
#include <chario/store.h>

#define PIECE_BYTES ((uint64_t)4 << 20)
#define PAUSE_NS    1000000L

/*
 * Wait until the drive is done with a transfer that was cut short: until its recovery has
 * ended, the drive may still read or write the memory and the disk.  A first interrupt does
 * not end the wait, a second one ends the program.
 */
static void outlast(const struct chario_buffer *buffer)
{
	const struct timespec pause = { .tv_nsec = PAUSE_NS };

	while (chario_buffer_sync(buffer, 0, 0, CHARIO_SYNC_IDLE) == -EBUSY)
		nanosleep(&pause, NULL);
}

/* Returns the bytes read, which may be fewer than asked, or a negative errno. */
static ssize_t read_piece(const struct chario_buffer *buffer, uint64_t offset, size_t bytes)
{
	ssize_t got = chario_buffer_read(buffer, 0, bytes, offset, 0);

	if (got < 0 || (size_t)got < bytes)
		outlast(buffer);
	return got;
}

static int copy_piece(const struct chario_buffer *buffer, uint64_t offset, size_t bytes,
		      const struct cli_ends *ends)
{
	const void *memory = chario_buffer_memory(buffer);
	ssize_t got = read_piece(buffer, offset, bytes);

	if (got < 0)
		return (int)got;
	if (pwrite(ends->fd, memory, (size_t)got, (off_t)offset) != got ||
	    pwrite(ends->read, memory, (size_t)got, (off_t)offset) != got)
		return errno ? -errno : -EIO;
	return 0;
}

static int write_block(const struct chario_buffer *buffer, uint64_t at, uint64_t offset)
{
	ssize_t put = chario_buffer_write(buffer, at, CHARIO_STORE_BLOCK, offset + at,
					  CHARIO_TRANSFER_FUA);

	if (put == CHARIO_STORE_BLOCK)
		return 0;
	outlast(buffer);
	return put < 0 ? (int)put : -EIO;
}

/*
 * Restore one block of a piece, whose present content is in the buffer.  The block is
 * written only if its user has changed it and no other program has: the store is already
 * there, and others may use it.
 */
static int restore_block(const struct chario_buffer *buffer, uint64_t at, uint64_t offset,
			 const struct cli_ends *ends)
{
	unsigned char *memory = (unsigned char *)chario_buffer_memory(buffer) + at;
	unsigned char block[CHARIO_STORE_BLOCK], read[CHARIO_STORE_BLOCK];

	if (pread(ends->fd, block, sizeof(block), (off_t)(offset + at)) != sizeof(block) ||
	    pread(ends->read, read, sizeof(read), (off_t)(offset + at)) != sizeof(read))
		return -EIO;
	if (!memcmp(block, read, sizeof(block)) || memcmp(memory, read, sizeof(read)) != 0)
		return 0;
	memcpy(memory, block, sizeof(block));
	return write_block(buffer, at, offset);
}

/* Write changes of the file back to the disk. */
static int restore_piece(const struct chario_buffer *buffer, uint64_t offset, size_t bytes,
			 const struct cli_ends *ends)
{
	ssize_t got = read_piece(buffer, offset, bytes);
	int err = got < 0 ? (int)got : 0;

	for (uint64_t at = 0; !err && at + CHARIO_STORE_BLOCK <= (uint64_t)got;
	     at += CHARIO_STORE_BLOCK)
		err = restore_block(buffer, at, offset, ends);
	return err;
}

typedef int piece_mover(const struct chario_buffer *buffer, uint64_t offset, size_t bytes,
			const struct cli_ends *ends);

/* Move the first and the last piece of a disk; both begin at a block of a store. */
static int move_ends(const struct cli_ends *ends, piece_mover *move)
{
	struct chario_buffer *buffer;
	uint64_t last = 0;
	size_t bytes = PIECE_BYTES;
	int err;

	if (ends->bytes > bytes)
		last = (ends->bytes - bytes) / CHARIO_STORE_BLOCK * CHARIO_STORE_BLOCK;
	else
		bytes = (size_t)ends->bytes;
	if (!bytes)
		return 0;
	err = chario_buffer_pool(ends->device, PIECE_BYTES + CHARIO_STORE_BLOCK, 0, &buffer);
	if (err)
		return err;
	err = move(buffer, 0, bytes, ends);
	if (!err)
		err = move(buffer, last, (size_t)(ends->bytes - last), ends);
	chario_buffer_free(buffer);
	return err;
}

/* Make a file in memory.  Returns a descriptor or a negative errno. */
static int make_file(uint64_t bytes)
{
	int err, fd = memfd_create("chario", MFD_CLOEXEC);

	if (fd < 0 || !ftruncate(fd, (off_t)bytes))
		return fd < 0 ? -errno : fd;
	err = -errno;
	close(fd);
	return err;
}

int cli_open_ends(struct cli_ends *ends, const char *name, int flags)
{
	struct chario_info info;
	int err;

	*ends = (struct cli_ends){ .fd = -1, .read = -1 };
	err = chario_device_open_any(name, flags, &ends->device);
	if (!err)
		err = chario_device_get_info(ends->device, &info, sizeof(info));
	if (err)
		return err;
	ends->bytes = info.capacity_bytes;
	ends->block_bytes = info.logical_block_bytes;
	ends->fd = make_file(ends->bytes);
	ends->read = make_file(ends->bytes);
	if (ends->fd < 0)
		return ends->fd;
	if (ends->read < 0)
		return ends->read;
	return move_ends(ends, copy_piece);
}

int cli_restore_ends(const struct cli_ends *ends)
{
	return move_ends(ends, restore_piece);
}

void cli_close_ends(const struct cli_ends *ends)
{
	if (ends->fd >= 0)
		close(ends->fd);
	if (ends->read >= 0)
		close(ends->read);
	chario_device_close(ends->device);
}
