// SPDX-License-Identifier: LGPL-2.1-or-later OR MIT
/*
 * Buffers that are memory of the process.
 */
#include "device/memory.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/param.h>

#include "device/ops.h"
#include "system/scope.h"

/* The limits of the kernel module: buffers of an open file, bytes of a buffer. */
#define BUFFERS_MAX 65535
#define BYTES_MAX   (1ULL << 40)

#define FLAGS (CHARIO_BUFFER_SOURCE | CHARIO_BUFFER_STREAMING)

struct chario_memory *chario_memory_alloc(void)
{
	struct chario_memory *memory = calloc(1, sizeof(*memory));

	if (memory)
		pthread_mutex_init(&memory->lock, NULL);
	return memory;
}

void chario_memory_destroy(struct chario_memory *memory)
{
	pthread_mutex_destroy(&memory->lock);
	free(memory->buffers);
	free(memory);
}

static int grow(struct chario_memory *memory)
{
	uint32_t room = memory->room ? memory->room * 2 : 16;
	struct chario_buffer **buffers;

	if (memory->room >= BUFFERS_MAX)
		return -ENOSPC;
	room = MIN(room, BUFFERS_MAX);
	buffers = reallocarray(memory->buffers, room, sizeof(*buffers));
	if (!buffers)
		return -ENOMEM;
	memset(&buffers[memory->room], 0, (room - memory->room) * sizeof(*buffers));
	memory->buffers = buffers;
	memory->room = room;
	return 0;
}

static int add(struct chario_memory *memory, struct chario_buffer *buffer)
{
	int err = 0;

	CHARIO_LOCK(&memory->lock);
	while (memory->lowest < memory->room && memory->buffers[memory->lowest])
		memory->lowest++;
	if (memory->lowest == memory->room)
		err = grow(memory);
	if (err)
		return err;
	memory->buffers[memory->lowest] = buffer;
	buffer->id = memory->lowest + 1;
	return 0;
}

static int drop(struct chario_memory *memory, const struct chario_buffer *buffer)
{
	uint32_t i = buffer->id - 1;

	CHARIO_LOCK(&memory->lock);
	if (buffer->users)
		return -EBUSY;
	memory->buffers[i] = NULL;
	memory->lowest = MIN(memory->lowest, i);
	return 0;
}

/* Populate all pages, as pinning would, and check the access to them. */
static int populate(const struct chario_buffer *buffer)
{
	bool source = buffer->flags & CHARIO_BUFFER_SOURCE;
	uintptr_t page = (uintptr_t)sysconf(_SC_PAGESIZE);
	uintptr_t start = (uintptr_t)buffer->memory;
	uintptr_t skew = start % page;

	return madvise(buffer->memory - skew, buffer->bytes + skew,
		       source ? MADV_POPULATE_READ : MADV_POPULATE_WRITE) ?
		       -errno :
		       0;
}

/* The memory is shared like that of the module: a child of fork(2) has the same pages. */
static int allocate(struct chario_buffer *buffer)
{
	void *at = mmap(NULL, buffer->bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1,
			0);

	if (at == MAP_FAILED)
		return -ENOMEM;
	buffer->memory = at;
	if (!populate(buffer))
		return 0;
	munmap(at, buffer->bytes);
	return -ENOMEM;
}

/* Missing memory, or memory without the needed access, is the caller's error. */
static int take(struct chario_buffer *buffer, void *memory)
{
	int err;

	buffer->memory = memory;
	err = populate(buffer);
	return !err || err == -EAGAIN ? err : -EFAULT;
}

static int check(const struct chario_buffer *buffer, const struct chario_buffer_create *wanted)
{
	struct chario_info info;
	int err;

	if (buffer->kind != CHARIO_BUFFER_REGISTERED && buffer->kind != CHARIO_BUFFER_POOL)
		return -EOPNOTSUPP;
	err = buffer->device->ops->get_info(buffer->device, &info, sizeof(info));
	if (err)
		return err;
	if ((wanted->flags & ~FLAGS) || !wanted->bytes || wanted->bytes > BYTES_MAX ||
	    (wanted->address | wanted->bytes) % info.dma_alignment_bytes)
		return -EINVAL;
	return 0;
}

int chario_memory_create(struct chario_buffer *buffer, struct chario_buffer_create *wanted)
{
	int err = check(buffer, wanted);

	if (err)
		return err;
	buffer->bytes = (size_t)wanted->bytes;
	if (buffer->kind == CHARIO_BUFFER_POOL)
		err = allocate(buffer);
	else
		err = take(buffer, (void *)(uintptr_t)wanted->address);
	if (err)
		return err;
	err = add(buffer->device->memory, buffer);
	if (err && buffer->kind == CHARIO_BUFFER_POOL)
		munmap(buffer->memory, buffer->bytes);
	return err;
}

int chario_memory_free(struct chario_buffer *buffer)
{
	int err = drop(buffer->device->memory, buffer);

	if (!err && buffer->kind == CHARIO_BUFFER_POOL)
		munmap(buffer->memory, buffer->bytes);
	return err;
}

static int use(struct chario_buffer *buffer, const struct chario_transfer *transfer, void **at)
{
	if (!buffer)
		return -ENOENT;
	if (transfer->op == CHARIO_TRANSFER_READ && (buffer->flags & CHARIO_BUFFER_SOURCE))
		return -EPERM;
	if (transfer->buffer_offset > buffer->bytes ||
	    transfer->bytes > buffer->bytes - transfer->buffer_offset)
		return -EINVAL;
	buffer->users++;
	*at = buffer->memory + transfer->buffer_offset;
	return 0;
}

int chario_memory_get(const struct chario_device *device, const struct chario_transfer *transfer,
		      void **at)
{
	const struct chario_memory *memory = device->memory;
	uint32_t id = transfer->buffer;

	CHARIO_LOCK(&device->memory->lock);
	return use(id && id <= memory->room ? memory->buffers[id - 1] : NULL, transfer, at);
}

void chario_memory_put(const struct chario_device *device, const struct chario_transfer *transfer)
{
	CHARIO_LOCK(&device->memory->lock);
	device->memory->buffers[transfer->buffer - 1]->users--;
}
