// SPDX-License-Identifier: MIT
/*
 * What a disk holds, as libblkid knows it.
 *
 * A character disk wants aligned reads, and libblkid reads as it likes: it is shown
 * a file in memory of the size of the disk, which is empty but for the first and the
 * last mebibytes, where all that it knows has its marks.
 */
#include "content.h"

#include <blkid/blkid.h>
#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include <chario/buffer.h>
#include <chario/device.h>

#define PIECE_BYTES ((uint64_t)1 << 20)

static int copy_piece(const struct chario_buffer *buffer, uint64_t offset, size_t bytes, int fd)
{
	ssize_t got = chario_buffer_read(buffer, 0, bytes, offset, 0);

	if (got < 0)
		return (int)got;
	if (pwrite(fd, chario_buffer_memory(buffer), (size_t)got, (off_t)offset) != got)
		return errno ? -errno : -EIO;
	return 0;
}

static int copy_ends(struct chario_device *device, int fd)
{
	struct chario_buffer *buffer;
	struct chario_info info;
	size_t bytes = PIECE_BYTES;
	int err = chario_device_get_info(device, &info, sizeof(info));

	if (err)
		return err;
	if (info.capacity_bytes < bytes)
		bytes = (size_t)info.capacity_bytes;
	if (ftruncate(fd, (off_t)info.capacity_bytes))
		return -errno;
	if (!bytes)
		return 0;
	err = chario_buffer_pool(device, PIECE_BYTES, 0, &buffer);
	if (err)
		return err;
	err = copy_piece(buffer, 0, bytes, fd);
	if (!err)
		err = copy_piece(buffer, info.capacity_bytes - bytes, bytes, fd);
	chario_buffer_free(buffer);
	return err;
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

static int examine(blkid_probe probe, int fd, char *text, size_t size)
{
	int ret;

	if (blkid_probe_set_device(probe, fd, 0, 0))
		return -EIO;
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

static int examine_copy(int fd, char *text, size_t size)
{
	blkid_probe probe = blkid_new_probe();
	int ret;

	if (!probe)
		return -ENOMEM;
	ret = examine(probe, fd, text, size);
	blkid_free_probe(probe);
	return ret;
}

int cli_find_content(const char *name, char *text, size_t size)
{
	struct chario_device *device;
	int fd, ret = chario_device_open_any(name, O_RDWR, &device);

	if (ret)
		return ret;
	fd = memfd_create("chario", MFD_CLOEXEC);
	ret = fd < 0 ? -errno : copy_ends(device, fd);
	if (!ret)
		ret = examine_copy(fd, text, size);
	if (fd >= 0)
		close(fd);
	chario_device_close(device);
	return ret;
}
