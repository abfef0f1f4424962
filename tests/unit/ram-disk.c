// SPDX-License-Identifier: MIT
#include "ram-disk.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "device/ops.h"
#include "system/sys.h"
#include "device/transfer.h"

static struct ram_disk *disk_of(const struct chario_device *device)
{
	return device->data;
}

static int get_info(const struct chario_device *device, struct chario_info *info, size_t size)
{
	const struct ram_disk *disk = disk_of(device);
	struct chario_info all = {
		.size = sizeof(all),
		.features = CHARIO_FEATURE_FUA | (disk->cached ? CHARIO_FEATURE_WRITE_CACHE : 0),
		.capacity_bytes = disk->bytes,
		.logical_block_bytes = RAM_SECTOR,
		.physical_block_bytes = RAM_SECTOR,
		.dma_alignment_bytes = 64,
		.backend = "ram",
	};

	return chario_sys_give(info, size, &all, sizeof(all), CHARIO_INFO_MIN);
}

static void note(struct ram_disk *disk, const struct chario_transfer *transfer, size_t begun,
		 const unsigned char *at)
{
	struct ram_event *event;

	if (!disk->noting)
		return;
	if (disk->nr_events == disk->room) {
		disk->room = disk->room ? 2 * disk->room : 64;
		disk->events = realloc(disk->events, disk->room * sizeof(*event));
	}
	event = &disk->events[disk->nr_events++];
	*event = (struct ram_event){
		.flush = transfer->op == CHARIO_TRANSFER_FLUSH,
		.fua = transfer->flags & CHARIO_TRANSFER_FUA,
		.offset = transfer->disk_offset,
		.bytes = (uint32_t)transfer->bytes,
		.begun = begun,
	};
	if (event->flush)
		return;
	event->data = malloc(event->bytes);
	memcpy(event->data, at, event->bytes);
}

static bool is_held(const struct ram_disk *disk, uint64_t offset)
{
	return offset >= disk->hold_from && offset < disk->hold_to;
}

static bool fails(unsigned int *failing)
{
	return *failing && (*failing)--;
}

static ssize_t write_locked(struct ram_disk *disk, const struct chario_transfer *transfer,
			    const unsigned char *at, size_t bytes)
{
	size_t begun = disk->nr_events;

	if (is_held(disk, transfer->disk_offset)) {
		disk->held++;
		pthread_cond_broadcast(&disk->changed);
		while (is_held(disk, transfer->disk_offset))
			pthread_cond_wait(&disk->changed, &disk->lock);
		disk->held--;
	}
	if (fails(&disk->failing))
		return disk->error;
	memcpy(disk->image + transfer->disk_offset, at, bytes);
	note(disk, transfer, begun, at);
	return (ssize_t)bytes;
}

static ssize_t flush_locked(struct ram_disk *disk, const struct chario_transfer *transfer)
{
	if (fails(&disk->failing_flushes))
		return disk->error;
	note(disk, transfer, disk->nr_events, NULL);
	return 0;
}

/* Who reads on and on would never come back to be asked why. */
static void count_read(struct ram_disk *disk)
{
	disk->reads++;
	if (!disk->most_reads || disk->reads <= disk->most_reads)
		return;
	printf("# a call reads on and on\n");
	fflush(stdout);
	abort();
}

static ssize_t move_locked(struct ram_disk *disk, const struct chario_transfer *transfer,
			   unsigned char *at, size_t bytes)
{
	if (transfer->op == CHARIO_TRANSFER_WRITE)
		return write_locked(disk, transfer, at, bytes);
	memcpy(at, disk->image + transfer->disk_offset, bytes);
	count_read(disk);
	return (ssize_t)bytes;
}

static ssize_t transfer(const struct chario_device *device, struct chario_transfer *transfer)
{
	const struct chario_transfer_rules rules = { O_RDWR, RAM_SECTOR, 64 };
	struct ram_disk *disk = disk_of(device);
	ssize_t ret = chario_transfer_check(transfer, &rules);
	void *at = NULL;

	if (ret)
		return ret;
	if (transfer->op != CHARIO_TRANSFER_FLUSH) {
		ssize_t bytes = chario_transfer_clip(transfer, disk->bytes);

		ret = bytes > 0 ? chario_memory_get(device, transfer, &at) : bytes;
		if (bytes <= 0 || ret)
			return ret;
		pthread_mutex_lock(&disk->lock);
		ret = move_locked(disk, transfer, at, (size_t)bytes);
		pthread_mutex_unlock(&disk->lock);
		chario_memory_put(device, transfer);
		return ret;
	}
	pthread_mutex_lock(&disk->lock);
	ret = flush_locked(disk, transfer);
	pthread_mutex_unlock(&disk->lock);
	return ret;
}

/* Bytes of whole pages. */
static size_t whole_pages(size_t bytes)
{
	size_t page = (size_t)sysconf(_SC_PAGESIZE);

	return (bytes + page - 1) / page * page;
}

/*
 * Behind a buffer is a page that nobody may touch: no sanitizer knows what a mapping
 * is used for.
 */
static int create_buffer(struct chario_buffer *buffer, struct chario_buffer_create *wanted)
{
	size_t bytes = whole_pages((size_t)wanted->bytes);
	int err = chario_memory_create(buffer, wanted);
	void *place;

	if (err || buffer->kind != CHARIO_BUFFER_POOL)
		return err;
	place = mmap(NULL, bytes + whole_pages(1), PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (place == MAP_FAILED || mremap(buffer->memory, bytes, bytes,
					  MREMAP_MAYMOVE | MREMAP_FIXED, place) == MAP_FAILED)
		abort();
	buffer->memory = place;
	return 0;
}

static int free_buffer(struct chario_buffer *buffer)
{
	unsigned char *behind = (unsigned char *)buffer->memory + whole_pages(buffer->bytes);
	int err = chario_memory_free(buffer);

	if (!err && buffer->kind == CHARIO_BUFFER_POOL)
		munmap(behind, whole_pages(1));
	return err;
}

static const struct chario_device_ops ops = {
	.get_info = get_info,
	.create_buffer = create_buffer,
	.free_buffer = free_buffer,
	.transfer = transfer,
};

void ram_init(struct ram_disk *disk, const char *path, bool cached)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	struct stat status;

	*disk = (struct ram_disk){ .cached = cached };
	pthread_mutex_init(&disk->lock, NULL);
	pthread_cond_init(&disk->changed, NULL);
	if (fd < 0 || fstat(fd, &status))
		abort();
	disk->bytes = (size_t)status.st_size;
	disk->image = malloc(disk->bytes);
	if (pread(fd, disk->image, disk->bytes, 0) != status.st_size)
		abort();
	close(fd);
}

void ram_deinit(struct ram_disk *disk)
{
	for (size_t i = 0; i < disk->nr_events; i++)
		free(disk->events[i].data);
	free(disk->events);
	free(disk->image);
	pthread_cond_destroy(&disk->changed);
	pthread_mutex_destroy(&disk->lock);
}

struct chario_device *ram_open(struct ram_disk *disk, const char *path)
{
	return chario_device_make(&ops, disk, path);
}

void ram_hold(struct ram_disk *disk, uint64_t from, uint64_t to)
{
	pthread_mutex_lock(&disk->lock);
	disk->hold_from = from;
	disk->hold_to = to;
	pthread_cond_broadcast(&disk->changed);
	pthread_mutex_unlock(&disk->lock);
}

void ram_wait_held(struct ram_disk *disk, unsigned int held)
{
	pthread_mutex_lock(&disk->lock);
	while (disk->held < held)
		pthread_cond_wait(&disk->changed, &disk->lock);
	pthread_mutex_unlock(&disk->lock);
}

size_t ram_nr_events(struct ram_disk *disk)
{
	size_t count;

	pthread_mutex_lock(&disk->lock);
	count = disk->nr_events;
	pthread_mutex_unlock(&disk->lock);
	return count;
}
