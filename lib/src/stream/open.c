// SPDX-License-Identifier: LGPL-2.1-or-later OR MIT
/* Opening and closing a recording. */
#include "stream/inner.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/random.h>
#include <sys/timerfd.h>
#include <unistd.h>

#define MS 1000000ULL

#define FLUSH_DEFAULT (64ULL << 20)

/*
 * Largest number of segments that may be written and not durable: the search for the head
 * reads them.
 */
#define WINDOW_MAX 256U

/* At most one in so many segments of a ring may be missing after a power cut. */
#define RING_PART 8U

static void fill_in(struct chario_stream_options *options)
{
	options->flush_bytes = options->flush_bytes ?: FLUSH_DEFAULT;
	options->flush_ns = options->flush_ns ?: 1000 * MS;
	options->late_ns = options->late_ns ?: 100 * MS;
}

static int learn_device(struct chario_stream *stream)
{
	struct chario_info info;
	int err = chario_device_get_info(stream->device, &info, sizeof(info));

	if (err)
		return err;
	if (info.logical_block_bytes > CHARIO_DISK_BLOCK)
		return -EOPNOTSUPP;
	stream->cached = info.features & CHARIO_FEATURE_WRITE_CACHE;
	stream->block_bytes = info.logical_block_bytes;
	stream->alignment = info.dma_alignment_bytes ?: 1;
	stream->status.durability = stream->options.durability;
	if (stream->status.durability == CHARIO_DURABILITY_AUTO)
		stream->status.durability = stream->cached ? CHARIO_DURABILITY_FLUSH :
							     CHARIO_DURABILITY_NONE;
	return 0;
}

/*
 * Without flushes a segment is durable when it is complete, and the buffers are the window.
 * In a ring, only a part of the segments may be overwritten before the new ones are
 * durable.
 */
static uint32_t choose_window(const struct chario_stream *stream, uint64_t slots, bool ring)
{
	const struct chario_stream_options *options = &stream->options;
	uint64_t window = options->nr_buffers;

	if (stream->cached && stream->status.durability == CHARIO_DURABILITY_FLUSH)
		window += 2 * (options->flush_bytes / options->segment_bytes + 1);
	else if (stream->cached && stream->status.durability == CHARIO_DURABILITY_NONE)
		window = slots;
	window = MIN(window, WINDOW_MAX);
	if (ring && window > slots / RING_PART)
		window = slots < RING_PART ? 1 : slots / RING_PART;
	return (uint32_t)(window > slots ? slots : window);
}

static int get_random(uint64_t *number)
{
	ssize_t ret = getrandom(number, sizeof(*number), 0);

	return ret == sizeof(*number) ? 0 : ret < 0 ? -errno : -EIO;
}

/* Bytes that are left of the locked memory, for reading the area and its table. */
#define SPARE_BYTES (64U << 10)

/* Make the buffers, if that leaves some memory. */
static int make_buffers(struct chario_stream *stream, size_t spare_bytes)
{
	const struct chario_stream_options *options = &stream->options;
	struct chario_pool spare = { 0 };
	int err = chario_pool_create(&stream->pool, stream->device,
				     (size_t)options->segment_bytes * options->nr_buffers,
				     CHARIO_BUFFER_SOURCE);

	if (err)
		return err;
	err = chario_pool_create(&spare, stream->device, spare_bytes, CHARIO_BUFFER_SOURCE);
	chario_pool_destroy(err ? &stream->pool : &spare);
	return err;
}

/*
 * Make the buffers: as many and as long as the options say or, if there is no memory for that,
 * fewer and shorter ones, unless the caller has set the number or the length.  Those leave locked
 * memory for a reader, if there is enough.
 */
static int make_pool(struct chario_stream *stream, const struct chario_stream_options *asked,
		     uint64_t area_bytes)
{
	struct chario_stream_options *options = &stream->options;

	for (;;) {
		struct chario_stream_options less = *options;
		bool has_choice = chario_stream_choose_less(&less, asked, area_bytes);
		bool leaves = has_choice && stream->status.reduced;
		int err = make_buffers(stream, leaves ? options->segment_bytes : SPARE_BYTES);

		if (err != -ENOMEM || !has_choice)
			return err;
		*options = less;
		stream->status.reduced = 1;
	}
}

/* Plan a new recording and its entry in the table, and make its buffers. */
static int plan_new(struct chario_stream *stream, struct chario_area_stream *entry)
{
	const struct chario_stream_options asked = stream->options;
	struct chario_area_info info;
	uint64_t slots;
	int err = chario_area_get_info(stream->area, &info, sizeof(info));

	if (!err)
		err = chario_stream_choose_segments(&stream->options, info.allocated_bytes, &slots);
	if (!err)
		err = make_pool(stream, &asked, info.allocated_bytes);
	if (err)
		return err;
	slots = info.allocated_bytes / stream->options.segment_bytes;
	entry->segment_bytes = stream->options.segment_bytes;
	entry->ring = stream->options.flags & CHARIO_STREAM_RING;
	entry->window = choose_window(stream, slots, entry->ring);
	stream->window = entry->window;
	/*
	 * The table stores the lower half of the session with the end, or the complement of
	 * that, and 0 means that there is no end.
	 */
	do
		err = get_random(&entry->session);
	while (!err && (uint32_t)(entry->session + 1) <= 1);
	return err;
}

/* The segments of a recording that is continued stay as they are. */
static int make_pool_of_append(struct chario_stream *stream)
{
	const struct chario_stream_options asked = stream->options;

	chario_stream_choose_buffers(&stream->options, stream->tape.slots);
	return make_pool(stream, &asked, 0);
}

/*
 * Find the place for the new part, and mark the recording as continued in the table before anything
 * is written there.  In a ring the mark also tells which segments have been skipped: the new part
 * overwrites the oldest segments, whose headers look as before until the new ones are whole.
 */
static int begin_append(struct chario_stream *stream, const struct chario_area_stream *entry)
{
	struct store_end end = entry->end;
	bool skips;
	int err;

	stream->window = choose_window(stream, stream->tape.slots, stream->tape.ring);
	stream->window = MIN(stream->window, stream->tape.window);
	err = chario_stream_find_end(stream, entry);
	if (err)
		return err;
	skips = stream->tape.ring && stream->next_segment > stream->tape.seen &&
		stream->next_segment > stream->tape.reached;
	if (skips)
		end = chario_stream_end_now(stream);
	else if (entry->continued || !end.time_ns)
		return 0;
	return chario_area_continue_stream(stream->area, &end);
}

static int find_place(struct chario_stream *stream)
{
	uint64_t bytes = stream->tape.slots * stream->tape.segment_bytes;
	uint64_t there = chario_area_place(stream->area, 0, bytes, &stream->disk_offset);

	return there < bytes ? -EBUSY : 0;
}

/*
 * A full ring of batches only makes the next batch wait for the oldest one.  There is room for two
 * of each segment, one that is being written and one behind it, and for two more.
 */
static int make_batches(struct chario_stream *stream)
{
	uint32_t buffers = stream->options.nr_buffers;

	stream->nr_batches = 2 * buffers + 2;
	stream->batches = calloc(stream->nr_batches, sizeof(*stream->batches));
	stream->seeds = calloc(buffers, sizeof(*stream->seeds));
	if (!stream->batches || !stream->seeds)
		return -ENOMEM;
	return chario_queue_open(stream->device, stream->nr_batches + CHARIO_STREAM_EXTERNALS + 1,
				 0, &stream->queue);
}

static int watch(const struct chario_stream *stream, int fd)
{
	struct epoll_event event = { .events = EPOLLIN };

	return epoll_ctl(stream->epoll, EPOLL_CTL_ADD, fd, &event) ? -errno : 0;
}

static int make_descriptors(struct chario_stream *stream)
{
	int err;

	stream->timer = timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC | TFD_NONBLOCK);
	if (stream->timer < 0)
		return -errno;
	stream->wake = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK | EFD_SEMAPHORE);
	if (stream->wake < 0)
		return -errno;
	stream->epoll = epoll_create1(EPOLL_CLOEXEC);
	if (stream->epoll < 0)
		return -errno;
	err = watch(stream, stream->timer);
	return err ? err : watch(stream, chario_queue_fd(stream->queue));
}

static void destroy(struct chario_stream *stream)
{
	chario_queue_close(stream->queue);
	chario_scope_close(&stream->epoll);
	chario_scope_close(&stream->wake);
	chario_scope_close(&stream->timer);
	chario_pool_destroy(&stream->pool);
	free(stream->seeds);
	free(stream->batches);
	chario_pool_destroy(&stream->tape.block);
	chario_area_close(stream->area);
	pthread_mutex_destroy(&stream->lock);
	free(stream);
}

static int plan_append(struct chario_stream *stream, const struct chario_area_stream *entry)
{
	struct chario_stream_options *options = &stream->options;

	if (options->segment_bytes && options->segment_bytes != entry->segment_bytes)
		return -EINVAL;
	if (options->flags & CHARIO_STREAM_RING && !entry->ring)
		return -EINVAL;
	options->segment_bytes = entry->segment_bytes;
	return 0;
}

/*
 * Plan what is to be done with the area: *@append is set if its recording is continued.  Nobody
 * else begins one there as long as the area is open.
 */
static int plan(struct chario_stream *stream, struct chario_area_stream *entry, bool *append)
{
	uint32_t flags = stream->options.flags;
	int err = 0;

	*append = flags & CHARIO_STREAM_APPEND;
	if (*append)
		err = chario_area_get_stream(stream->area, entry);
	if (err == -ENODATA && flags & CHARIO_STREAM_BEGIN) {
		*append = false;
		err = 0;
	}
	if (!err && !*append && flags & CHARIO_STREAM_EXCL)
		err = chario_stream_check_unused(stream->area);
	if (err)
		return err;
	return *append ? plan_append(stream, entry) : plan_new(stream, entry);
}

/* Change the table last: if anything fails before, the old recording stays. */
static int set_up(struct chario_stream *stream, struct chario_store *store, const char *name)
{
	struct chario_area_stream entry = { 0 };
	bool append;
	int err = chario_area_open(store, name, O_RDWR, &stream->area);

	if (err)
		return err;
	stream->device = stream->area->store->device;
	err = learn_device(stream);
	if (!err)
		err = plan(stream, &entry, &append);
	if (!err)
		err = chario_tape_init(&stream->tape, stream->area, &entry);
	if (!err && append)
		err = make_pool_of_append(stream);
	if (err)
		return err;
	stream->status.least_free_buffers = stream->options.nr_buffers;
	stream->clean_from = stream->tape.ring ? 0 : UINT64_MAX;
	err = find_place(stream);
	if (!err)
		err = get_random(&stream->part);
	if (!err)
		err = make_batches(stream);
	if (!err)
		err = make_descriptors(stream);
	if (err)
		return err;
	return append ? begin_append(stream, &entry) : chario_area_set_stream(stream->area, &entry);
}

int chario_stream_open(struct chario_store *store, const char *name,
		       const struct chario_stream_options *options, struct chario_stream **stream)
{
	static const struct chario_stream_options usual = { .size = sizeof(usual) };
	struct chario_stream *made;
	int err = chario_stream_check_options(options ? options : &usual);

	if (err)
		return err;
	made = calloc(1, sizeof(*made));
	if (!made)
		return -ENOMEM;
	pthread_mutex_init(&made->lock, NULL);
	made->options = options ? *options : usual;
	fill_in(&made->options);
	made->timer_ns = UINT64_MAX;
	made->timer = made->wake = made->epoll = -1;
	err = set_up(made, store, name);
	if (err) {
		destroy(made);
		return err;
	}
	chario_stream_look_at_clock(made, CLOCK_MONOTONIC_COARSE);
	chario_stream_begin_clock(made);
	*stream = made;
	return 0;
}

int chario_stream_close(struct chario_stream *stream)
{
	int err;

	if (!stream)
		return 0;
	if (!chario_pool_is_ours(&stream->pool))
		return -EPERM;
	err = chario_stream_end(stream);
	destroy(stream);
	return err;
}
