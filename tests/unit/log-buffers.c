// SPDX-License-Identifier: MIT
#include <errno.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "log-inner.h"

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

void log_spare_free(struct log_disk *disk)
{
	while (disk->spare) {
		struct log_spare *next = disk->spare->next;

		free(disk->spare);
		disk->spare = next;
	}
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
		spare = log_must(aligned_alloc(64, sizeof(*spare) + (bytes + 63) / 64 * 64));
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
static int create_fenced(struct chario_buffer *buffer, struct chario_buffer_create *wanted)
{
	size_t bytes = whole_pages((size_t)wanted->bytes);
	int err = chario_memory_create(buffer, wanted);
	void *place;

	if (err)
		return err;
	place = mmap(NULL, bytes + whole_pages(1), PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (place == MAP_FAILED || mremap(buffer->memory, bytes, bytes,
					  MREMAP_MAYMOVE | MREMAP_FIXED, place) == MAP_FAILED)
		abort();
	buffer->memory = place;
	return 0;
}

static int free_fenced(struct chario_buffer *buffer)
{
	unsigned char *behind = buffer->memory + whole_pages(buffer->bytes);
	int err = chario_memory_free(buffer);

	if (!err)
		munmap(behind, whole_pages(1));
	return err;
}

static int create(struct chario_buffer *buffer, struct chario_buffer_create *wanted)
{
	const struct log_file *file = buffer->device->data;
	struct log_spare *spare;
	int err = log_use(buffer->device);

	if (!err && file->disk->incoherent && !(buffer->flags & CHARIO_BUFFER_STREAMING))
		err = -EOPNOTSUPP;
	if (err)
		return err;
	if (buffer->kind != CHARIO_BUFFER_POOL)
		return chario_memory_create(buffer, wanted);
	if (!file->disk->has_spare)
		return create_fenced(buffer, wanted);
	spare = take_spare(file->disk, (size_t)wanted->bytes);
	wanted->address = (uintptr_t)spare->memory;
	buffer->kind = CHARIO_BUFFER_REGISTERED;
	err = chario_memory_create(buffer, wanted);
	buffer->kind = CHARIO_BUFFER_POOL;
	if (err)
		give_spare(file->disk, spare);
	return err;
}

/* Count bytes of buffers, up to the limit.  Returns 0 or -ENOMEM, as the module would. */
static int lock_bytes(struct log_disk *disk, uint64_t bytes)
{
	if (disk->most_locked && disk->locked + bytes > disk->most_locked)
		return -ENOMEM;
	disk->locked += bytes;
	return 0;
}

int log_buffer_create(struct chario_buffer *buffer, struct chario_buffer_create *wanted)
{
	struct log_disk *disk = ((const struct log_file *)buffer->device->data)->disk;
	uint64_t bytes = wanted->bytes;
	int err = lock_bytes(disk, bytes);

	if (err)
		return err;
	err = create(buffer, wanted);
	if (err)
		disk->locked -= bytes;
	return err;
}

static int free_to_spare(struct log_disk *disk, struct chario_buffer *buffer)
{
	int err;

	/* What memory.c would unmap is not its own. */
	buffer->kind = CHARIO_BUFFER_REGISTERED;
	err = chario_memory_free(buffer);
	buffer->kind = CHARIO_BUFFER_POOL;
	if (!err)
		give_spare(disk, spare_of(buffer->memory));
	return err;
}

int log_buffer_free(struct chario_buffer *buffer)
{
	const struct log_file *file = buffer->device->data;
	uint64_t bytes = buffer->bytes;
	int err;

	if (buffer->kind != CHARIO_BUFFER_POOL)
		err = chario_memory_free(buffer);
	else
		err = file->disk->has_spare ? free_to_spare(file->disk, buffer) :
					      free_fenced(buffer);
	if (!err)
		file->disk->locked -= bytes;
	return err;
}

int log_buffer_sync(const struct chario_buffer *buffer, struct chario_buffer_sync *sync)
{
	return sync->direction == CHARIO_SYNC_IDLE ? 0 : log_use(buffer->device);
}
