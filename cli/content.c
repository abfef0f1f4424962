// SPDX-License-Identifier: MIT
/*
 * The content of a disk, as libblkid sees it.
 *
 * A character disk needs aligned reads, but libblkid reads at any place.  So libblkid gets
 * a file in memory with the size of the disk, which is empty except for the first and the
 * last mebibytes; all marks that libblkid knows are there.  Blocks that libblkid wipes in
 * the file are written back to the disk.
 */
#include "content.h"

#include <blkid/blkid.h>
#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
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

/* Largest number of marks on a disk; some formats have several. */
#define MOST_MARKS 64

/**
 * struct ends - a disk, and two files in memory, of its size, that hold its two ends
 * @device: the disk
 * @bytes: capacity of the disk in bytes
 * @probe: probe of libblkid for @fd
 * @fd: descriptor of the file that libblkid reads and wipes
 * @read: descriptor of the file that keeps the ends as they were read from the disk
 */
struct ends {
	struct chario_device *device;
	uint64_t bytes;
	blkid_probe probe;
	int fd;
	int read;
};

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
		      const struct ends *ends)
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
 * written only if libblkid has changed it and no other program has: the store is already
 * there, and others may use it.
 */
static int restore_block(const struct chario_buffer *buffer, uint64_t at, uint64_t offset,
			 const struct ends *ends)
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
			 const struct ends *ends)
{
	ssize_t got = read_piece(buffer, offset, bytes);
	int err = got < 0 ? (int)got : 0;

	for (uint64_t at = 0; !err && at + CHARIO_STORE_BLOCK <= (uint64_t)got;
	     at += CHARIO_STORE_BLOCK)
		err = restore_block(buffer, at, offset, ends);
	return err;
}

typedef int piece_mover(const struct chario_buffer *buffer, uint64_t offset, size_t bytes,
			const struct ends *ends);

/* Move the first and the last piece of a disk; both begin at a block of a store. */
static int move_ends(const struct ends *ends, piece_mover *move)
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

static void close_ends(const struct ends *ends)
{
	blkid_free_probe(ends->probe);
	if (ends->fd >= 0)
		close(ends->fd);
	if (ends->read >= 0)
		close(ends->read);
	chario_device_close(ends->device);
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

/* Returns 0 or a negative errno; the caller closes @ends in any case. */
static int open_ends(const char *name, struct ends *ends)
{
	struct chario_info info;
	int err;

	*ends = (struct ends){ .fd = -1, .read = -1 };
	err = chario_device_open_any(name, O_RDWR, &ends->device);
	if (!err)
		err = chario_device_get_info(ends->device, &info, sizeof(info));
	if (err)
		return err;
	ends->bytes = info.capacity_bytes;
	ends->fd = make_file(ends->bytes);
	ends->read = make_file(ends->bytes);
	if (ends->fd < 0)
		return ends->fd;
	if (ends->read < 0)
		return ends->read;
	err = move_ends(ends, copy_piece);
	if (err)
		return err;
	ends->probe = blkid_new_probe();
	if (!ends->probe)
		return -ENOMEM;
	return blkid_probe_set_device(ends->probe, ends->fd, 0, 0) ? -EIO : 0;
}

static void describe(blkid_probe probe, char *text, size_t size)
{
	const char *type = NULL, *usage = NULL, *what = "something";

	if (!blkid_probe_lookup_value(probe, "TYPE", &type, NULL)) {
		blkid_probe_lookup_value(probe, "USAGE", &usage, NULL);
		if (usage && !strcmp(usage, "filesystem"))
			what = "a file system";
		else if (usage && !strcmp(usage, "raid"))
			what = "a part of a RAID or LVM";
		else if (usage && !strcmp(usage, "crypto"))
			what = "an encrypted volume";
	} else if (!blkid_probe_lookup_value(probe, "PTTYPE", &type, NULL)) {
		what = "a partition table";
	}
	snprintf(text, size, "%s (%s)", what, type ? type : "of an unknown kind");
}

static int examine(blkid_probe probe, char *text, size_t size)
{
	int ret;

	blkid_probe_enable_superblocks(probe, 1);
	blkid_probe_set_superblocks_flags(probe, BLKID_SUBLKS_TYPE | BLKID_SUBLKS_USAGE);
	blkid_probe_enable_partitions(probe, 1);
	ret = blkid_do_safeprobe(probe);
	if (ret == 1)
		return 0;
	if (ret == 0)
		describe(probe, text, size);
	else
		snprintf(text, size, "several things, or nothing that can be told apart");
	return 1;
}

/* Wipe marks until libblkid finds no more, as wipefs --all does. */
static int wipe(blkid_probe probe)
{
	int ret = 0;

	blkid_probe_enable_superblocks(probe, 1);
	blkid_probe_set_superblocks_flags(probe, BLKID_SUBLKS_MAGIC | BLKID_SUBLKS_BADCSUM);
	blkid_probe_enable_partitions(probe, 1);
	blkid_probe_set_partitions_flags(probe, BLKID_PARTS_MAGIC | BLKID_PARTS_FORCE_GPT);
	for (int i = 0; !ret && i < MOST_MARKS && !blkid_do_probe(probe); i++)
		ret = blkid_do_wipe(probe, 0) ? -EIO : 0;
	return ret;
}

int cli_find_content(const char *name, char *text, size_t size)
{
	struct ends ends;
	int ret = open_ends(name, &ends);

	if (!ret)
		ret = examine(ends.probe, text, size);
	close_ends(&ends);
	return ret;
}

int cli_wipe_content(const char *name)
{
	struct ends ends;
	int err = open_ends(name, &ends);

	if (!err)
		err = wipe(ends.probe);
	if (!err)
		err = move_ends(&ends, restore_piece);
	close_ends(&ends);
	return err;
}
