// SPDX-License-Identifier: MIT
#include "log-device.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "log-inner.h"
#include "system/sys.h"

/* splitmix64, by Sebastiano Vigna, in the public domain. */
uint64_t log_random(uint64_t *state)
{
	uint64_t z = *state += 0x9e3779b97f4a7c15ULL;

	z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ULL;
	z = (z ^ (z >> 27)) * 0x94d049bb133111ebULL;
	return z ^ (z >> 31);
}

uint64_t log_below(uint64_t *state, uint64_t limit)
{
	return log_random(state) % limit;
}

/* the disk */

struct log_disk *log_disk_create(uint64_t bytes, uint32_t block_bytes)
{
	struct log_disk *disk = log_must(calloc(1, sizeof(*disk)));
	int fd;

	disk->bytes = bytes;
	disk->block_bytes = block_bytes;
	disk->alignment_bytes = 4;
	disk->has_spare = true;
	log_disk_heal(disk);
	pthread_mutex_init(&disk->mutex, NULL);
	pthread_cond_init(&disk->changed, NULL);
	strcpy(disk->path, "/tmp/chario-disk-XXXXXX");
	disk->image = calloc(1, bytes);
	fd = disk->image ? mkstemp(disk->path) : -1;
	if (fd < 0) {
		log_disk_destroy(disk);
		return NULL;
	}
	close(fd);
	return disk;
}

static void forget(struct log_disk *disk)
{
	for (size_t i = 0; i < disk->nr_entries; i++)
		free(disk->entries[i].data);
	free(disk->entries);
	disk->entries = NULL;
	disk->nr_entries = disk->max_entries = 0;
	free(disk->before);
	disk->before = NULL;
}

void log_disk_destroy(struct log_disk *disk)
{
	if (!disk)
		return;
	forget(disk);
	log_spare_free(disk);
	unlink(disk->path);
	pthread_cond_destroy(&disk->changed);
	pthread_mutex_destroy(&disk->mutex);
	free(disk->image);
	free(disk);
}

/* recording */

void log_disk_record(struct log_disk *disk)
{
	forget(disk);
	disk->before = log_must(malloc(disk->bytes));
	memcpy(disk->before, disk->image, disk->bytes);
	disk->recording = true;
}

size_t log_disk_nr_entries(struct log_disk *disk)
{
	size_t count;

	pthread_mutex_lock(&disk->mutex);
	count = disk->nr_entries;
	pthread_mutex_unlock(&disk->mutex);
	return count;
}

static void make_room(struct log_disk *disk)
{
	if (disk->nr_entries < disk->max_entries)
		return;
	disk->max_entries = disk->max_entries ? 2 * disk->max_entries : 256;
	disk->entries =
		log_must(reallocarray(disk->entries, disk->max_entries, sizeof(*disk->entries)));
}

static void remember(struct log_disk *disk, const struct log_entry *entry, const void *data)
{
	struct log_entry *kept;

	if (!disk->recording)
		return;
	make_room(disk);
	kept = &disk->entries[disk->nr_entries++];
	*kept = *entry;
	if (entry->bytes) {
		kept->data = log_must(malloc(entry->bytes));
		memcpy(kept->data, data, entry->bytes);
	}
	if (disk->slow_one_in)
		pthread_cond_broadcast(&disk->changed);
}

/* devices on it */

static int get_info(const struct chario_device *device, struct chario_info *info, size_t size)
{
	const struct log_file *file = device->data;
	const struct log_disk *disk = file->disk;
	struct chario_info found = {
		.size = sizeof(found),
		.features = CHARIO_FEATURE_FUA | (disk->uncached ? 0 : CHARIO_FEATURE_WRITE_CACHE),
		.capacity_bytes = disk->bytes,
		.logical_block_bytes = disk->block_bytes,
		.physical_block_bytes = disk->block_bytes,
		.dma_alignment_bytes = disk->alignment_bytes,
		.command_bytes = CHARIO_TRANSFER_MAX,
		.max_command_bytes = CHARIO_TRANSFER_MAX,
		.chunk_bytes = CHARIO_TRANSFER_MAX,
		.nr_queues = 1,
		.queue_depth = 1,
		.backend = "log",
	};
	int err = log_use(device);

	return err ? err : chario_sys_give(info, size, &found, sizeof(found), CHARIO_INFO_MIN);
}

/* Wait until the write may go on; 0, or the error that it ends with. */
static int begin_write(struct log_disk *disk, uint64_t offset, const void *data, size_t bytes)
{
	log_wait_locked(disk, offset);
	log_dawdle_locked(disk);
	if (!log_fails_locked(disk, &disk->faults.write))
		return 0;
	log_leave_locked(disk, offset, data, bytes);
	return disk->faults.error;
}

static ssize_t write_bytes(struct log_disk *disk, const struct chario_transfer *transfer,
			   const void *data, size_t bytes)
{
	bool fua = transfer->flags & CHARIO_TRANSFER_FUA;
	struct log_entry entry = {
		.offset = transfer->disk_offset,
		.bytes = bytes,
		.durable = fua || disk->uncached,
		.begun = disk->nr_entries,
	};
	int err;

	disk->nr_writes++;
	disk->nr_flushes += fua;
	err = begin_write(disk, entry.offset, data, bytes);
	if (err)
		return err;
	memcpy(disk->image + entry.offset, data, bytes);
	log_renew_locked(disk, entry.offset, bytes);
	remember(disk, &entry, data);
	return (ssize_t)bytes;
}

/* Who reads on and on would never come back to be asked why. */
static void count_read(struct log_disk *disk)
{
	disk->nr_reads++;
	if (!disk->most_reads || disk->nr_reads <= disk->most_reads)
		return;
	printf("# a call reads on and on\n");
	fflush(stdout);
	abort();
}

static ssize_t read_bytes(struct log_disk *disk, const struct chario_transfer *transfer, void *data,
			  size_t bytes)
{
	count_read(disk);
	if (log_fails_locked(disk, &disk->faults.read) ||
	    log_is_bad_locked(disk, transfer->disk_offset, bytes))
		return disk->faults.error;
	memcpy(data, disk->image + transfer->disk_offset, bytes);
	return (ssize_t)bytes;
}

static ssize_t flush(struct log_disk *disk)
{
	const struct log_entry entry = { .durable = true, .begun = disk->nr_entries };

	disk->nr_flushes++;
	log_dawdle_locked(disk);
	if (log_fails_locked(disk, &disk->faults.write) ||
	    log_fails_locked(disk, &disk->faults.flush))
		return disk->faults.error;
	remember(disk, &entry, NULL);
	return 0;
}

static ssize_t run(struct log_disk *disk, const struct chario_transfer *transfer, void *at,
		   ssize_t bytes)
{
	ssize_t ret;

	pthread_mutex_lock(&disk->mutex);
	if (transfer->op == CHARIO_TRANSFER_FLUSH)
		ret = flush(disk);
	else if (transfer->op == CHARIO_TRANSFER_WRITE)
		ret = write_bytes(disk, transfer, at, (size_t)bytes);
	else
		ret = read_bytes(disk, transfer, at, (size_t)bytes);
	pthread_mutex_unlock(&disk->mutex);
	return ret;
}

static ssize_t transfer(const struct chario_device *device, struct chario_transfer *transfer)
{
	struct log_file *file = device->data;
	ssize_t ret = log_use(device) ?: chario_transfer_check(transfer, &file->rules);
	void *at;

	if (ret || transfer->op == CHARIO_TRANSFER_FLUSH)
		return ret ? ret : run(file->disk, transfer, NULL, 0);
	ret = chario_transfer_clip(transfer, file->disk->bytes);
	if (ret <= 0)
		return ret;
	ret = chario_memory_get(device, transfer, &at) ?: ret;
	if (ret < 0)
		return ret;
	ret = run(file->disk, transfer, at, ret);
	chario_memory_put(device, transfer);
	return ret;
}

static void close_file(struct chario_device *device)
{
	free(device->data);
}

static const struct chario_device_ops ops = {
	.get_info = get_info,
	.create_buffer = log_buffer_create,
	.free_buffer = log_buffer_free,
	.sync_buffer = log_buffer_sync,
	.transfer = transfer,
	.close = close_file,
};

struct chario_device *log_disk_open(struct log_disk *disk, int access)
{
	struct log_file *file = log_must(calloc(1, sizeof(*file)));
	struct chario_device *device;

	file->disk = disk;
	file->rules = (struct chario_transfer_rules){
		.access = access,
		.block_bytes = disk->block_bytes,
		.alignment_bytes = disk->alignment_bytes,
	};
	device = log_must(chario_device_make(&ops, file, disk->path));
	/* Fences stand on the file of a device; nothing else uses it. */
	device->fd = open(disk->path, O_RDWR | O_CLOEXEC);
	return device;
}
