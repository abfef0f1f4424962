// SPDX-License-Identifier: MIT
/*
 * A disk that fails: each read and each write of a script once, and from then on.
 *
 * Whatever fails, the error comes back, the store that is open goes on with what
 * is on the disk, and who opens it later finds the old or the new state.
 */
#include <inttypes.h>

#include "store/inner.h"
#include "store-model.h"
#include "own-store.h"
#include "tap.h"

#define DISK_BYTES (512U << 10)
#define CHANGES    60
#define FLAKY      400

static uint64_t seed;

/* What a script has made of a store: before the change that failed, and after it. */
static struct model before, after;

static void begin(void)
{
	make_own_store(DISK_BYTES, 512, 20);
}

/* How a disk fails. */
enum failure {
	WRITE_ONCE,
	WRITE_TORN,
	TWO_WRITES_TORN,
	WRITE_DONE,
	WRITE_FOR_EVER,
	READ_ONCE,
	READ_FOR_EVER,
	ANY_AT_TIMES,
};

static void arm(enum failure failure, int64_t number)
{
	bool reads = failure == READ_ONCE || failure == READ_FOR_EVER;
	bool for_ever = failure == WRITE_FOR_EVER || failure == READ_FOR_EVER;
	struct log_fault *fault = reads ? &disk->faults.read : &disk->faults.write;

	if (failure == ANY_AT_TIMES) {
		disk->faults.one_in = 10 + (uint64_t)number % 40;
		disk->faults.random = seed + (uint64_t)number;
		return;
	}
	*fault = (struct log_fault){ (uint64_t)number, for_ever ? LOG_FOR_EVER : 1 };
	if (failure == TWO_WRITES_TORN)
		fault->times = 2;
	if (failure == WRITE_TORN || failure == TWO_WRITES_TORN)
		disk->faults.reach = LOG_REACH_PART;
	else if (failure == WRITE_DONE)
		disk->faults.reach = LOG_REACH_ALL;
}

/* Whether the failure is still to come. */
static bool is_armed(void)
{
	return disk->faults.read.times || disk->faults.write.times;
}

/* Run the script until a change fails or it ends: 0, -EIO, or what is wrong. */
static int run(uint64_t *random)
{
	int err = 0;

	for (size_t i = 0; i < CHANGES && !err; i++) {
		before = after;
		err = model_change(&after, store, random);
	}
	return err;
}

/* The disk works again: who had the store open, and who opens it, see the same. */
static bool recovers(void)
{
	struct model_step step = { &before, &after };
	struct chario_store *other;
	bool fine;

	log_disk_heal(disk);
	if (!rig_is_clean(disk) || rig_open(disk, O_RDWR, &other))
		return false;
	fine = model_holds(&step, store) && model_holds(&step, other);
	fine = fine && !rig_change(store) && !rig_change(other);
	fine = fine && !chario_store_defrag(store, NULL, NULL);
	fine = fine && model_holds(&step, store) && model_holds(&step, other);
	chario_store_close(other);
	return fine && rig_is_finished(disk);
}

/* Returns 1 where the failure came too late to be met, else 0 or -EPROTO. */
static int try_failure(enum failure failure, int64_t number)
{
	uint64_t random = seed;
	int err;

	memset(&after, 0, sizeof(after));
	begin();
	arm(failure, number);
	err = run(&random) ?: is_armed();
	if (err != -EPROTO && !recovers())
		err = -EPROTO;
	drop_own_store();
	return err == -EIO ? 0 : err;
}

static void sweep(enum failure failure)
{
	int64_t number = 0;
	int ret = 0;

	while (!ret)
		ret = try_failure(failure, number++);
	printf("# %" PRId64 " failures, SEED=%" PRIu64 "\n", number, seed);
	EQUAL(ret, 1);
	CHECK(number > CHANGES);
}

/* A test of its own for each way to fail. */
#define SWEEP(failure, claim)        \
	TEST(sweep_##failure, claim) \
	{                            \
		sweep(failure);      \
	}

SWEEP(WRITE_ONCE, "one write fails")
SWEEP(WRITE_TORN, "one write fails half-way")
/* A change, and then what takes it back. */
SWEEP(TWO_WRITES_TORN, "two writes in a row fail half-way")
SWEEP(WRITE_DONE, "one write is done, and fails all the same")
SWEEP(WRITE_FOR_EVER, "all writes fail from one on")
SWEEP(READ_ONCE, "one read fails")
SWEEP(READ_FOR_EVER, "all reads fail from one on")

/* what has failed has not been done */

static int change_once(unsigned int which)
{
	switch (which) {
	case 0:
		return chario_store_create(store, "new", 4096, 0);
	case 1:
		return chario_store_rename(store, "there", "new");
	case 2:
		return chario_store_resize(store, "there", 5000);
	default:
		return chario_store_remove(store, "there");
	}
}

/* Whether a store is for somebody as it was before any change. */
static bool is_as_before(struct chario_store *seen)
{
	return rig_count_areas(seen) == 3 && rig_info(seen, "there").bytes == 8192;
}

static int make_three(void)
{
	return chario_store_create(store, "one", 4096, 0)         ?:
		       chario_store_create(store, "two", 4096, 0) ?:
		       chario_store_create(store, "there", 8192, 0);
}

/* One change of which a write fails: 1 where none did, else 0 or -EPROTO. */
static int fail_once(unsigned int which, enum log_reach reach, int64_t number)
{
	struct chario_store *other = NULL;
	bool failed, fine;

	begin();
	fine = !make_three();
	disk->faults.write = (struct log_fault){ (uint64_t)number, 1 };
	disk->faults.reach = reach;
	failed = change_once(which);
	fine = fine && (!failed || !disk->faults.write.times);
	number = disk->faults.write.times ? 1 : 0;
	log_disk_heal(disk);
	fine = fine && rig_is_clean(disk) && !rig_open(disk, O_RDWR, &other);
	fine = fine && is_as_before(store) == failed && is_as_before(other) == failed;
	chario_store_close(other);
	drop_own_store();
	return fine ? (int)number : -EPROTO;
}

TEST(what_fails_is_not_done, "a change of which one write fails is not made")
{
	for (unsigned int i = 0; i < 12; i++) {
		int64_t number = 0;
		int ret = 0;

		while (!ret)
			ret = fail_once(i % 4, (enum log_reach)(i / 4), number++);
		EQUAL(ret, 1);
		/* The note, both copies, and the note again. */
		EQUAL(number, 5);
	}
}

/* What one failure leaves may be what the next one needs to do harm. */
TEST(any_fail_at_times, "one transfer in some fails")
{
	int ret = 0;

	for (int64_t number = 0; number < FLAKY && ret != -EPROTO; number++)
		ret = try_failure(ANY_AT_TIMES, number);
	printf("# %d scripts, SEED=%" PRIu64 "\n", FLAKY, seed);
	CHECK(ret != -EPROTO);
}

/*
 * After the first step of a move, damage the note of changes, so that the table is read anew, and
 * let that fail after so many reads.
 */
static int spoil(uint64_t done_bytes, uint64_t total_bytes, void *data)
{
	const uint64_t *number = data;

	if (done_bytes > 4096)
		return 0;
	disk->image[4096 + 100] ^= 0xff;
	disk->faults.read = (struct log_fault){ *number, 1 };
	return 0;
}

/* An area of 32 KiB that has to slide by 4 KiB. */
static int make_slide(void)
{
	return chario_store_create(store, "gap", 4096, 0)             ?:
		       chario_store_create(store, "slides", 32768, 0) ?:
		       chario_store_remove(store, "gap");
}

static int slide_without_table(uint64_t number)
{
	int err;

	begin();
	err = make_slide() ?: chario_store_defrag(store, spoil, &number);
	log_disk_heal(disk);
	if (chario_store_defrag(store, NULL, NULL) || !rig_is_clean(disk))
		err = -EPROTO;
	drop_own_store();
	return err;
}

TEST(table_is_lost_in_a_move, "the table cannot be read again in the middle of a move")
{
	for (uint64_t number = 0; number < 10; number++) {
		int err = slide_without_table(number);

		CHECK(err == -EIO || !err);
	}
}

/* Open a store of one area, and change it, while one read fails; -1 where none did. */
static int open_and_change(int64_t number)
{
	struct chario_area_info info;
	int err;

	begin();
	err = chario_store_create(store, "there", 4096, 0);
	chario_store_close(store);
	store = NULL;
	disk->faults.read = (struct log_fault){ (uint64_t)number, 1 };
	err = err ?: rig_open(disk, O_RDWR, &store);
	if (err)
		return err;
	err = chario_store_find(store, "there", &info, sizeof(info));
	err = err ?: chario_store_create(store, "too", 4096, 0);
	err = err ?: disk->faults.read.times ? -1 : 0;
	drop_own_store();
	return err;
}

/* Everything is there twice, so that one block that cannot be read keeps from nothing. */
TEST(one_read_is_made_up_for, "one read that fails is made up for")
{
	int64_t number = 0;
	int err;

	do
		err = open_and_change(number++);
	while (!err);
	printf("# %" PRId64 " failures\n", number);
	EQUAL(err, -1);
	CHECK(number > 8);
}

static void read_seed(void)
{
	const char *text = getenv("SEED");

	seed = text ? strtoull(text, NULL, 0) : 1;
}

TEST_MAIN(read_seed, tap_nothing)
