// SPDX-License-Identifier: MIT
/*
 * Power cuts: a store is changed at random on a disk that remembers every
 * write, and is then opened as a cut at each moment could have left it.
 *
 * SEED=N repeats a run, CUTS=N says how many cuts there are to be.
 */
#include <inttypes.h>

#include "log-cuts.h"
#include "store/inner.h"
#include "store-model.h"
#include "store-rig.h"
#include "tap.h"

#define DISK_BYTES (512U << 10)
#define CHANGES    40
#define CUTS       10000
#define DAMAGES    8
/* Others are in both blocks of the table then. */
#define FILLERS    7

static uint64_t seed, nr_wanted = CUTS;

/**
 * struct script - random changes of a store, and what they wrote
 * @disk: that it is on
 * @models: the store before the first change and after each
 * @ends: entries of the log after each
 */
struct script {
	struct log_disk *disk;
	struct model models[CHANGES + 1];
	size_t ends[CHANGES + 1];
};

/* Areas of 20 fill two blocks of the table; one that is seldom full. */
static const struct chario_store_layout layout = {
	.size = sizeof(layout),
	.flags = CHARIO_LAYOUT_REPLACE,
	.max_areas = 20,
};

static int format(struct log_disk *disk)
{
	return rig_format(disk, &layout);
}

static int run_script(struct script *script, uint64_t *random)
{
	struct chario_store *store;
	int err = rig_open(script->disk, O_RDWR, &store);

	if (err)
		return err;
	memset(&script->models[0], 0, sizeof(script->models[0]));
	err = model_fill(&script->models[0], store, FILLERS);
	script->ends[0] = 0;
	log_disk_record(script->disk);
	for (size_t i = 1; i <= CHANGES && !err; i++) {
		script->models[i] = script->models[i - 1];
		err = model_change(&script->models[i], store, random);
		script->ends[i] = script->disk->nr_entries;
	}
	chario_store_close(store);
	return err;
}

/* what a cut has left */

static bool reads_well(struct log_disk *disk, const struct model_step *step, int flags)
{
	struct chario_store *store;
	int err = rig_open(disk, flags, &store);
	bool holds;

	if (err) {
		printf("# opening the store gives %d\n", err);
		return false;
	}
	holds = model_holds(step, store);
	chario_store_close(store);
	return holds;
}

/* The change puts right what the cut left; then all that was under way is ended. */
static bool goes_on(struct log_disk *disk, const struct model_step *step, bool defrag)
{
	struct chario_store *store;
	int err = rig_open(disk, O_RDWR, &store);
	bool holds;

	if (err) {
		printf("# opening the store for writing gives %d\n", err);
		return false;
	}
	holds = model_holds(step, store);
	err = rig_change(store);
	if (!err && defrag)
		err = chario_store_defrag(store, NULL, NULL);
	if (err)
		printf("# a change afterwards gives %d\n", err);
	holds = holds && !err && model_holds(step, store);
	chario_store_close(store);
	return holds && (defrag ? rig_is_finished(disk) : rig_is_clean(disk));
}

static bool survives(struct log_disk *disk, const struct model_step *step, bool defrag)
{
	return reads_well(disk, step, O_RDONLY) && rig_is_clean(disk) &&
	       goes_on(disk, step, defrag);
}

/* The change that was under way when @at entries had been done. */
static struct model_step step_at(const struct script *script, size_t at)
{
	size_t i = 1;

	while (i < CHANGES && script->ends[i] <= at)
		i++;
	return (struct model_step){ &script->models[i - 1], &script->models[i] };
}

static bool cut_at(const struct script *script, const struct log_replay *replay,
		   struct log_disk *victim, uint64_t *random)
{
	struct model_step step = step_at(script, replay->at);

	for (int cut = 0; cut < LOG_CUTS; cut++) {
		uint64_t state = *random;

		log_replay_cut(replay, (enum log_cut)cut, random, victim->image);
		if (!survives(victim, &step, log_below(random, 4) == 0)) {
			printf("# cut %d at entry %zu of %zu, random %#" PRIx64 "\n", cut,
			       replay->at, script->disk->nr_entries, state);
			return false;
		}
	}
	return true;
}

/* Every moment of one script: how many cuts there were, 0 where one was not survived. */
static size_t cut_script(struct script *script, struct log_disk *victim, uint64_t *random)
{
	struct log_replay replay;
	bool fine = true;
	size_t count = 0;

	log_replay_init(&replay, script->disk);
	for (;;) {
		fine = cut_at(script, &replay, victim, random);
		count += LOG_CUTS;
		if (!fine || replay.at == script->disk->nr_entries)
			break;
		log_replay_advance(&replay);
	}
	log_replay_deinit(&replay);
	return fine ? count : 0;
}

static size_t cut_one(uint64_t number, uint32_t block_bytes)
{
	static struct script script;
	struct log_disk *victim = log_disk_create(DISK_BYTES, block_bytes);
	uint64_t random = number;
	size_t count = 0;

	script.disk = log_disk_create(DISK_BYTES, block_bytes);
	if (format(script.disk) || run_script(&script, &random))
		printf("# the script itself failed\n");
	else
		count = cut_script(&script, victim, &random);
	if (!count)
		printf("# seed %" PRIu64 ", blocks of %u bytes\n", number, block_bytes);
	log_disk_destroy(script.disk);
	log_disk_destroy(victim);
	return count;
}

TEST(survives_power_cuts, "a store survives power cuts at any moment")
{
	static const uint32_t blocks[] = { 512, 4096, 2048 };
	size_t total = 0;

	for (uint64_t i = 0; total < nr_wanted; i++) {
		size_t count = cut_one(seed + i, blocks[i % 3]);

		CHECK(count);
		total += count;
	}
	printf("# %zu power cuts, SEED=%" PRIu64 "\n", total, seed);
}

/* formatting */

static bool opens_or_is_none(struct log_disk *disk, const struct model_step *step)
{
	struct chario_store *store;
	int err = rig_open(disk, O_RDONLY, &store);

	/* Some of the new one is there, and some of the old one. */
	if (err == -ENOMEDIUM || err == -EUCLEAN)
		return true;
	if (err) {
		printf("# opening the store gives %d\n", err);
		return false;
	}
	err = !model_holds(step, store);
	chario_store_close(store);
	return !err;
}

static void cut_formatting(struct script *script, struct log_disk *victim, uint64_t *random)
{
	static const struct model empty;
	struct model_step step = { &script->models[CHANGES], &empty };
	struct log_replay replay;
	bool fine = true;

	log_disk_record(script->disk);
	EQUAL(format(script->disk), 0);
	log_replay_init(&replay, script->disk);
	while (fine) {
		for (int cut = 0; cut < LOG_CUTS && fine; cut++) {
			log_replay_cut(&replay, (enum log_cut)cut, random, victim->image);
			fine = opens_or_is_none(victim, &step);
			if (replay.at == script->disk->nr_entries)
				fine = fine && reads_well(victim, &step, O_RDWR);
			/* And it can be tried again. */
			fine = fine && !format(victim);
		}
		if (replay.at == script->disk->nr_entries)
			break;
		log_replay_advance(&replay);
	}
	log_replay_deinit(&replay);
	CHECK(fine);
}

static void format_over(uint64_t random)
{
	static struct script script;
	struct log_disk *victim = log_disk_create(DISK_BYTES, 512);

	script.disk = log_disk_create(DISK_BYTES, 512);
	if (format(script.disk) || run_script(&script, &random))
		TAP_FAIL("the script itself failed");
	else
		cut_formatting(&script, victim, &random);
	log_disk_destroy(script.disk);
	log_disk_destroy(victim);
}

/* Over some stores: few of them have areas where an old and a new table make another one. */
TEST(formatting_is_all_or_nothing, "formatting over a store leaves the old, the new or none")
{
	for (uint64_t i = 0; i < 8 && !tap_failed; i++)
		format_over(seed + i);
}

/* damage and a cut */

/* A copy of a block of the table; there are two blocks, and a header behind them. */
static unsigned char *find_copy(struct log_disk *disk, unsigned int block, unsigned int copy)
{
	size_t first = copy ? DISK_BYTES / CHARIO_STORE_BLOCK - 3 : STORE_TABLE_BLOCK;

	return disk->image + (first + block) * CHARIO_STORE_BLOCK;
}

/* A change after one copy of a block was damaged, and what it wrote. */
static int change_damaged(struct script *script, unsigned int round, struct model *after,
			  uint64_t *random)
{
	struct chario_store *store;
	int err = rig_open(script->disk, O_RDWR, &store);

	if (err)
		return err;
	memset(find_copy(script->disk, round % 2, round / 2 % 2), 0x5a, CHARIO_STORE_BLOCK);
	log_disk_record(script->disk);
	err = model_change(after, store, random);
	chario_store_close(store);
	return err;
}

/* The other copy is the only good one until the change has made two of it. */
static bool cut_damaged(const struct script *script, const struct model_step *step,
			struct log_disk *victim, uint64_t *random)
{
	struct log_replay replay;
	bool fine = true;

	log_replay_init(&replay, script->disk);
	for (size_t at = 0; at <= script->disk->nr_entries; at++) {
		log_replay_go(&replay, at);
		for (int cut = 0; cut < LOG_CUTS && fine; cut++) {
			log_replay_cut(&replay, (enum log_cut)cut, random, victim->image);
			fine = reads_well(victim, step, O_RDWR);
		}
	}
	log_replay_deinit(&replay);
	return fine;
}

static bool try_damaged(struct script *script, unsigned int round, struct log_disk *victim,
			uint64_t *random)
{
	static struct model before, after;
	struct model_step step = { &before, &after };

	/* What was damaged in the last round, and not changed. */
	if (rig_check(script->disk, CHARIO_CHECK_REPAIR, NULL))
		return false;
	before = after = script->models[CHANGES];
	if (change_damaged(script, round, &after, random))
		return false;
	script->models[CHANGES] = after;
	return cut_damaged(script, &step, victim, random);
}

TEST(one_copy_is_enough, "a cut after damage of one copy costs nothing")
{
	static struct script script;
	struct log_disk *victim = log_disk_create(DISK_BYTES, 512);
	uint64_t random = seed;
	bool fine;

	script.disk = log_disk_create(DISK_BYTES, 512);
	fine = !format(script.disk) && !run_script(&script, &random);
	for (unsigned int round = 0; round < DAMAGES && fine; round++)
		fine = try_damaged(&script, round, victim, &random);
	log_disk_destroy(script.disk);
	log_disk_destroy(victim);
	CHECK(fine);
}

static void read_numbers(void)
{
	const char *text = getenv("SEED"), *cuts = getenv("CUTS");

	seed = text ? strtoull(text, NULL, 0) : 1;
	if (cuts)
		nr_wanted = strtoull(cuts, NULL, 0);
}

TEST_MAIN(read_numbers, tap_nothing)
