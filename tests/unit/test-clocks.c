// SPDX-License-Identifier: MIT
/*
 * Recordings whose clock is set while they are made, and their pace.
 */
#include <chario/player.h>

#include <sys/param.h>

#include "clocks.h"
#include "stream/format.h"
#include "tap.h"

#define SECOND 1000000000LL

/* The time since the machine started, when a recording begins. */
#define BEGIN_NS (1000 * SECOND)

/* The clock when it has never been set, as it should be, and far ahead. */
#define Y2000 946684806LL
#define Y2026 1795822046LL
#define Y2035 2051222401LL

static struct chario_player player;

/* The numbers of the records taken, and when they were. */
static uint64_t taken[8];
static int64_t taken_ns[8];
static unsigned int nr_taken;

static unsigned int nr_steps, nr_sure;
static int64_t sum_ns;

static int take(const struct chario_record *record, void *data)
{
	if (nr_taken == 8)
		return -1;
	taken[nr_taken] = record->sequence;
	taken_ns[nr_taken++] = boot_ns - BEGIN_NS;
	return 0;
}

static int step(const struct chario_record *record, int64_t step_ns, int is_sure, void *data)
{
	nr_steps++;
	nr_sure += is_sure ? 1 : 0;
	sum_ns += step_ns;
	return 0;
}

static void before(void)
{
	asleep_ns = 0;
	rig_begin(RIG_BYTES, false);
}

/* struct track - a recording whose clock is set, in seconds */
struct track {
	const char *name;
	bool is_steady; /* times are of the recorder's clock, not the producer's */
	int64_t clocks[5]; /* the clock at each record, which is made a second after the one before */
	int part_from; /* the machine starts anew before this record, or, if negative, a part begins */
	int64_t wanted[5]; /* seconds since the first at which they are given */
	unsigned int steps, sure;
};

static const struct track tracks[] = {
	{ "never", .is_steady = true,
	  .clocks = { Y2026, Y2026 + 1, Y2026 + 2, Y2026 + 3, Y2026 + 4 },
	  .wanted = { 0, 1, 2, 3, 4 } },
	{ "ahead", .is_steady = true, .clocks = { Y2000, Y2000 + 1, Y2026, Y2026 + 1, Y2026 + 2 },
	  .wanted = { 0, 1, 2, 3, 4 }, .steps = 1, .sure = 1 },
	{ "back", .is_steady = true, .clocks = { Y2035, Y2035 + 1, Y2026, Y2026 + 1, Y2026 + 2 },
	  .wanted = { 0, 1, 2, 3, 4 }, .steps = 1, .sure = 1 },
	{ "minutes", .is_steady = true,
	  .clocks = { Y2026, Y2026 - 120, Y2026 - 119, Y2026 + 90, Y2026 + 91 },
	  .wanted = { 0, 1, 2, 3, 4 }, .steps = 2, .sure = 2 },
	{ "leap second", .is_steady = true,
	  .clocks = { Y2026, Y2026 + 1, Y2026 + 1, Y2026 + 2, Y2026 + 3 },
	  .wanted = { 0, 1, 2, 3, 4 }, .steps = 1, .sure = 1 },
	{ "at 1970", .is_steady = true, .clocks = { 1, 2, 0, 1, Y2026 },
	  .wanted = { 0, 1, 2, 3, 4 }, .steps = 2, .sure = 2 },
	{ "start", .is_steady = true,
	  .clocks = { Y2026, Y2026 + 1, Y2026 + 60, Y2026 + 61, Y2026 + 62 }, .part_from = 2,
	  .wanted = { 0, 1, 60, 61, 62 } },
	{ "start with a wrong clock", .is_steady = true,
	  .clocks = { Y2026, Y2026 + 1, Y2000, Y2000 + 1, Y2026 + 2 }, .part_from = 2,
	  .wanted = { 0, 1, 1, 2, 3 }, .steps = 2, .sure = 1 },
	{ "part", .is_steady = true,
	  .clocks = { Y2026, Y2026 + 1, Y2026 + 2, Y2026 + 3, Y2026 + 4 }, .part_from = -2,
	  .wanted = { 0, 1, 2, 3, 4 } },
	{ "part, ahead", .is_steady = true,
	  .clocks = { Y2026, Y2026 + 1, Y2026 + 22, Y2026 + 23, Y2026 + 24 }, .part_from = -2,
	  .wanted = { 0, 1, 2, 3, 4 }, .steps = 1 },
	{ "part, back", .is_steady = true,
	  .clocks = { Y2035, Y2035 + 1, Y2035 - 3, Y2035 - 2, Y2035 - 1 }, .part_from = -2,
	  .wanted = { 0, 1, 2, 3, 4 }, .steps = 1 },
	/* Just the same may come of a machine that starts anew, and nobody is told. */
	{ "part, ahead by more than the machine has run", .is_steady = true,
	  .clocks = { Y2026, Y2026 + 1, Y2026 + 1202, Y2026 + 1203, Y2026 + 1204 }, .part_from = -2,
	  .wanted = { 0, 1, 1202, 1203, 1204 } },
	{ "producer, ahead", .clocks = { Y2000, Y2000 + 1, Y2026, Y2026 + 1, Y2026 + 2 },
	  .wanted = { 0, 1, 1, 2, 3 }, .steps = 1 },
	{ "producer, back", .clocks = { Y2035, Y2035 + 1, Y2026, Y2026 + 1, Y2026 + 2 },
	  .wanted = { 0, 1, 1, 2, 3 }, .steps = 1 },
	{ "producer, equal", .clocks = { Y2026, Y2026, Y2026, Y2026 + 1, Y2026 + 1 },
	  .wanted = { 0, 0, 0, 1, 1 } },
};

#define NR_TRACKS (sizeof(tracks) / sizeof(tracks[0]))

/* Record a track. */
static int record(const struct track *track)
{
	int err = 0;

	rig_close_reader();
	for (uint64_t i = 0; i < 5 && !err; i++) {
		bool starts = !i || (int)i == abs(track->part_from);

		boot_ns = !i || (int)i == track->part_from ? BEGIN_NS : boot_ns + SECOND;
		clock_ns = track->clocks[i] * SECOND;
		if (!track->is_steady)
			clock_ns = 2 * Y2026 * SECOND + boot_ns;
		if (starts)
			err = rig_close() ?: rig_open_as(i ? CHARIO_STREAM_APPEND : 0);
		err = err   ?:
			      record_at(i,
					track->is_steady ? 0 :
							   (uint64_t)(track->clocks[i] * SECOND),
					0);
	}
	return err ?: rig_close() ?: rig_open_reader();
}

/* Number of waits, of which the last ends by its callback; 0 if none does. */
static unsigned int most_waits;

static int wait_more(const struct chario_player *now, void *data)
{
	return most_waits && !--most_waits ? -1 : 0;
}

static int play(uint32_t flags, int64_t from, int64_t until)
{
	boot_ns = BEGIN_NS;
	nr_taken = nr_steps = nr_sure = 0;
	sum_ns = 0;
	player = (struct chario_player){
		.size = sizeof(player),
		.flags = flags,
		.from_ns = (uint64_t)(from * SECOND),
		.until_ns = (uint64_t)(until * SECOND),
		.take = take,
		.step = step,
		.wait = wait_more,
	};
	return chario_player_run(rig.reader, &player);
}

/* Records are given as they were recorded, and where the clock was set is told. */
TEST(test_pace, "a clock that is set does not change the pace")
{
	for (const struct track *track = tracks; track < tracks + NR_TRACKS; track++) {
		printf("# %s\n", track->name);
		EQUAL(record(track), 0);
		EQUAL(play(CHARIO_PLAYER_PACED, 0, 0), 0);
		EQUAL(nr_taken, 5);
		for (size_t i = 0; i < 5; i++)
			EQUAL(taken_ns[i], track->wanted[i] * SECOND);
		EQUAL(nr_steps, track->steps);
		EQUAL(player.steps, nr_steps);
		EQUAL(nr_sure, track->sure);
		if (track->part_from < 0 && nr_steps)
			EQUAL(sum_ns, (track->clocks[2] - track->clocks[1] - 1) * SECOND);
	}
}

/* While the machine sleeps, the time that is not set goes on, and nobody has set the other. */
TEST(test_suspend, "a suspend counts, and sets no clock")
{
	EQUAL(rig_open(&rig_small), 0);
	for (uint64_t i = 0; i < 4; i++) {
		boot_ns = BEGIN_NS + (int64_t)i * 7200 * SECOND;
		clock_ns = Y2026 * SECOND + boot_ns;
		asleep_ns = (int64_t)i * 7199 * SECOND;
		EQUAL(record_at(i, 0, 0), 0);
	}
	EQUAL(rig_read_back(), 0);
	EQUAL(((struct chario_disk_batch *)(void *)rig_place(0))->nr_records, 4);
	EQUAL(rig_next(), 0);
	EQUAL(chario_reader_boottime_ns(rig.reader), BEGIN_NS);
	EQUAL(chario_reader_seek(rig.reader, 0), 0);
	EQUAL(play(CHARIO_PLAYER_PACED, 0, 0), 0);
	EQUAL(taken_ns[3], 3 * 7200 * SECOND);
	EQUAL(nr_steps, 0);
}

/* Record two records, and set the clock while room for the first is out. */
static void check_room(int64_t step_ns, bool is_served)
{
	struct chario_stream_room room;

	printf("# by %lld ns, served %d\n", (long long)step_ns, is_served);
	clock_ns = Y2000 * SECOND;
	boot_ns = BEGIN_NS;
	EQUAL(rig_open(&rig_small), 0);
	EQUAL(rig_get(RECORD, &room), 0);
	clock_ns += step_ns;
	if (is_served)
		EQUAL(chario_stream_service(rig.stream), 0);
	lab_fill(room.memory, RECORD, 0);
	EQUAL(chario_stream_commit(rig.stream, &room, RECORD, 0, 0), 0);
	EQUAL(record_at(1, 0, 0), 0);
	EQUAL(rig_read_back(), 0);
	EQUAL(play(CHARIO_PLAYER_PACED, 0, 0), 0);
	EQUAL(nr_taken, 2);
	EQUAL(taken_ns[1], 0);
	EQUAL(chario_reader_seek(rig.reader, 0), 0);
	EQUAL(rig_next(), 0);
	EQUAL(chario_reader_boottime_ns(rig.reader), 0);
	EQUAL(rig_next(), 0);
	EQUAL(chario_reader_boottime_ns(rig.reader), BEGIN_NS);
	rig_close_reader();
}

/* A clock that is set while room is out makes the times of that batch doubtful, and no wait. */
TEST(test_room, "a clock may be set while room is out")
{
	static const int64_t steps[] = { (Y2026 - Y2000) * SECOND, 5 * SECOND, -5 * SECOND,
					 SECOND / 10 };

	for (size_t i = 0; i < 2 * sizeof(steps) / sizeof(steps[0]) && !tap_failed; i++)
		check_room(steps[i / 2], i % 2);
}

/* Where the clocks cannot be read without the kernel, each look is a system call. */
TEST(test_looks, "a record costs five looks at the clocks, one less with a time of its own")
{
	struct chario_stream_room room;

	clock_ns = Y2026 * SECOND;
	boot_ns = BEGIN_NS;
	delay_ns = 15000;
	EQUAL(rig_open(&rig_small), 0);
	delay_ns = 0;
	EQUAL(record_at(0, 0, 0), 0);
	for (int64_t i = 0; i < 3; i++) {
		uint64_t at_ns = i ? (uint64_t)(clock_ns + (2 * i - 3) * 9 * SECOND) : 0;

		looks = 0;
		EQUAL(record_at(1, at_ns, 0), 0);
		EQUAL(looks, i ? 4 : 5);
		looks = 0;
		EQUAL(rig_get(RECORD, &room), 0);
		EQUAL(chario_stream_commit(rig.stream, &room, RECORD, at_ns, 0), 0);
		EQUAL(looks, i ? 4 : 5);
	}
	/* Of looks that are late, the one that is the least so counts; and all these times are near. */
	EQUAL(rig_read_back(), 0);
	EQUAL(rig_next(), 0);
	EQUAL(chario_reader_boottime_ns(rig.reader), boot_ns - 15000);
}

/* Nobody sees the end of such a wait but by the callback. */
TEST(test_endless, "a wait for a record that is due in centuries can be ended")
{
	EQUAL(rig_open(&rig_small), 0);
	for (uint64_t i = 0; i < 2; i++) {
		boot_ns = i ? INT64_MIN / 2 : BEGIN_NS;
		clock_ns = Y2026 * SECOND + boot_ns;
		EQUAL(record_at(i, 0, 0), 0);
	}
	EQUAL(rig_read_back(), 0);
	most_waits = 2;
	EQUAL(play(CHARIO_PLAYER_PACED, 0, 0), -1);
	EQUAL(nr_taken, 1);
}

TEST_MAIN(before, rig_end)
