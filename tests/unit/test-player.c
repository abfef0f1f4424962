// SPDX-License-Identifier: MIT
/*
 * Players: what a recording on a disk in memory has is given to a function.
 */
#include <chario/player.h>

#include "clocks.h"

#define STOPPED 77

/* The time of the clock when a test begins. */
#define BEGIN_NS 5000000000LL
#define SECOND   1000000000LL

/* Records that a test may take. */
#define MOST_TAKEN 64

static struct chario_player player;
static unsigned int waits, faults;

/* The numbers of the records taken, and the times of the clock when they were. */
static uint64_t taken[MOST_TAKEN];
static int64_t taken_ns[MOST_TAKEN];
static unsigned int nr_taken;

/* Callback results: that of the nth record, the nth wait and the nth error is STOPPED. */
static unsigned int last_record, last_wait, last_fault;

/* Work of a callback at a wait, or NULL. */
static void (*at_wait)(void);

static int take(const struct chario_record *record, void *data)
{
	bool is_right = lab_is(record->memory, record->bytes, record->sequence);

	if (data != &player || !is_right || nr_taken == MOST_TAKEN)
		return -1;
	taken[nr_taken] = record->sequence;
	taken_ns[nr_taken++] = boot_ns - BEGIN_NS;
	return nr_taken == last_record ? STOPPED : 0;
}

static int fault(int err, void *data)
{
	return err != -ETIMEDOUT || data != &player ? -1 : ++faults == last_fault ? STOPPED : 0;
}

static int wait_more(const struct chario_player *now, void *data)
{
	if (now != &player || data != &player)
		return -1;
	if (at_wait)
		at_wait();
	return ++waits == last_wait ? STOPPED : 0;
}

static void before(void)
{
	boot_ns = BEGIN_NS;
	naps = waits = faults = nr_taken = last_record = last_wait = last_fault = 0;
	at_wait = NULL;
	rig_begin_usual();
	player = (struct chario_player){
		.size = sizeof(player),
		.take = take,
		.fault = fault,
		.wait = wait_more,
		.data = &player,
	};
}

/* A run returns a status, and the player says why it has ended. */
#define ENDS(status, why)               \
	do {                            \
		EQUAL(run(), status);   \
		EQUAL(player.end, why); \
	} while (0)

/* Make a recording with so many records, and open it; the stream stays open. */
static int begin(uint64_t records)
{
	return rig_open(&rig_small)                   ?:
		       rig_record(0, records, RECORD) ?:
		       rig_wait()                     ?:
							rig_open_reader();
}

/* The same, ended. */
static int begin_ended(uint64_t records)
{
	return begin(records) ?: rig_close();
}

static int run(void)
{
	return chario_player_run(rig.reader, &player);
}

/* Whether these records were taken, from one number to before another. */
static bool took(uint64_t from, uint64_t to)
{
	for (uint64_t i = 0; i < to - from; i++)
		if (i >= nr_taken || taken[i] != from + i)
			return false;
	return nr_taken == to - from && player.records == nr_taken &&
	       player.bytes == nr_taken * RECORD;
}

TEST(test_all, "all records are given, up to the newest")
{
	EQUAL(begin(20), 0);
	ENDS(0, CHARIO_PLAYER_SOURCE);
	CHECK(took(0, 20));
	EQUAL(player.missing + player.errors, 0);
	EQUAL(naps + waits, 0);
	/* The reader is behind the last record, and a run counts its own records. */
	EQUAL(rig_close(), 0);
	nr_taken = 0;
	ENDS(0, CHARIO_PLAYER_SOURCE);
	CHECK(took(0, 0));
}

TEST(test_limits, "a player ends at its limits and by its callback")
{
	EQUAL(begin_ended(20), 0);
	player.limit_records = 3;
	ENDS(0, CHARIO_PLAYER_LIMIT);
	CHECK(took(0, 3));
	player.limit_records = 0;
	/* The time of a record is its number and 1. */
	player.until_ns = 7;
	nr_taken = 0;
	ENDS(0, CHARIO_PLAYER_LIMIT);
	CHECK(took(3, 7));
	EQUAL(chario_reader_seek(rig.reader, 8), 0);
	player.limit_records = last_record = 1;
	player.until_ns = nr_taken = 0;
	ENDS(STOPPED, CHARIO_PLAYER_STOPPED);
	CHECK(took(8, 9));
}

/* Marked records are passed over, but records that are missing before them count. */
TEST(test_meta, "marked records are given only if asked for")
{
	EQUAL(rig_open(&rig_small), 0);
	EQUAL(record_at(0, 1, 0), 0);
	EQUAL(chario_stream_lose(rig.stream, 2, 0), 0);
	EQUAL(record_at(3, 2, CHARIO_RECORD_META), 0);
	EQUAL(record_at(4, 3, 0), 0);
	EQUAL(rig_read_back(), 0);
	EQUAL(run(), 0);
	EQUAL(player.records, 2);
	EQUAL(taken[1], 4);
	EQUAL(player.missing, 2);
	EQUAL(chario_reader_seek(rig.reader, 0), 0);
	player.flags = CHARIO_PLAYER_META;
	EQUAL(run(), 0);
	EQUAL(player.records, 3);
}

/* A lost block is no error, and records behind the last one are missing as well. */
TEST(test_missing, "records that are missing count")
{
	EQUAL(begin(20), 0);
	EQUAL(chario_stream_lose(rig.stream, 3, 0), 0);
	EQUAL(rig_close(), 0);
	rig_spoil(RIG_SEGMENT, 4096);
	EQUAL(run(), 0);
	CHECK(player.records < 20);
	EQUAL(player.records + player.missing, 23);
	EQUAL(player.errors, 0);
}

/* Beside a range of times, nothing is missing; what lies between a record of it and others may be of it. */
TEST(test_missing_beside, "records that are missing beside a range do not count")
{
	static const struct {
		uint64_t from_ns, until_ns, records, missing;
	} ranges[] = {
		{ 0, 0, 4, 15 },   { 0, 10, 1, 1 }, { 20, 30, 2, 7 }, { 31, 39, 0, 4 },
		{ 40, 50, 1, 12 }, { 41, 0, 0, 8 }, { 41, 50, 0, 8 }, { 0, 5, 0, 0 },
	};

	EQUAL(rig_open(&rig_small), 0);
	for (uint64_t i = 0, sequence = 0; i < 4; sequence += 1 + (1ULL << i++)) {
		EQUAL(record_at(sequence, 10 * (i + 1), 0), 0);
		EQUAL(chario_stream_lose(rig.stream, 1U << i, 0), 0);
	}
	EQUAL(rig_read_back(), 0);
	for (size_t i = 0; i < sizeof(ranges) / sizeof(ranges[0]); i++) {
		player.from_ns = ranges[i].from_ns;
		player.until_ns = ranges[i].until_ns;
		nr_taken = 0;
		EQUAL(chario_reader_seek(rig.reader, 0), 0);
		EQUAL(run(), 0);
		EQUAL(player.records, ranges[i].records);
		EQUAL(player.missing, ranges[i].missing);
	}
}

/* Have reads fail so many times, with an error that is no damage. */
static void break_reads(uint64_t times, int err)
{
	rig.disk->faults.error = err;
	rig.disk->faults.read.times = times;
}

TEST(test_errors, "a player goes on after errors")
{
	EQUAL(begin_ended(20), 0);
	break_reads(2, -ETIMEDOUT);
	player.limit_errors = 2;
	EQUAL(run(), 0);
	EQUAL(player.errors, 2);
	EQUAL(faults, 2);
	CHECK(took(0, 20));
}

TEST(test_error_limit, "a player ends after too many errors")
{
	EQUAL(begin_ended(20), 0);
	break_reads(LOG_FOR_EVER, -ETIMEDOUT);
	ENDS(-ETIMEDOUT, CHARIO_PLAYER_READ);
	EQUAL(player.errors, 1);
	EQUAL(faults, 0);
	player.limit_errors = 5;
	EQUAL(run(), -ETIMEDOUT);
	EQUAL(player.errors, 6);
	EQUAL(faults, 5);
	player.fault = NULL;
	EQUAL(run(), -ETIMEDOUT);
	EQUAL(player.errors, 6);
	player.fault = fault;
	last_fault = 7;
	ENDS(STOPPED, CHARIO_PLAYER_STOPPED);
	EQUAL(player.errors, 2);
}

/* Without memory no further try helps. */
TEST(test_memory, "a player ends without memory")
{
	EQUAL(begin_ended(20), 0);
	break_reads(LOG_FOR_EVER, -ENOMEM);
	player.limit_errors = 5;
	ENDS(-ENOMEM, CHARIO_PLAYER_READ);
	EQUAL(player.errors, 1);
	EQUAL(faults, 0);
}

TEST(test_another_recording, "a player ends when its recording is gone")
{
	EQUAL(begin_ended(20), 0);
	EQUAL(rig_open(&rig_small), 0);
	player.limit_errors = 5;
	ENDS(-ESTALE, CHARIO_PLAYER_READ);
	EQUAL(player.errors, 1);
}

/* pace */

/* Make a recording with records of these times. */
static int begin_paced(const uint64_t *times_ns, uint64_t records)
{
	int err = rig_open(&rig_small);

	for (uint64_t i = 0; i < records && !err; i++)
		err = record_at(i, times_ns[i], 0);
	player.flags |= CHARIO_PLAYER_PACED;
	return err ?: rig_close() ?: rig_open_reader();
}

/* Records are given in their time, and those of an earlier time than the last at once. */
TEST(test_pace, "records are given at the pace of the recording")
{
	const uint64_t times_ns[] = { 7 * SECOND, 7 * SECOND + 5, 8 * SECOND,
				      4 * SECOND, 7 * SECOND + 9, 3607 * SECOND };
	const int64_t wanted_ns[] = { 0, 5, SECOND, SECOND, SECOND, 3600 * SECOND };

	EQUAL(begin_paced(times_ns, 6), 0);
	EQUAL(run(), 0);
	CHECK(took(0, 6));
	for (size_t i = 0; i < 6; i++)
		EQUAL(taken_ns[i], wanted_ns[i]);
	/* Each piece of a wait is followed by a call, and each wait begins with one. */
	EQUAL(waits, naps + 4);
	CHECK(naps > 3600);
}

/* A long wait ends by its callback. */
TEST(test_stop_of_pace, "a wait for a record ends by its callback")
{
	const uint64_t times_ns[] = { 1, 2, 3000 * SECOND };

	EQUAL(begin_paced(times_ns, 3), 0);
	last_wait = 10;
	ENDS(STOPPED, CHARIO_PLAYER_STOPPED);
	CHECK(took(0, 2));
	EQUAL(waits, 10);
}

/* Time that the callback takes does not add to that of the recording. */
static void take_time(void)
{
	boot_ns += 10 * SECOND;
}

TEST(test_late, "late records are given at once")
{
	const uint64_t times_ns[] = { SECOND, 2 * SECOND, 3 * SECOND, 15 * SECOND };
	const int64_t wanted_ns[] = { 0, 10 * SECOND, 20 * SECOND, 30 * SECOND };

	EQUAL(begin_paced(times_ns, 4), 0);
	at_wait = take_time;
	EQUAL(run(), 0);
	CHECK(took(0, 4));
	for (size_t i = 0; i < 4; i++)
		EQUAL(taken_ns[i], wanted_ns[i]);
	EQUAL(naps, 0);
	/* Nobody has to be told. */
	EQUAL(chario_reader_seek(rig.reader, 0), 0);
	player.wait = NULL;
	EQUAL(run(), 0);
	EQUAL(player.records, 4);
	CHECK(naps > 0);
}

/* growth */

static void grow(void)
{
	if (waits < 3)
		rig_record(5 + waits, 6 + waits, RECORD);
	else if (waits == 3)
		rig_close();
	if (rig.stream)
		rig_wait();
}

TEST(test_follow, "a player follows a recording until it ends")
{
	EQUAL(begin(5), 0);
	player.flags = CHARIO_PLAYER_FOLLOW;
	at_wait = grow;
	ENDS(0, CHARIO_PLAYER_SOURCE);
	CHECK(took(0, 8));
	EQUAL(player.missing, 0);
	/* No wait before the records that are there, and one call when the end is seen. */
	EQUAL(waits, 5);
}

TEST(test_stop_of_follow, "a wait for new records ends by its callback")
{
	EQUAL(begin(5), 0);
	player.flags = CHARIO_PLAYER_FOLLOW;
	last_wait = 2;
	ENDS(STOPPED, CHARIO_PLAYER_STOPPED);
	CHECK(took(0, 5));
}

/* A full area has no room for more, though its stream is still open. */
TEST(test_full, "a player follows a recording until its area is full")
{
	EQUAL(rig_open(&rig_small), 0);
	EQUAL(rig_record(0, RIG_SLOTS - 1, 8000), 0);
	EQUAL(rig_record(RIG_SLOTS - 1, RIG_SLOTS, 10), 0);
	EQUAL(rig_wait(), 0);
	EQUAL(rig_open_reader(), 0);
	CHECK(rig_are_next(0, RIG_SLOTS));
	EQUAL(rig_next(), -EAGAIN);
	EQUAL(rig_record(RIG_SLOTS, RIG_SLOTS + 1, 3784), 0);
	EQUAL(rig_record(RIG_SLOTS + 1, RIG_SLOTS + 2, 10), 0);
	EQUAL(rig_record(RIG_SLOTS + 2, RIG_SLOTS + 3, 10), -ENOSPC);
	EQUAL(rig_wait(), 0);
	player.flags = CHARIO_PLAYER_FOLLOW;
	ENDS(0, CHARIO_PLAYER_SOURCE);
	EQUAL(player.records, 2);
}

TEST(test_arguments, "arguments that cannot be")
{
	EQUAL(begin_ended(1), 0);
	/* Programs that were made for the first version have no members from this one on. */
	player.size = offsetof(struct chario_player, from_ns);
	player.from_ns = player.steps = UINT64_MAX;
	EQUAL(run(), 0);
	EQUAL(nr_taken, 1);
	EQUAL(player.steps, UINT64_MAX);
	player.size--;
	EQUAL(run(), -EINVAL);
	player.size = sizeof(player);
	player.end = CHARIO_PLAYER_READ;
	player.flags = 1U << 31;
	ENDS(-EINVAL, CHARIO_PLAYER_START);
	player.flags = 0;
	player.take = NULL;
	EQUAL(run(), -EINVAL);
}

TEST(test_child, "a child of fork() plays nothing")
{
	EQUAL(begin_ended(1), 0);
	CHECK_IN_CHILD(run() == -EPERM && player.end == CHARIO_PLAYER_READ);
}

TEST_MAIN(before, rig_end)
