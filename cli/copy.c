// SPDX-License-Identifier: MIT
/*
 * Copying between an area and a file.
 *
 * The slots are used in a circle and waited for in the same order, so all that lies
 * before the oldest is done, whatever order the disk has.  An area that lies in two
 * pieces, because a move was interrupted, is copied without a queue: its library
 * functions know where the pieces are.
 */
#include "copy.h"
#include "progress.h"
#include "store.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <time.h>

#define LEAST_BYTES ((size_t)64 << 10)
#define LEAST_SLOTS 2U
#define PAUSE_NS    1000000L

static void free_buffers(struct cli_copy *copy)
{
	while (copy->nr_slots)
		chario_buffer_free(copy->slots[--copy->nr_slots].buffer);
}

static int make_buffers(struct cli_copy *copy)
{
	int err = 0;

	while (copy->nr_slots < CLI_COPY_SLOTS && !err) {
		err = chario_buffer_pool(copy->device, copy->slot_bytes, CHARIO_BUFFER_STREAMING,
					 &copy->slots[copy->nr_slots].buffer);
		if (!err)
			copy->nr_slots++;
	}
	return copy->nr_slots >= LEAST_SLOTS ? 0 : err;
}

/* Where locked memory is limited, less of it serves as well. */
static int have_buffers(struct cli_copy *copy)
{
	int err;

	for (copy->slot_bytes = CLI_COPY_BYTES;; copy->slot_bytes /= 2) {
		err = make_buffers(copy);
		if (err != -ENOMEM || copy->slot_bytes <= LEAST_BYTES)
			return err;
		free_buffers(copy);
	}
}

int cli_copy_open(struct cli_copy *copy, struct chario_store *store, const char *name,
		  enum chario_transfer_op op)
{
	int err, flags = op == CHARIO_TRANSFER_READ ? O_RDONLY : O_RDWR;
	uint64_t begin_ns = cli_now_ns();

	*copy = (struct cli_copy){ .device = chario_store_device(store), .op = op };
	do
		err = chario_area_open(store, name, flags, &copy->area);
	while (cli_once_more(err, begin_ns));
	if (!err)
		err = chario_area_get_info(copy->area, &copy->info, sizeof(copy->info));
	if (!err)
		err = have_buffers(copy);
	if (!err)
		err = chario_queue_open(copy->device, CLI_COPY_SLOTS, 0, &copy->queue);
	if (err)
		cli_copy_close(copy);
	return err;
}

void cli_copy_close(struct cli_copy *copy)
{
	chario_queue_close(copy->queue);
	free_buffers(copy);
	chario_area_close(copy->area);
	*copy = (struct cli_copy){ 0 };
}

static unsigned int next_slot(const struct cli_copy *copy)
{
	return (copy->first + copy->used) % copy->nr_slots;
}

void *cli_copy_next(const struct cli_copy *copy)
{
	if (copy->used == copy->nr_slots)
		return NULL;
	return chario_buffer_memory(copy->slots[next_slot(copy)].buffer);
}

static void pause_shortly(void)
{
	const struct timespec pause = { .tv_nsec = PAUSE_NS };

	nanosleep(&pause, NULL);
}

static int submit(struct cli_copy *copy)
{
	int err;

	/* The kernel is out of memory for a moment; what was added stays. */
	while ((err = chario_queue_submit(copy->queue)) == -EAGAIN || err == -ENOMEM)
		pause_shortly();
	return err;
}

static int issue(struct cli_copy *copy, unsigned int number)
{
	struct cli_slot *slot = &copy->slots[number];
	struct chario_transfer transfer = {
		.op = (uint32_t)copy->op,
		.buffer = chario_buffer_id(slot->buffer),
		.buffer_offset = slot->done,
		.disk_offset = copy->info.offset + slot->offset + slot->done,
		.bytes = slot->bytes - slot->done,
	};
	int err = chario_queue_add(copy->queue, &transfer, number);

	if (!err)
		err = submit(copy);
	slot->in_flight = !err;
	return err;
}

void cli_outlast(const struct chario_buffer *buffer)
{
	while (chario_buffer_sync(buffer, 0, 0, CHARIO_SYNC_IDLE) == -EBUSY)
		pause_shortly();
}

/* What a transfer has come to: bytes, or a negative errno; none at all is an error. */
static void settle(struct cli_slot *slot, int64_t result)
{
	slot->in_flight = false;
	if (result < 0 || (size_t)result < slot->bytes - slot->done)
		cli_outlast(slot->buffer);
	if (result < 0)
		slot->err = (int)result;
	else if (!result || result % CHARIO_STORE_BLOCK)
		slot->err = -EIO;
	else
		slot->done += (size_t)result;
}

static void move_at_once(struct cli_copy *copy, struct cli_slot *slot)
{
	while (!slot->err && slot->done < slot->bytes) {
		size_t left = slot->bytes - slot->done;
		uint64_t offset = slot->offset + slot->done;

		settle(slot, copy->op == CHARIO_TRANSFER_READ ?
				     chario_area_read_buffer(copy->area, slot->buffer, slot->done,
							     left, offset, 0) :
				     chario_area_write_buffer(copy->area, slot->buffer, slot->done,
							      left, offset, 0));
	}
}

static size_t whole_blocks(size_t bytes)
{
	return (bytes + CHARIO_STORE_BLOCK - 1) / CHARIO_STORE_BLOCK * CHARIO_STORE_BLOCK;
}

/* What is written behind the end of the area is zero; the CPU has written the rest. */
static int hand_over(struct cli_slot *slot, size_t bytes)
{
	memset((char *)chario_buffer_memory(slot->buffer) + bytes, 0, slot->bytes - bytes);
	return chario_buffer_sync(slot->buffer, 0, slot->bytes, CHARIO_SYNC_FOR_DEVICE);
}

int cli_copy_start(struct cli_copy *copy, uint64_t offset, size_t bytes)
{
	unsigned int number = next_slot(copy);
	struct cli_slot *slot = &copy->slots[number];
	int err = 0;

	slot->offset = offset;
	slot->bytes = whole_blocks(bytes);
	slot->done = 0;
	slot->err = 0;
	if (copy->op == CHARIO_TRANSFER_WRITE)
		err = hand_over(slot, bytes);
	if (err)
		return err;
	if (copy->info.flags & CHARIO_AREA_MOVING)
		move_at_once(copy, slot);
	else
		err = issue(copy, number);
	if (!err)
		copy->used++;
	return err;
}

static int reap(struct cli_copy *copy)
{
	struct chario_queue_result results[CLI_COPY_SLOTS];
	int count = chario_queue_reap(copy->queue, results, CLI_COPY_SLOTS, -1), err = 0;

	for (int i = 0; i < count; i++) {
		struct cli_slot *slot = &copy->slots[results[i].user];

		settle(slot, results[i].result);
		/* A transfer that was cut short says why when the rest is asked for. */
		if (!slot->err && slot->done < slot->bytes && !err)
			err = issue(copy, (unsigned int)results[i].user);
	}
	return count < 0 ? count : err;
}

int cli_copy_wait(struct cli_copy *copy, struct cli_slot **slot)
{
	int err = 0;

	*slot = &copy->slots[copy->first];
	while ((*slot)->in_flight && !err)
		err = reap(copy);
	if (!err)
		err = (*slot)->err;
	if (!err && copy->op == CHARIO_TRANSFER_READ)
		err = chario_buffer_sync((*slot)->buffer, 0, (*slot)->bytes, CHARIO_SYNC_FOR_CPU);
	return err;
}

void cli_copy_drop(struct cli_copy *copy)
{
	copy->first = (copy->first + 1) % copy->nr_slots;
	copy->used--;
}
