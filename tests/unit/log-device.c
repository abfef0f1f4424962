// SPDX-License-Identifier: MIT
#include "log-device.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "device/ops.h"
#include "device/transfer.h"

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
	struct log_disk *disk = calloc(1, sizeof(*disk));
	int fd;

	if (!disk)
		return NULL;
	disk->bytes = bytes;
	disk->block_bytes = block_bytes;
	log_disk_heal(disk);
	pthread_mutex_init(&disk->mutex, NULL);
	strcpy(disk->path, "/tmp/chario-disk-XXXXXX");
	disk->image = calloc(1, bytes);
	fd = disk->image ? mkstemp(disk->path) : -1;
	if (fd < 0) {
		free(disk->image);
		free(disk);
		return NULL;
	}
	close(fd);
	return disk;
}

static void *must(void *memory)
{
	if (!memory)
		abort();
	return memory;
}

/**
 * struct log_spare - memory of a buffer
 * @next: another that is not in use
 * @bytes: of @memory
 * @memory: the buffer
 */
struct log_spare {
	struct log_spare *next;
	size_t bytes;
	unsigned char memory[] __attribute__((__aligned__(64)));
};

static struct log_spare *spare_of(void *memory)
{
	return (void *)((unsigned char *)memory - offsetof(struct log_spare, memory));
}

static void free_spare(struct log_disk *disk)
{
	while (disk->spare) {
		struct log_spare *next = disk->spare->next;

		free(disk->spare);
		disk->spare = next;
	}
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
	free_spare(disk);
	unlink(disk->path);
	pthread_mutex_destroy(&disk->mutex);
	free(disk->image);
	free(disk);
}

void log_disk_record(struct log_disk *disk)
{
	forget(disk);
	disk->before = must(malloc(disk->bytes));
	memcpy(disk->before, disk->image, disk->bytes);
	disk->recording = true;
}

void log_disk_heal(struct log_disk *disk)
{
	disk->fail_read = disk->fail_write = -1;
	disk->fail_for_ever = disk->fail_torn = false;
	disk->fail_one_in = 0;
}

static void remember(struct log_disk *disk, uint64_t offset, const void *data, size_t bytes,
		     bool durable)
{
	struct log_entry *entry;

	if (!disk->recording)
		return;
	if (disk->nr_entries == disk->max_entries) {
		disk->max_entries = disk->max_entries ? 2 * disk->max_entries : 256;
		disk->entries = must(
			reallocarray(disk->entries, disk->max_entries, sizeof(*disk->entries)));
	}
	entry = &disk->entries[disk->nr_entries++];
	*entry = (struct log_entry){ .offset = offset, .bytes = bytes, .durable = durable };
	if (bytes) {
		entry->data = must(malloc(bytes));
		memcpy(entry->data, data, bytes);
	}
}

/* devices on it */

/**
 * struct log_file - an open device
 * @disk: that it is on
 * @rules: of its transfers
 */
struct log_file {
	struct log_disk *disk;
	struct chario_transfer_rules rules;
};

static int get_info(const struct chario_device *device, struct chario_info *info, size_t size)
{
	const struct log_file *file = device->data;
	const struct log_disk *disk = file->disk;
	struct chario_info found = {
		.size = sizeof(found),
		.features = CHARIO_FEATURE_FUA | CHARIO_FEATURE_WRITE_CACHE,
		.capacity_bytes = disk->bytes,
		.logical_block_bytes = disk->block_bytes,
		.physical_block_bytes = disk->block_bytes,
		.dma_alignment_bytes = 4,
		.command_bytes = CHARIO_TRANSFER_MAX,
		.max_command_bytes = CHARIO_TRANSFER_MAX,
		.chunk_bytes = CHARIO_TRANSFER_MAX,
		.nr_queues = 1,
		.queue_depth = 1,
		.backend = "log",
	};

	memset(info, 0, size);
	memcpy(info, &found, size < sizeof(found) ? size : sizeof(found));
	return 0;
}

/* Whether a count of transfers has come to the one that fails. */
static bool fails(struct log_disk *disk, int64_t *countdown)
{
	if (disk->fail_one_in && !log_below(&disk->random, disk->fail_one_in))
		return true;
	if (*countdown < 0)
		return false;
	if (*countdown > 0) {
		(*countdown)--;
		return false;
	}
	if (!disk->fail_for_ever)
		*countdown = -1;
	return true;
}

static ssize_t write_bytes(struct log_disk *disk, const struct chario_transfer *transfer,
			   const void *data, size_t bytes)
{
	bool durable = transfer->flags & CHARIO_TRANSFER_FUA;

	disk->nr_writes++;
	disk->nr_flushes += durable;
	if (!fails(disk, &disk->fail_write)) {
		memcpy(disk->image + transfer->disk_offset, data, bytes);
		remember(disk, transfer->disk_offset, data, bytes, durable);
		return (ssize_t)bytes;
	}
	if (disk->fail_torn)
		memcpy(disk->image + transfer->disk_offset, data, bytes / 2);
	return -EIO;
}

static ssize_t read_bytes(struct log_disk *disk, const struct chario_transfer *transfer, void *data,
			  size_t bytes)
{
	disk->nr_reads++;
	if (fails(disk, &disk->fail_read))
		return -EIO;
	memcpy(data, disk->image + transfer->disk_offset, bytes);
	return (ssize_t)bytes;
}

static ssize_t flush(struct log_disk *disk)
{
	disk->nr_flushes++;
	if (fails(disk, &disk->fail_write))
		return -EIO;
	remember(disk, 0, NULL, 0, true);
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
	ssize_t ret = chario_transfer_check(transfer, &file->rules);
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

/* Ten thousand stores are opened: fresh pages for each would take most of the time. */
static struct log_spare *take_spare(struct log_disk *disk, size_t bytes)
{
	struct log_spare **link = &disk->spare, *spare;

	pthread_mutex_lock(&disk->mutex);
	while (*link && (*link)->bytes != bytes)
		link = &(*link)->next;
	spare = *link;
	if (spare)
		*link = spare->next;
	pthread_mutex_unlock(&disk->mutex);
	if (!spare)
		spare = must(aligned_alloc(64, sizeof(*spare) + (bytes + 63) / 64 * 64));
	spare->bytes = bytes;
	memset(spare->memory, 0, bytes);
	return spare;
}

static void give_spare(struct log_disk *disk, struct log_spare *spare)
{
	pthread_mutex_lock(&disk->mutex);
	spare->next = disk->spare;
	disk->spare = spare;
	pthread_mutex_unlock(&disk->mutex);
}

static int create_buffer(struct chario_buffer *buffer, struct chario_buffer_create *wanted)
{
	const struct log_file *file = buffer->device->data;
	struct log_spare *spare;
	int err;

	if (buffer->kind != CHARIO_BUFFER_POOL)
		return chario_memory_create(buffer, wanted);
	spare = take_spare(file->disk, (size_t)wanted->bytes);
	wanted->address = (uintptr_t)spare->memory;
	buffer->kind = CHARIO_BUFFER_REGISTERED;
	err = chario_memory_create(buffer, wanted);
	buffer->kind = CHARIO_BUFFER_POOL;
	if (err)
		give_spare(file->disk, spare);
	return err;
}

static int free_buffer(struct chario_buffer *buffer)
{
	const struct log_file *file = buffer->device->data;
	bool spare = buffer->kind == CHARIO_BUFFER_POOL;
	int err;

	/* What memory.c would unmap is not its own. */
	if (spare)
		buffer->kind = CHARIO_BUFFER_REGISTERED;
	err = chario_memory_free(buffer);
	if (spare)
		buffer->kind = CHARIO_BUFFER_POOL;
	if (spare && !err)
		give_spare(file->disk, spare_of(buffer->memory));
	return err;
}

static const struct chario_device_ops ops = {
	.get_info = get_info,
	.create_buffer = create_buffer,
	.free_buffer = free_buffer,
	.transfer = transfer,
	.close = close_file,
};

struct chario_device *log_disk_open(struct log_disk *disk, int access)
{
	struct log_file *file = must(calloc(1, sizeof(*file)));

	file->disk = disk;
	file->rules = (struct chario_transfer_rules){
		.access = access,
		.block_bytes = disk->block_bytes,
		.alignment_bytes = 4,
	};
	return must(chario_device_make(&ops, file, disk->path));
}

/* power cuts */

void log_replay_init(struct log_replay *replay, const struct log_disk *disk)
{
	*replay = (struct log_replay){ .disk = disk, .durable = must(malloc(disk->bytes)) };
	memcpy(replay->durable, disk->before, disk->bytes);
}

void log_replay_deinit(struct log_replay *replay)
{
	free(replay->durable);
}

static void apply(const struct log_entry *entry, unsigned char *image)
{
	if (entry->bytes)
		memcpy(image + entry->offset, entry->data, entry->bytes);
}

void log_replay_advance(struct log_replay *replay)
{
	const struct log_disk *disk = replay->disk;
	bool flushes = !disk->entries[replay->at++].bytes;

	while (flushes && replay->durable_at < replay->at)
		apply(&disk->entries[replay->durable_at++], replay->durable);
}

/* Some blocks of a write: of each pair of them the first, the last, or any. */
static void apply_torn(const struct log_disk *disk, const struct log_entry *entry, uint64_t *random,
		       unsigned char *image)
{
	size_t nr_blocks = entry->bytes / disk->block_bytes;
	size_t edge = log_below(random, nr_blocks + 1);
	uint64_t how = log_below(random, 3);

	for (size_t i = 0; i < nr_blocks; i++) {
		size_t at = i * disk->block_bytes;
		bool there = how == 0 ? i < edge : how == 1 ? i >= edge : log_random(random) & 1;

		if (there)
			memcpy(image + entry->offset + at, entry->data + at, disk->block_bytes);
	}
}

/* A write that was not durable. */
static void apply_some(const struct log_disk *disk, const struct log_entry *entry, enum log_cut cut,
		       bool torn, uint64_t *random, unsigned char *image)
{
	if (cut == LOG_CUT_MIXED || (cut == LOG_CUT_TORN && torn))
		apply_torn(disk, entry, random, image);
	else if (cut != LOG_CUT_NONE && log_random(random) & 1)
		apply(entry, image);
}

void log_replay_cut(const struct log_replay *replay, enum log_cut cut, uint64_t *random,
		    unsigned char *image)
{
	const struct log_disk *disk = replay->disk;
	size_t end = replay->at < disk->nr_entries ? replay->at + 1 : replay->at;
	size_t torn = end;

	/* Mostly what is under way. */
	if (end > replay->durable_at && log_random(random) & 1)
		torn = replay->durable_at + log_below(random, end - replay->durable_at);
	else if (end)
		torn = end - 1;
	memcpy(image, replay->durable, disk->bytes);
	for (size_t i = replay->durable_at; i < end; i++) {
		const struct log_entry *entry = &disk->entries[i];
		bool done = i < replay->at;

		if (done && (entry->durable || cut == LOG_CUT_ALL))
			apply(entry, image);
		else if (entry->bytes && cut != LOG_CUT_ALL)
			apply_some(disk, entry, cut, i == torn, random, image);
	}
}
