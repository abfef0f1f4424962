// SPDX-License-Identifier: LGPL-2.1-or-later OR MIT
/* The properties and abilities of a plain file or a block device. */
#include "device/file.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/fs.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/sysmacros.h>

#include "system/sys.h"

/*
 * The demands of direct I/O where nothing reports them are those of the most demanding
 * drives: blocks of 4 KiB, memory aligned to 512 bytes.  Transfers through the page cache
 * have no demands; the library still keeps them to sectors, so that a file behaves alike on
 * all file systems.
 */
#define BLOCK_UNKNOWN     4096
#define ALIGNMENT_UNKNOWN 512
#define SECTOR            512

/* Linux usually allows this many commands in flight without waiting. */
#define DEPTH_USUAL 128

int chario_file_measure(int fd, const struct chario_file *file, uint64_t *capacity)
{
	struct stat status;
	uint64_t bytes;

	if (file->block) {
		if (ioctl(fd, BLKGETSIZE64, &bytes))
			return -errno;
	} else {
		if (fstat(fd, &status))
			return -errno;
		bytes = (uint64_t)status.st_size;
	}
	*capacity = bytes - bytes % file->rules.block_bytes;
	return 0;
}

static void align_as_block(int fd, struct chario_file *file)
{
	int bytes;

	if (file->block && !ioctl(fd, BLKSSZGET, &bytes) && bytes > 0)
		file->rules.block_bytes = (uint32_t)bytes;
}

static void align_through_cache(int fd, struct chario_file *file)
{
	file->rules.block_bytes = SECTOR;
	file->rules.alignment_bytes = 4;
	align_as_block(fd, file);
}

static void align_direct(int fd, struct chario_file *file, const struct statx *status)
{
	file->rules.block_bytes = BLOCK_UNKNOWN;
	file->rules.alignment_bytes = ALIGNMENT_UNKNOWN;
	align_as_block(fd, file);
	/* Linux before 6.1, and some file systems, do not report the demands of direct I/O. */
	if (!(status->stx_mask & STATX_DIOALIGN))
		return;
	file->rules.alignment_bytes = status->stx_dio_mem_align;
	if (!file->block)
		file->rules.block_bytes = status->stx_dio_offset_align;
}

/* Some files accept O_DIRECT and ignore it; a zero offset alignment tells. */
static bool is_direct(int fd, struct statx *status)
{
	int flags = fcntl(fd, F_GETFL);

	if (flags < 0 || !(flags & O_DIRECT))
		return false;
	if (statx(fd, "", AT_EMPTY_PATH, STATX_DIOALIGN, status))
		status->stx_mask = 0;
	if (!(status->stx_mask & STATX_DIOALIGN) || status->stx_dio_offset_align)
		return true;
	fcntl(fd, F_SETFL, flags & ~O_DIRECT);
	return false;
}

void chario_file_align(int fd, struct chario_file *file)
{
	struct statx status;

	if (is_direct(fd, &status))
		align_direct(fd, file, &status);
	else
		align_through_cache(fd, file);
}

bool chario_file_is_read_only(int fd, bool block)
{
	struct statvfs system;
	int read_only = 0;

	if (block)
		return !ioctl(fd, BLKROGET, &read_only) && read_only;
	return !fstatvfs(fd, &system) && (system.f_flag & ST_RDONLY);
}

/* Find the folder in sysfs of a whole block device; the folder of a partition is inside it. */
static void find_folder(char *folder, size_t size, dev_t number)
{
	const char *format = "/sys/dev/block/%u:%u";

	snprintf(folder, size, format, major(number), minor(number));
	if (chario_sys_exists("%s/partition", folder))
		chario_sys_copy(folder + strlen(folder), size - strlen(folder), "/..");
}

/* Transfers through the page cache stay in it, whatever the drive's own cache does. */
static bool is_cached(int fd, const char *folder)
{
	char cache[CHARIO_SYS_TEXT];
	int flags = fcntl(fd, F_GETFL);

	if (flags < 0 || !(flags & O_DIRECT))
		return true;
	return chario_sys_read(cache, sizeof(cache), "%s/queue/write_cache", folder) ||
	       strcmp(cache, "write through") != 0;
}

static void describe_block(int fd, dev_t number, struct chario_info *info)
{
	char folder[64];
	unsigned long long depth;
	unsigned int bytes;

	if (!ioctl(fd, BLKPBSZGET, &bytes))
		info->physical_block_bytes = bytes;
	find_folder(folder, sizeof(folder), number);
	/* The text of a missing attribute stays an empty string. */
	chario_sys_read(info->model, sizeof(info->model), "%s/device/model", folder);
	chario_sys_read(info->serial, sizeof(info->serial), "%s/device/serial", folder);
	chario_sys_read(info->firmware, sizeof(info->firmware), "%s/device/firmware_rev", folder);
	if (!is_cached(fd, folder))
		info->features &= ~CHARIO_FEATURE_WRITE_CACHE;
	if (!chario_sys_read_number(&depth, "%s/queue/nr_requests", folder) && depth <= UINT32_MAX)
		info->queue_depth = (uint32_t)depth;
}

/* Nothing here cuts a transfer: as far as the library knows, each is one command. */
static void describe(struct chario_info *info, const struct chario_file *file)
{
	info->features = CHARIO_FEATURE_FUA | CHARIO_FEATURE_WRITE_CACHE;
	info->logical_block_bytes = file->rules.block_bytes;
	info->physical_block_bytes = file->rules.block_bytes;
	info->dma_alignment_bytes = file->rules.alignment_bytes;
	info->command_bytes = CHARIO_TRANSFER_MAX;
	info->max_command_bytes = CHARIO_TRANSFER_MAX;
	info->chunk_bytes = CHARIO_TRANSFER_MAX;
	info->nr_queues = 1;
	info->queue_depth = DEPTH_USUAL;
	info->completion = CHARIO_COMPLETION_IRQ;
	chario_sys_copy(info->backend, sizeof(info->backend), file->block ? "block" : "file");
}

int chario_file_get_info(const struct chario_device *device, struct chario_info *info, size_t size)
{
	const struct chario_file *file = device->data;
	struct chario_info found = { .size = sizeof(found) };
	uint64_t capacity;
	int err = chario_file_measure(device->fd, file, &capacity);

	if (err)
		return err;
	describe(&found, file);
	found.capacity_bytes = capacity;
	if (chario_file_is_read_only(device->fd, file->block))
		found.features |= CHARIO_FEATURE_READ_ONLY;
	if (file->block)
		describe_block(device->fd, file->number, &found);
	return chario_sys_give(info, size, &found, sizeof(found), CHARIO_INFO_MIN);
}
