// SPDX-License-Identifier: LGPL-2.1-or-later OR MIT
/* Transfers of a stream: batches, data from callers' buffers, flushes. */
#include "stream/inner.h"

#include <errno.h>
#include <string.h>

#include "device/ops.h"

#define FLUSH_USER    UINT64_MAX
#define EXTERNAL_USER (1ULL << 32)
#define NR_RESULTS    16

static bool is_ready(const struct chario_batch *batch)
{
	return batch->state == CHARIO_BATCH_READY || batch->state == CHARIO_BATCH_REST_READY;
}

/* Find the part of a batch to be written next or being written. */
static void get_extent(const struct chario_batch *batch, uint32_t *from, uint32_t *bytes)
{
	bool sealed = batch->header.flags & CHARIO_DISK_BATCH_SEALED;
	bool rest = batch->state == CHARIO_BATCH_REST_READY || batch->state == CHARIO_BATCH_REST;
	uint32_t end = chario_disk_round(batch->end, CHARIO_DISK_BLOCK);

	*from = batch->header.offset + (rest ? CHARIO_DISK_BLOCK : 0);
	*bytes = sealed && !rest ? CHARIO_DISK_BLOCK : end - *from;
}

/* Add the clock of a batch behind the header of its first record. */
static void add_times(struct chario_batch *batch, struct chario_disk_batch *disk)
{
	const struct chario_disk_times times = {
		.offset_ns = batch->is_steady ? batch->offset_ns : 0,
		.run = batch->before.run,
	};

	batch->header.flags |= CHARIO_DISK_BATCH_TIMES;
	if (batch->is_steady)
		batch->header.flags |= CHARIO_DISK_BATCH_STEADY;
	memcpy((unsigned char *)disk + CHARIO_DISK_TIMES_AT, &times, sizeof(times));
}

/* The header of a batch has the values known at its last write. */
static void sign(struct chario_stream *stream, struct chario_batch *batch)
{
	struct chario_disk_batch *header = &batch->header;
	uint64_t at = chario_stream_pool_offset(stream, header->segment) + header->offset;
	struct chario_disk_batch *disk = (void *)(stream->pool.memory + at);
	const struct chario_disk_record *first = (const void *)(disk + 1);

	header->bytes = batch->end - header->offset;
	header->serial = batch->before.batches;
	header->records = batch->before.records;
	header->position = batch->before.position;
	header->durable_records = stream->durable.records;
	header->time_ns = header->bytes > sizeof(*header) ? first->time_ns :
							    chario_sys_clock(CLOCK_REALTIME);
	add_times(batch, disk);
	*disk = *header;
	chario_disk_batch_sign(disk);
}

static int add(struct chario_stream *stream, const struct chario_transfer *transfer, uint64_t user)
{
	int err = chario_queue_add(stream->queue, transfer, user);

	if (!err) {
		stream->in_flight++;
		stream->nr_ready--;
	}
	return err;
}

static bool needs_fua(const struct chario_stream *stream, const struct chario_batch *batch)
{
	return stream->cached && (stream->status.durability == CHARIO_DURABILITY_FUA ||
				  batch->state == CHARIO_BATCH_REST_READY);
}

static int add_batch(struct chario_stream *stream, struct chario_batch *batch, uint64_t user)
{
	uint64_t slot = batch->header.segment % stream->tape.slots;
	struct chario_transfer transfer = {
		.op = CHARIO_TRANSFER_WRITE,
		.flags = needs_fua(stream, batch) ? CHARIO_TRANSFER_FUA : 0,
		.buffer = chario_buffer_id(stream->pool.buffer),
	};
	uint32_t from, bytes;
	int err;

	get_extent(batch, &from, &bytes);
	if (batch->state == CHARIO_BATCH_READY)
		sign(stream, batch);
	transfer.bytes = bytes;
	transfer.buffer_offset = chario_stream_pool_offset(stream, batch->header.segment) + from;
	transfer.disk_offset = stream->disk_offset + slot * stream->tape.segment_bytes + from;
	err = chario_pool_give(&stream->pool, transfer.buffer_offset, bytes);
	if (!err)
		err = add(stream, &transfer, user);
	if (err)
		return err;
	batch->state = batch->state == CHARIO_BATCH_READY ? CHARIO_BATCH_LAST : CHARIO_BATCH_REST;
	if (!batch->submitted_ns)
		batch->submitted_ns = stream->submit_ns;
	return 0;
}

static int add_batches(struct chario_stream *stream)
{
	int err = 0;

	for (uint64_t i = stream->head; !err && i < stream->next; i++) {
		struct chario_batch *batch = chario_stream_batch(stream, i);

		if (is_ready(batch))
			err = add_batch(stream, batch, i % stream->nr_batches);
	}
	return err;
}

/*
 * Returns whether a caller's data may be written.  They are written before their batch, so
 * they must wait for the window by themselves: readers and the search for the head rely on
 * nothing behind the window being changed.
 */
static bool may_go(struct chario_stream *stream, const struct chario_external *external)
{
	return external->ready &&
	       chario_stream_in_window(stream, stream->batches[external->batch].header.segment);
}

static int add_externals(struct chario_stream *stream)
{
	int err = 0;

	for (uint32_t i = 0; !err && i < CHARIO_STREAM_EXTERNALS; i++) {
		struct chario_external *external = &stream->externals[i];

		if (!may_go(stream, external))
			continue;
		err = add(stream, &external->transfer, EXTERNAL_USER + i);
		external->ready = err;
	}
	return err;
}

static int add_flush(struct chario_stream *stream)
{
	const struct chario_transfer transfer = { .op = CHARIO_TRANSFER_FLUSH };
	int err = add(stream, &transfer, FLUSH_USER);

	if (err)
		return err;
	stream->flush_ready = false;
	stream->flush_flying = true;
	return 0;
}

/*
 * Returns whether no late transfer is left with the drive.  A late transfer would read
 * memory that holds another segment by then, and write it to the old place, over newer
 * data.  So nothing is submitted until the drive is done with all of that memory.  Callers'
 * buffers that were not late are not checked, because their owners may use them.
 */
static bool has_settled(struct chario_stream *stream)
{
	if (!stream->timed_out)
		return true;
	if (stream->in_flight || !chario_buffer_is_idle(stream->pool.buffer))
		return false;
	stream->timed_out = !chario_stream_are_others_idle(stream);
	return !stream->timed_out;
}

/* End the recording with an error. */
static void fail(struct chario_stream *stream, int err)
{
	if (stream->error)
		return;
	stream->error = err;
	for (uint32_t i = 0; i < CHARIO_STREAM_EXTERNALS; i++)
		if (stream->externals[i].ready && !stream->externals[i].late)
			chario_stream_release(stream, &stream->externals[i]);
	chario_stream_wake(stream);
}

static void add_all(struct chario_stream *stream)
{
	int err = 0;

	stream->submit_ns = chario_sys_now();
	if (stream->nr_externals)
		err = add_externals(stream);
	if (!err)
		err = add_batches(stream);
	if (!err && stream->flush_ready)
		err = add_flush(stream);
	if (err && err != -EAGAIN)
		fail(stream, err);
}

/* Submit all transfers with one doorbell; those without a place in the queue stay ready. */
void chario_stream_add_ready(struct chario_stream *stream)
{
	int err;

	if (!stream->nr_ready && !stream->submit_err)
		return;
	if (has_settled(stream))
		add_all(stream);
	else
		chario_stream_look_again(stream);
	err = chario_queue_submit(stream->queue);
	stream->submit_err = err;
	if (err == -EAGAIN || err == -ENOMEM)
		chario_stream_look_again(stream);
	else if (err)
		fail(stream, err);
}

static bool is_passing(int err)
{
	return err == -ETIMEDOUT || err == -EAGAIN || err == -EINTR;
}

/*
 * Judge a result.  Returns 0 if the transfer is over, 1 if it is to be repeated, or the
 * error that ends the recording.
 */
static int judge(struct chario_stream *stream, int err, uint32_t *retries)
{
	if (!err)
		return 0;
	if (stream->error || *retries == CHARIO_STREAM_RETRIES)
		return err;
	++*retries;
	stream->status.retries++;
	stream->nr_ready++;
	return 1;
}

/*
 * Judge the result of a write.  The data are still in memory, so a refused write is
 * repeated, too.  Unless all bytes were written, a command may be late, whatever the error
 * is.
 */
static int judge_write(struct chario_stream *stream, int64_t result, uint64_t bytes,
		       uint32_t *retries)
{
	int err = result < 0 ? (int)result : -EIO;

	if (result == (int64_t)bytes)
		return 0;
	stream->timed_out = true;
	return err == -EIO || is_passing(err) ? judge(stream, err, retries) : err;
}

/*
 * Judge the result of a flush.  A refused flush ends the recording: the kernel or the drive
 * may have dropped the data, whose buffers hold other records by now, and a later flush
 * would succeed without them.  A flush has no memory, so a late one need not be waited for.
 */
static int judge_flush(struct chario_stream *stream, int64_t result)
{
	int err = (int)result;

	return err && !is_passing(err) ? err : judge(stream, err, &stream->flush_retries);
}

static void note_time(struct chario_stream *stream, const struct chario_batch *batch)
{
	uint64_t ns = stream->reap_ns - batch->submitted_ns;

	chario_histogram_add(&stream->histogram, ns);
	stream->status.longest_ns = MAX(stream->status.longest_ns, ns);
	if (ns <= stream->options.late_ns)
		return;
	stream->status.late++;
	stream->status.late_ns += ns - stream->options.late_ns;
}

static void rest_ended(struct chario_stream *stream, struct chario_batch *batch)
{
	batch->state = batch->externals ? CHARIO_BATCH_EXTERNAL : CHARIO_BATCH_READY;
	stream->nr_ready += !batch->externals;
}

static void batch_ended(struct chario_stream *stream, struct chario_batch *batch, int64_t result)
{
	bool rest = batch->state == CHARIO_BATCH_REST;
	uint32_t from, bytes;
	int ret;

	get_extent(batch, &from, &bytes);
	ret = judge_write(stream, result, bytes, &batch->retries);
	if (ret < 0) {
		fail(stream, ret);
	} else if (ret > 0) {
		batch->state = rest ? CHARIO_BATCH_REST_READY : CHARIO_BATCH_READY;
	} else if (rest) {
		rest_ended(stream, batch);
	} else {
		batch->state = CHARIO_BATCH_DONE;
		note_time(stream, batch);
	}
}

static void external_ended(struct chario_stream *stream, struct chario_external *external,
			   int64_t result)
{
	struct chario_batch *batch = &stream->batches[external->batch];
	int ret = judge_write(stream, result, external->transfer.bytes, &external->retries);

	external->late = result != (int64_t)external->transfer.bytes;
	if (ret > 0) {
		external->ready = true;
		return;
	}
	/* The transfer is late; its buffer is released when the drive is done. */
	if (ret) {
		fail(stream, ret);
		return;
	}
	chario_stream_release(stream, external);
	batch->externals--;
	if (batch->state == CHARIO_BATCH_EXTERNAL && !batch->externals) {
		batch->state = CHARIO_BATCH_READY;
		stream->nr_ready++;
	}
}

static void flush_ended(struct chario_stream *stream, int64_t result)
{
	int ret = judge_flush(stream, result);

	stream->flush_flying = false;
	if (ret < 0) {
		fail(stream, ret);
	} else if (ret > 0) {
		stream->flush_ready = true;
	} else {
		stream->durable = stream->flushing;
		stream->dirty_ns = stream->flush_ns;
		stream->status.flushes++;
	}
}

static void take(struct chario_stream *stream, const struct chario_queue_result *result)
{
	uint64_t user = result->user;

	stream->in_flight--;
	if (user == FLUSH_USER)
		flush_ended(stream, result->result);
	else if (user >= EXTERNAL_USER)
		external_ended(stream, &stream->externals[user - EXTERNAL_USER], result->result);
	else
		batch_ended(stream, &stream->batches[user], result->result);
}

void chario_stream_drain(struct chario_stream *stream)
{
	struct chario_queue_result result;

	while (stream->in_flight && chario_queue_reap(stream->queue, &result, 1, -1) == 1)
		take(stream, &result);
	chario_stream_outlast(stream);
}

bool chario_stream_reap(struct chario_stream *stream)
{
	struct chario_queue_result results[NR_RESULTS];
	bool moved = false;
	int count;

	if (!stream->in_flight)
		return false;
	do {
		count = chario_queue_reap(stream->queue, results, NR_RESULTS, 0);
		if (count > 0)
			stream->reap_ns = chario_sys_now();
		for (int i = 0; i < count; i++)
			take(stream, &results[i]);
		moved |= count > 0;
	} while (count == NR_RESULTS);
	if (count < 0)
		fail(stream, count);
	return moved;
}
