// SPDX-License-Identifier: MIT
/*
 * Ranges and places of times in recordings whose times go back, and of which segments are
 * missing: compared with what all of their records say.
 */
#include <chario/player.h>

#include <sys/param.h>

#include "clocks.h"
#include "stream/format.h"
#include "tap.h"

/* A segment holds two of the longer records. */
#define HALF    3500U
#define SECOND  1000000000ULL
#define TENTH   (SECOND / 10)
#define RECORDS 32
#define SLOTS   512U
#define BYTES   ((uint64_t)SLOTS * RIG_SEGMENT)

/* struct steps - records whose times are evenly spaced, in tenths of a second */
struct steps {
	uint64_t from, step, records;
};

/* struct shape - a recording of two records a segment, and the damage to it */
struct shape {
	const char *name;
	struct steps steps[6];
	bool is_steady; /* the times are those of the clock, not the producer's */
	uint64_t part, room; /* records before which one begins, and one is taken; or 0 */
	uint64_t behind; /* record behind which the room is committed, if it is not the next */
	uint64_t late; /* time of the record that the room gets behind the next; 0 for none */
	uint64_t gone, gone_to; /* segments that are destroyed, from one up to before another */
	uint32_t from, to; /* bytes that are, from one up to before another, or to the end if 0 */
	uint64_t far; /* segment whose first header tells an early time, and no record near it; or 0 */
};

static const struct shape shapes[] = {
	{ "ahead", .steps = { { 20, 10, 2 }, { 900, 10, 3 } }, .is_steady = true },
	{ "back", .steps = { { 900, 10, 2 }, { 20, 10, 5 } }, .is_steady = true },
	{ "back and ahead",
	  .steps = { { 900, 0, 1 }, { 780, 10, 2 }, { 1000, 10, 3 }, { 800, 0, 1 } },
	  .is_steady = true },
	{ "at 1970", .steps = { { 20, 10, 2 }, { 1, 9, 2 }, { 900, 0, 1 } }, .is_steady = true },
	{ "headers without a record", .steps = { { 1000, 20, 16 } }, .far = 4 },
	{ "earlier part", .steps = { { 900, 10, 3 }, { 20, 10, 2 }, { 960, 10, 2 } }, .part = 3 },
	{ "frames out of order", .steps = { { 1000, 5, 6 },
					    { 1019, 2, 2 },
					    { 1026, 5, 2 },
					    { 1025, 2, 2 },
					    { 1032, 5, 2 },
					    { 1031, 2, 2 } } },
	{ "back by less than a second", .steps = { { 1000, 3, 5 }, { 1005, 3, 6 } }, .part = 7 },
	{ "back in the last segment", .steps = { { 1000, 10, 5 }, { 500, 0, 1 } } },
	{ "back in the last segment of a part",
	  .steps = { { 1000, 10, 5 }, { 500, 0, 1 }, { 2000, 10, 5 }, { 510, 0, 1 } }, .part = 6 },
	{ "back before a missing segment", .steps = { { 50000, 10, 5 }, { 10000, 10, 7 } },
	  .gone = 3, .gone_to = 4 },
	{ "back behind missing data",
	  .steps = { { 9005, 150, 6 }, { 10000, 0, 1 }, { 9000, 10, 9 } }, .gone = 3, .gone_to = 4,
	  .from = 200, .to = 3000 },
	{ "back in a missing segment", .steps = { { 50000, 10, 6 }, { 10000, 10, 6 } }, .gone = 3,
	  .gone_to = 4 },
	{ "missing data", .steps = { { 1000, 10, 14 } }, .gone = 3, .gone_to = 4, .from = 200 },
	{ "missing segments", .steps = { { 1000, 10, 18 }, { 500, 10, 2 } }, .gone = 4,
	  .gone_to = 7 },
	{ "missing from the beginning", .steps = { { 1000, 10, 8 } }, .gone_to = 2 },
	{ "committed late", .steps = { { 1000, 1, 4 }, { 1060, 10, 6 } }, .room = 3, .late = 1050 },
	{ "committed late, back", .steps = { { 900, 10, 3 }, { 1000, 0, 1 }, { 600, 10, 8 } },
	  .room = 3, .late = 500 },
	{ "back by over a second at an earlier part",
	  .steps = { { 1000, 10, 10 },
		     { 1100, 0, 1 },
		     { 1095, 0, 1 },
		     { 1092, 1, 2 },
		     { 1085, 1, 3 },
		     { 1096, 10, 2 } },
	  .part = 14 },
	{ "committed late, ahead",
	  .steps = { { 1000, 0, 3 }, { 991, 0, 1 }, { 1006, 0, 1 }, { 1020, 10, 5 } }, .room = 2,
	  .late = 1009 },
	{ "committed later, back", .steps = { { 900, 10, 3 }, { 1000, 50, 2 }, { 1100, 10, 5 } },
	  .room = 3, .behind = 4, .late = 1055 },
	{ "back bit by bit", .steps = { { 1000, 0, 2 },
					{ 994, 0, 2 },
					{ 988, 0, 2 },
					{ 982, 0, 2 },
					{ 1000, 10, 3 } } },
	{ "back bit by bit, and soon again", .steps = { { 1000, 1, 2 },
							{ 995, 1, 2 },
							{ 996, 1, 2 },
							{ 992, 1, 2 },
							{ 985, 14, 2 },
							{ 1100, 10, 2 } } },
	{ "a room given back", .steps = { { 1000, 20, 12 } }, .room = 6 },
};

#define NR_SHAPES (sizeof(shapes) / sizeof(shapes[0]))

/* Flags of the recordings. */
static uint32_t flags;

/* The times by number of all records that were made, and those that a reader gives. */
static uint64_t made[RECORDS];
static struct chario_record given[RECORDS], taken[RECORDS];
static unsigned int nr_made, nr_given, nr_taken;

static int take(const struct chario_record *record, void *data)
{
	if (nr_taken == RECORDS)
		return -1;
	taken[nr_taken++] = *record;
	return 0;
}

static int write_at(const struct shape *shape, uint64_t tenths, uint64_t n)
{
	static struct chario_stream_room room;
	bool has_room = n && n == shape->room;
	unsigned char memory[HALF];
	int err = has_room ? rig_get(HALF, &room) : 0;

	made[nr_made] = shape->late;
	nr_made += has_room;
	made[nr_made] = tenths;
	lab_fill(memory, HALF, nr_made++);
	clock_ns = (int64_t)((shape->is_steady ? tenths : 10) * TENTH);
	boot_ns += (int64_t)SECOND;
	err = err   ?:
		      chario_stream_write(rig.stream, memory, HALF,
					  shape->is_steady ? 0 : tenths * TENTH, 0, -1);
	if (err || !n || n != MAX(shape->room, shape->behind))
		return err;
	return chario_stream_commit(rig.stream, &room, shape->late ? HALF : 0, shape->late * TENTH,
				    0);
}

/* Have a batch tell of a first record at the end of a block, and of a time of the clock. */
static void tell_far(uint64_t segment)
{
	struct chario_disk_batch *batch = (void *)rig_place(segment * RIG_SEGMENT);

	if (!segment)
		return;
	batch->bytes = RIG_SEGMENT;
	batch->header_bytes = CHARIO_DISK_BLOCK - 40;
	batch->time_ns = SECOND;
	chario_disk_batch_sign(batch);
}

/* Record a shape, damage it, and read all that is left. */
static int make(const struct shape *shape)
{
	uint64_t n = 0;
	int err;

	nr_made = nr_given = 0;
	memset(made, 0, sizeof(made));
	err = rig_open_as(flags);
	for (const struct steps *steps = shape->steps; steps < shape->steps + 6; steps++)
		for (uint64_t i = 0; i < steps->records && !err; i++, n++) {
			if (n && n == shape->part)
				err = rig_close() ?: rig_open_as(flags | CHARIO_STREAM_APPEND);
			err = err ?: write_at(shape, steps->from + i * steps->step, n);
		}
	/* The end has a segment of its own, with the time of the clock. */
	err = err ?: rig_wait() ?: rig_close() ?: rig_open_reader();
	for (uint64_t i = shape->gone; i < shape->gone_to; i++)
		memset(rig_place(i * RIG_SEGMENT + shape->from), 0,
		       (shape->to ?: RIG_SEGMENT) - shape->from);
	tell_far(shape->far);
	while (!err && !(err = rig_next()))
		given[nr_given++] = rig.record;
	rig_close_reader();
	return err == -ENODATA ? 0 : err;
}

static int side_of(uint64_t at_ns, uint64_t from_ns, uint64_t until_ns)
{
	return at_ns < from_ns ? -1 : until_ns && at_ns > until_ns;
}

/*
 * Count the missing records of a range, or at most those between records that are not all on one
 * side of it, or between which the clock was set back.
 */
static uint64_t count_missing(uint64_t from_ns, uint64_t until_ns, bool is_most)
{
	uint64_t next = 0, count = 0, last_ns = from_ns ? 0 : 1;

	for (unsigned int i = 0; i <= nr_given; i++) {
		uint64_t end = i < nr_given ? given[i].sequence : nr_made;
		uint64_t at_ns = i < nr_given ? given[i].time_ns : UINT64_MAX;
		int side = side_of(at_ns, from_ns, until_ns);
		bool is_beside = side && side == side_of(last_ns, from_ns, until_ns) &&
				 !chario_disk_turns(last_ns, at_ns);

		for (; next < end; next++)
			if (made[next] &&
			    (is_most ? !is_beside :
				       !side_of(made[next] * TENTH, from_ns, until_ns)))
				count++;
		next++;
		last_ns = at_ns;
	}
	return count;
}

/* A read that fails, and goes well when it is tried again. */
static struct log_fault fault;

/* All records of a range are given, and no others; those of it that are missing count. */
static bool is_range_right(uint64_t from_ns, uint64_t until_ns)
{
	struct chario_player player = {
		.size = sizeof(player),
		.from_ns = from_ns,
		.until_ns = until_ns,
		.limit_errors = 1,
		.take = take,
	};
	unsigned int count = 0;
	bool is_right = !rig_open_reader();

	nr_taken = 0;
	rig.disk->faults = (struct log_faults){ .read = fault, .error = -ETIMEDOUT };
	is_right &= !chario_player_run(rig.reader, &player);
	rig.disk->faults = (struct log_faults){ 0 };
	rig_close_reader();
	for (unsigned int i = 0; i < nr_given; i++)
		if (!side_of(given[i].time_ns, from_ns, until_ns))
			is_right &= taken[count++].sequence == given[i].sequence;
	is_right &= count == nr_taken &&
		    player.missing >= count_missing(from_ns, until_ns, false) &&
		    player.missing <= count_missing(from_ns, until_ns, true);
	if (!is_right)
		printf("# from %llu to %llu: %u records of %u, %llu missing\n",
		       (unsigned long long)(from_ns / TENTH),
		       (unsigned long long)(until_ns / TENTH), nr_taken, count,
		       (unsigned long long)player.missing);
	return is_right;
}

/* Of the first records of each run that are not before a time, the place is the earliest. */
static bool is_place_right(uint64_t goal_ns)
{
	const struct chario_record *best = NULL;
	uint64_t latest = 0;
	bool is_found = false;
	int err;

	for (const struct chario_record *record = given; record < given + nr_given; record++) {
		if (chario_disk_turns(latest, record->time_ns))
			latest = is_found = false;
		latest = MAX(latest, record->time_ns);
		if (record->time_ns < goal_ns || is_found)
			continue;
		is_found = true;
		if (!best || record->time_ns < best->time_ns)
			best = record;
	}
	err = rig_open_reader() ?: chario_reader_seek_time(rig.reader, goal_ns) ?: rig_next();
	rig_close_reader();
	if (best ? !err && rig.record.sequence == best->sequence : err == -ENODATA)
		return true;
	printf("# place of %llu: error %d, record %llu\n", (unsigned long long)(goal_ns / TENTH),
	       err, (unsigned long long)rig.record.sequence);
	return false;
}

/* Have a recording look like one of the first release, which had no times in its batches. */
static void forget_times(void)
{
	unsigned char *area = rig_place(0);

	for (uint64_t at = 0; at < BYTES; at += CHARIO_DISK_BLOCK) {
		struct chario_disk_batch *batch = (void *)(area + at);

		if (batch->magic != CHARIO_DISK_BATCH_MAGIC)
			continue;
		batch->flags &= ~(CHARIO_DISK_BATCH_TIMES | CHARIO_DISK_BATCH_STEADY);
		batch->seal = 0;
		chario_disk_batch_sign(batch);
	}
}

TEST(test_shapes, "ranges and places of times are found, whatever is missing")
{
	for (size_t i = 0; i < 2 * NR_SHAPES; i++) {
		const struct shape *shape = &shapes[i / 2];

		/* The headers of the first release tell no times inside segments. */
		if (i % 2 && (shape->part || shape->room))
			continue;
		printf("# %s%s\n", shape->name, i % 2 ? ", of the first release" : "");
		EQUAL(make(shape), 0);
		if (i % 2)
			forget_times();
		for (const uint64_t *from = made; from < made + nr_made; from++) {
			CHECK(is_place_right(*from * TENTH));
			CHECK(is_place_right(*from * TENTH + 1));
			CHECK(is_range_right(0, *from * TENTH));
			CHECK(is_range_right(*from * TENTH, 0));
			for (const uint64_t *until = made; until < made + nr_made; until++)
				CHECK(is_range_right(*from * TENTH, *until * TENTH));
		}
	}
}

/* Where data have no checksum, a read behind that of the data may fail as well. */
TEST(test_errors, "ranges of times are found in spite of errors")
{
	flags = CHARIO_STREAM_RING | CHARIO_STREAM_NO_CRC;
	EQUAL(make(&shapes[NR_SHAPES - 1]), 0);
	for (fault = (struct log_fault){ .times = 1 }; fault.after < 100; fault.after++) {
		CHECK(is_range_right(made[9] * TENTH, 0));
		CHECK(is_range_right(0, made[1] * TENTH));
	}
}

/* Every other run begins 10000 s earlier. */
static uint64_t time_of(uint64_t run, uint64_t record)
{
	return (10000 * (run % 2 + 1) + record) * SECOND;
}

/*
 * A long recording in a ring, whose clock goes back every so many records, is searched with
 * few reads; one of the first release header by header.
 */
TEST(test_long, "times that go back are searched, also of the first release")
{
	const uint64_t records = 7 * SLOTS, turn = records / 3;
	struct chario_player player = { .size = sizeof(player), .until_ns = SECOND, .take = take };
	uint64_t reads;

	EQUAL(rig_open_as(CHARIO_STREAM_RING), 0);
	for (uint64_t i = 0; i < records; i++)
		EQUAL(record_at(i, time_of(i / turn, i), 0), 0);
	EQUAL(rig_close(), 0);
	for (unsigned int i = 0; i < 2; i++) {
		EQUAL(rig_open_reader(), 0);
		for (uint64_t j = records - 6 * (SLOTS - 2); j < records; j += 7) {
			reads = rig.disk->nr_reads;
			EQUAL(chario_reader_seek_time(rig.reader, time_of(j / turn, j)), 0);
			EQUAL(rig_next(), 0);
			EQUAL(rig.record.sequence, j);
			CHECK(i || rig.disk->nr_reads - reads < SLOTS / 2);
		}
		/* Of a run, all behind the range is left out. */
		EQUAL(chario_reader_seek(rig.reader, 0), 0);
		reads = rig.disk->nr_reads;
		EQUAL(chario_player_run(rig.reader, &player), 0);
		CHECK(i || rig.disk->nr_reads - reads < SLOTS);
		rig_close_reader();
		forget_times();
	}
}

TEST_MAIN_WITH(rig_begin(BYTES, true), rig_end())
