// SPDX-License-Identifier: LGPL-2.1-or-later OR MIT
/*
 * The fit of a recording in an area: the length of its segments and the number of buffers.
 *
 * A room lies in one segment.  The space behind the last room is lost, unless the length of
 * segments is chosen to match the rooms.
 */
#include "stream/inner.h"

#include <errno.h>

#include "system/sys.h"

#define SEGMENT_DEFAULT (4U << 20)
#define MEMORY_WANTED   (64U << 20)

/* Number of buffers: that of the caller, and the usual one. */
#define BUFFERS_MIN       2U
#define BUFFERS_MAX       64U
#define BUFFERS_MIN_USUAL 3U
#define BUFFERS_DEFAULT   8U

/* If memory is short, there are no fewer buffers than these before segments are shorter. */
#define BUFFERS_BEFORE_SHORTER 4U

/* Shortest segment that is chosen because the locked memory of the process is limited. */
#define SEGMENT_LEAST (64U << 10)

/* Smallest number of segments in an area, unless the caller says otherwise. */
#define SEGMENTS_WANTED      16U
#define RING_SEGMENTS_WANTED 64U

/* Rooms shorter than this part of a segment fit any segment. */
#define SMALL_PART 32U

/* A room this long begins at a block, so it fits even if a batch has to end early. */
#define BLOCK_PART (32 * CHARIO_DISK_BLOCK)

int chario_stream_check_options(const struct chario_stream_options *options)
{
	uint32_t known = CHARIO_STREAM_RING | CHARIO_STREAM_APPEND | CHARIO_STREAM_NO_CRC |
			 CHARIO_STREAM_DENSE | CHARIO_STREAM_EXCL | CHARIO_STREAM_BEGIN;
	uint32_t bytes = options->segment_bytes;

	if (options->size < sizeof(*options) || options->flags & ~known ||
	    options->durability > CHARIO_DURABILITY_FUA ||
	    options->record_bytes > CHARIO_DISK_SEGMENT_MAX - CHARIO_DISK_FIRST_DATA)
		return -EINVAL;
	if (options->flags & CHARIO_STREAM_BEGIN && !(options->flags & CHARIO_STREAM_APPEND))
		return -EINVAL;
	if (bytes && (bytes % CHARIO_DISK_BLOCK || bytes < CHARIO_DISK_SEGMENT_MIN ||
		      bytes > CHARIO_DISK_SEGMENT_MAX))
		return -EINVAL;
	if (options->nr_buffers &&
	    (options->nr_buffers < BUFFERS_MIN || options->nr_buffers > BUFFERS_MAX))
		return -EINVAL;
	/* A longer interval would end beyond the range of the timer. */
	return options->flush_ns > INT64_MAX / 2 ? -EINVAL : 0;
}

/*
 * Rooms of one length in a segment: offset of the first room's data, and distance between
 * rooms.
 */
struct grid {
	uint32_t record_bytes;
	uint32_t first;
	uint32_t step;
};

static struct grid grid_of(const struct chario_stream_options *options)
{
	uint32_t bytes = options->record_bytes;
	struct grid grid = { .record_bytes = bytes, .first = CHARIO_DISK_FIRST_DATA };

	grid.step = chario_disk_round(bytes, CHARIO_DISK_HEADER_ALIGN) +
		    (uint32_t)sizeof(struct chario_disk_record);
	if (bytes >= BLOCK_PART) {
		grid.step = chario_disk_round(bytes + CHARIO_DISK_FIRST_DATA, CHARIO_DISK_BLOCK);
	} else if (!(options->flags & CHARIO_STREAM_DENSE) || bytes >= CHARIO_DISK_DENSE_END) {
		grid.step = chario_disk_round(grid.step, CHARIO_DISK_DATA_ALIGN);
	}
	return grid;
}

/* Returns the least number of rooms that a segment has. */
static uint32_t count_rooms(uint32_t segment_bytes, const struct grid *grid)
{
	uint32_t space = segment_bytes - grid->first;

	return grid->record_bytes > space ? 0 : (space - grid->record_bytes) / grid->step + 1;
}

static uint32_t segment_of(uint32_t rooms, const struct grid *grid)
{
	uint32_t bytes = chario_disk_round(
		grid->first + (rooms - 1) * grid->step + grid->record_bytes, CHARIO_DISK_BLOCK);

	return bytes < CHARIO_DISK_SEGMENT_MIN ? CHARIO_DISK_SEGMENT_MIN : bytes;
}

/* Returns @usual, or a shorter length that wastes less of the area. */
static uint32_t fit_rooms(uint64_t area_bytes, uint32_t usual, const struct grid *grid)
{
	uint32_t most = count_rooms(usual, grid);
	uint32_t best = segment_of(most ? most : 1, grid);
	uint64_t best_rooms = area_bytes / best * (most ? most : 1);

	for (uint32_t rooms = most; rooms > 1; rooms--) {
		uint32_t bytes = segment_of(rooms - 1, grid);
		uint64_t all = area_bytes / bytes * count_rooms(bytes, grid);

		/*
		 * Prefer longer segments, unless the gain is over 1/64: short ones cost
		 * more commands.
		 */
		if (all <= best_rooms + best_rooms / 64)
			continue;
		best = bytes;
		best_rooms = all;
	}
	return best;
}

/* Choose a length of segments, not longer than @usual unless a record is. */
static uint32_t choose_segment(const struct chario_stream_options *options, uint64_t area_bytes,
			       uint32_t usual)
{
	const struct grid grid = grid_of(options);
	bool ring = options->flags & CHARIO_STREAM_RING;
	uint32_t wanted = ring ? RING_SEGMENTS_WANTED : SEGMENTS_WANTED;

	while (usual > CHARIO_DISK_SEGMENT_MIN && area_bytes / usual < wanted)
		usual /= 2;
	if (options->record_bytes < usual / SMALL_PART)
		return usual;
	return fit_rooms(area_bytes, usual, &grid);
}

void chario_stream_choose_buffers(struct chario_stream_options *options, uint64_t slots)
{
	uint32_t buffers = MEMORY_WANTED / options->segment_bytes;

	buffers = MIN(buffers, BUFFERS_DEFAULT);
	buffers = MAX(buffers, BUFFERS_MIN_USUAL);
	options->nr_buffers = options->nr_buffers ?: (uint32_t)MIN(buffers, slots);
}

int chario_stream_choose_segments(struct chario_stream_options *options, uint64_t area_bytes,
				  uint64_t *slots)
{
	if (!options->segment_bytes)
		options->segment_bytes = choose_segment(options, area_bytes, SEGMENT_DEFAULT);
	*slots = area_bytes / options->segment_bytes;
	if (*slots < 2)
		return -ENOSPC;
	chario_stream_choose_buffers(options, *slots);
	return 0;
}

/*
 * Four buffers hide the time of a write as well as eight.  With fewer the producer waits more
 * often, so that shorter segments are chosen before them.
 */
bool chario_stream_choose_less(struct chario_stream_options *options,
			       const struct chario_stream_options *asked, uint64_t area_bytes)
{
	bool may_shorten = area_bytes && !asked->segment_bytes;
	uint32_t least = BUFFERS_BEFORE_SHORTER, bytes = options->segment_bytes;

	if (may_shorten)
		bytes = choose_segment(options, area_bytes, options->segment_bytes / 2);
	may_shorten = bytes >= SEGMENT_LEAST && bytes < options->segment_bytes;
	if (!may_shorten)
		least = BUFFERS_MIN;
	if (!asked->nr_buffers && options->nr_buffers > least) {
		options->nr_buffers = MAX(options->nr_buffers / 2, least);
		return true;
	}
	if (may_shorten)
		options->segment_bytes = bytes;
	return may_shorten;
}

int chario_stream_get_fit(uint64_t area_bytes, const struct chario_stream_options *options,
			  struct chario_stream_fit *fit, size_t size)
{
	struct chario_stream_options chosen = { .size = sizeof(chosen) };
	struct chario_stream_fit found = { .size = sizeof(found) };
	uint64_t rounded;
	int err;

	if (options)
		chosen = *options;
	if (chosen.flags & CHARIO_STREAM_APPEND ||
	    __builtin_add_overflow(area_bytes, CHARIO_DISK_BLOCK - 1, &rounded))
		return -EINVAL;
	err = chario_stream_check_options(&chosen);
	if (!err)
		err = chario_stream_choose_segments(
			&chosen, rounded / CHARIO_DISK_BLOCK * CHARIO_DISK_BLOCK, &found.segments);
	if (err)
		return err;
	found.segment_bytes = chosen.segment_bytes;
	found.nr_buffers = chosen.nr_buffers;
	found.bytes = found.segments * (chosen.segment_bytes - CHARIO_DISK_FIRST_DATA);
	if (chosen.record_bytes) {
		const struct grid grid = grid_of(&chosen);

		found.records = found.segments * count_rooms(chosen.segment_bytes, &grid);
		found.bytes = found.records * chosen.record_bytes;
	}
	return chario_sys_give(fit, size, &found, sizeof(found), sizeof(found));
}
