// SPDX-License-Identifier: MIT
/*
 * A change of two blocks of the table happens as a whole or not at all, whichever of its
 * writes fails, whatever reached the disk of that, and whichever read fails afterwards.
 */
#include "store/inner.h"
#include "own-store.h"
#include "tap.h"

#define DISK_BYTES  (512U << 10)
#define NOTE_AT     (STORE_CHANGES_BLOCK * CHARIO_STORE_BLOCK)
/* They are the first entries of their blocks. */
#define SMALL       "area-0"
#define LARGE       "area-10"
#define SMALL_BYTES 4096
#define LARGE_BYTES 8192
/* The log; both copies of both blocks; the note. */
#define WRITES      6
/* Of the change of an area after half of a change. */
#define READS       30

/* Returns whether the names were exchanged, 0 or 1, or -1 if one of them was. */
static int is_exchanged(struct chario_store *seen)
{
	uint64_t small = rig_info(seen, SMALL).bytes, large = rig_info(seen, LARGE).bytes;

	if (small == SMALL_BYTES && large == LARGE_BYTES)
		return 0;
	return small == LARGE_BYTES && large == SMALL_BYTES ? 1 : -1;
}

/* The program that met the failure, and one that comes later, see the same before and after a change. */
static void check_both(int should)
{
	struct chario_store *other;

	EQUAL(rig_open(disk, O_RDWR, &other), 0);
	EQUAL(is_exchanged(store), should);
	EQUAL(is_exchanged(other), should);
	EQUAL(rig_change(other), 0);
	EQUAL(is_exchanged(store), should);
	EQUAL(is_exchanged(other), should);
	chario_store_close(other);
	CHECK(rig_is_finished(disk));
}

static void begin(void)
{
	make_own_store(DISK_BYTES, 512, 20);
	EQUAL(rig_create_areas(store, STORE_ENTRIES, SMALL_BYTES), 0);
	EQUAL(chario_store_create(store, LARGE, LARGE_BYTES, 0), 0);
}

/* The log is what counts. */
static void begin_exchange(enum log_reach reach, uint64_t number, uint64_t times)
{
	begin();
	disk->faults.write = (struct log_fault){ number, times };
	disk->faults.reach = reach;
	EQUAL(chario_store_exchange(store, SMALL, LARGE), number ? 0 : -EIO);
	CHECK(disk->faults.write.times != times || times == LOG_FOR_EVER);
	log_disk_heal(disk);
}

/* A block that could not be written at once was written again. */
static void fail_exchange(enum log_reach reach, uint64_t number, uint64_t times)
{
	begin_exchange(reach, number, times);
	CHECK(times == LOG_FOR_EVER || number == WRITES - 1 || rig_is_finished(disk));
	check_both(number > 0);
	drop_own_store();
}

TEST(test_writes, "names are exchanged or not, whichever write fails")
{
	for (uint64_t number = 0; number < WRITES; number++)
		for (enum log_reach reach = LOG_REACH_NONE; reach <= LOG_REACH_ALL; reach++) {
			if (!tap_failed)
				fail_exchange(reach, number, 1);
			if (!tap_failed)
				fail_exchange(reach, number, LOG_FOR_EVER);
			if (tap_failed)
				printf("# write %d, reach %d\n", (int)number, (int)reach);
		}
}

TEST(test_order, "a log has its entries in the order of their slots")
{
	const struct store_changes *note;

	begin();
	note = (void *)(disk->image + NOTE_AT);
	for (int i = 0; i < 2; i++) {
		EQUAL(chario_store_exchange(store, SMALL, LARGE), 0);
		EQUAL(note->log[0].slot, 0);
		EQUAL(note->log[1].slot, STORE_ENTRIES);
	}
	drop_own_store();
}

/* What has arrived of a note although its write failed would count after a power cut. */
TEST(test_refused, "a change that was refused is taken back durably")
{
	begin();
	log_disk_record(disk);
	disk->faults.write.times = 1;
	disk->faults.reach = LOG_REACH_ALL;
	EQUAL(chario_store_exchange(store, SMALL, LARGE), -EIO);
	CHECK(disk->nr_entries == 1 && disk->entries[0].durable);
	drop_own_store();
}

/* The first block has the change, and the second one has not. */
static void begin_half(void)
{
	begin_exchange(LOG_REACH_NONE, 3, LOG_FOR_EVER);
}

TEST(test_reads, "names stay exchanged, whichever reads of the next change fail")
{
	for (uint64_t i = 0; i < READS * 6 && !tap_failed; i++) {
		begin_half();
		disk->faults.read = (struct log_fault){ i / 6, i % 6 + 1 };
		CHECK(chario_store_remove(store, "area-9") <= 0);
		log_disk_heal(disk);
		check_both(1);
		drop_own_store();
	}
}

/* The note has the only copy of half of the change, so nobody who writes does without it. */
TEST(test_note, "an exchange outlives a note that cannot be read")
{
	struct chario_store *other = NULL, *reader;

	begin_half();
	EQUAL(rig_open(disk, O_RDONLY, &reader), 0);
	disk->faults.bad[0] = (struct log_place){ NOTE_AT, 1 };
	EQUAL(chario_store_create(store, "new", 4096, 0), -EIO);
	EQUAL(rig_open(disk, O_RDWR, &other), -EIO);
	/* This one knows what the note has; one that does not sees what there is. */
	EQUAL(rig_count_areas(reader), -EIO);
	chario_store_close(reader);
	EQUAL(rig_open(disk, O_RDONLY, &reader), 0);
	EQUAL(rig_count_areas(reader), STORE_ENTRIES + 1);
	chario_store_close(reader);
	CHECK(rig_check(disk, 0, NULL) > 0);
	log_disk_heal(disk);
	check_both(1);
	/* A repair gives up what cannot be read, here nothing. */
	disk->faults.bad[0] = (struct log_place){ NOTE_AT, 1 };
	chario_store_close(store);
	EQUAL(rig_check(disk, 0, NULL), 1);
	log_disk_record(disk);
	EQUAL(rig_check(disk, CHARIO_CHECK_REPAIR, NULL), 0);
	CHECK(disk->nr_entries == 1 && disk->entries[0].durable);
	EQUAL(rig_open(disk, O_RDWR, &store), 0);
	drop_own_store();
}

TEST_MAIN(tap_nothing, tap_nothing)
