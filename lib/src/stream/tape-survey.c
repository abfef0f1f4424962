// SPDX-License-Identifier: LGPL-2.1-or-later OR MIT
/*
 * The survey of a recording: the headers of all places behind one, read many at a time.
 *
 * After a power cut whoever continues a recording waits for it.  A terabyte in segments of 4 MiB
 * has 262,144 places, and a drive reads many of these blocks in the time of one.
 */
#include "stream/tape.h"

#include <errno.h>
#include <sys/param.h>

#include <chario/queue.h>

#include "device/ops.h"
#include "system/sys.h"

#define BLOCKS_AT_ONCE 64U
#define PAUSE_MS       1

/**
 * struct header_ahead - headers that are read ahead
 * @tape: tape that they are on
 * @queue: queue of the reads; NULL if there is none, and each header is read when it is wanted
 * @pool: memory for the blocks
 * @first: segment whose block is the first
 * @end: number behind the last segment whose block has been read
 * @results: bytes of each block, or a negative errno
 */
struct header_ahead {
	struct chario_tape *tape;
	struct chario_queue *queue;
	struct chario_pool pool;
	uint64_t first;
	uint64_t end;
	ssize_t results[BLOCKS_AT_ONCE];
};

static void open_ahead(struct header_ahead *ahead, struct chario_tape *tape, uint64_t from)
{
	struct chario_device *device = tape->area->store->device;

	*ahead = (struct header_ahead){ .tape = tape, .first = from, .end = from };
	if (chario_pool_create(&ahead->pool, device, BLOCKS_AT_ONCE * CHARIO_DISK_BLOCK, 0) ||
	    chario_queue_open(device, BLOCKS_AT_ONCE, 0, &ahead->queue))
		ahead->queue = NULL;
}

static void close_ahead(struct header_ahead *ahead)
{
	chario_queue_close(ahead->queue);
	chario_pool_destroy(&ahead->pool);
}

static int add_read(const struct header_ahead *ahead, unsigned int number)
{
	const struct chario_tape *tape = ahead->tape;
	uint64_t offset = (ahead->first + number) % tape->slots * tape->segment_bytes, place = 0;
	struct chario_transfer transfer = {
		.op = CHARIO_TRANSFER_READ,
		.buffer = chario_buffer_id(ahead->pool.buffer),
		.buffer_offset = (uint64_t)number * CHARIO_DISK_BLOCK,
	};

	transfer.bytes = chario_area_place(tape->area, offset, CHARIO_DISK_BLOCK, &place);
	transfer.disk_offset = place;
	return chario_queue_add(ahead->queue, &transfer, number);
}

static int submit_reads(const struct header_ahead *ahead)
{
	int err;

	while ((err = chario_queue_submit(ahead->queue)) == -EAGAIN || err == -ENOMEM)
		chario_sys.sleep_ms(PAUSE_MS);
	return err;
}

static int reap_reads(struct header_ahead *ahead, unsigned int nr)
{
	struct chario_queue_result results[BLOCKS_AT_ONCE];
	int count;

	for (unsigned int done = 0; done < nr; done += (unsigned int)count) {
		count = chario_queue_reap(ahead->queue, results, BLOCKS_AT_ONCE, -1);
		if (count <= 0)
			return count ? count : -EIO;
		for (int i = 0; i < count; i++)
			ahead->results[results[i].user] = (ssize_t)results[i].result;
	}
	return 0;
}

/* Read the headers from a segment on. */
static int read_headers_ahead(struct header_ahead *ahead, uint64_t from, uint64_t to)
{
	unsigned int nr = (unsigned int)MIN(to - from, BLOCKS_AT_ONCE);
	size_t bytes = (size_t)nr * CHARIO_DISK_BLOCK;
	int err = chario_pool_give(&ahead->pool, 0, bytes);

	ahead->first = from;
	for (unsigned int i = 0; i < nr && !err; i++)
		err = add_read(ahead, i);
	if (!err)
		err = submit_reads(ahead);
	if (!err)
		err = reap_reads(ahead, nr);
	/* The drive may still use the memory after a read that has not ended well. */
	for (unsigned int i = 0; i < nr && !err; i++)
		chario_buffer_outlast(ahead->pool.buffer, ahead->results[i], CHARIO_DISK_BLOCK);
	ahead->end = from + nr;
	return err ? err : chario_pool_take(&ahead->pool, 0, bytes);
}

/* Do the same as chario_tape_peek(); @to is the number behind the last segment that is wanted. */
static int peek_ahead(struct header_ahead *ahead, uint64_t segment, uint64_t to,
		      struct chario_disk_batch *batch)
{
	struct chario_tape *tape = ahead->tape;
	unsigned char *block;
	ssize_t result;
	int err = 0;

	if (!ahead->queue)
		return chario_tape_peek(tape, segment, 0, batch);
	if (segment >= ahead->end)
		err = read_headers_ahead(ahead, segment, to);
	if (err)
		return err;
	result = ahead->results[segment - ahead->first];
	/* One event, such as a reset, may have ended all reads that were in flight. */
	if (chario_pool_is_damage(result))
		return chario_tape_peek(tape, segment, 0, batch);
	tape->reads++;
	if (result < 0)
		return (int)result;
	block = ahead->pool.memory + (segment - ahead->first) * CHARIO_DISK_BLOCK;
	return result == CHARIO_DISK_BLOCK && chario_tape_parse(tape, segment, 0, block, batch);
}

int chario_tape_survey(struct chario_tape *tape, uint64_t from, uint64_t end,
		       struct chario_disk_batch *batch)
{
	const uint32_t reads = tape->reads;
	struct chario_disk_batch found;
	uint64_t least = from;
	struct header_ahead ahead;
	int ret = 0;

	open_ahead(&ahead, tape, from);
	for (uint64_t segment = from; segment < end && ret >= 0; segment++) {
		ret = peek_ahead(&ahead, segment, end, &found);
		if (ret <= 0 || found.segment < least)
			continue;
		*batch = found;
		least = found.segment + 1;
	}
	close_ahead(&ahead);
	if (ret < 0)
		return ret;
	tape->surveyed = true;
	tape->survey_reads = tape->reads - reads;
	tape->reads_then = tape->reads;
	return least > from;
}
