// SPDX-License-Identifier: MIT
/*
 * What a power cut leaves of a recording.
 *
 * A producer records on a disk that remembers all writes and flushes.  Then
 * the power is cut at many moments: the disk has what had been flushed, and of all
 * that had not been, or was being written, some sectors and others not.  Every
 * record that was reported durable has to be there, and no record may be wrong.
 */
#include "log-cuts.h"
#include "stream/format.h"
#include "tape-rig.h"

#define SEGMENT    8192U
#define SLOTS      48U
#define AREA       (SLOTS * SEGMENT)
#define MAX_RECORD 600U
#define RUNS       10U
#define CUTS       24U

/* Transfers of which one is slower than those behind it. */
#define SLOW_ONE_IN 8U

/* Records that are appended after a cut. */
#define APPENDED       5U
#define APPENDED_BYTES 3000U

/* struct recipe - how a recording is made */
struct recipe {
	const char *name;
	bool cached;
	bool buffers;  /* some records come from buffers of others */
	uint32_t unsure; /* segments before the one that is overwritten next that may be gone */
	struct chario_stream_options options;
};

/* struct promise - records that were durable when the log had so many entries */
struct promise {
	size_t entries;
	uint64_t records;
};

/* struct made - a record that was made */
struct made {
	uint64_t sequence;
	size_t bytes;
};

/* The disk that is recorded to.  What a cut leaves of it is on the disk of the rig. */
static struct log_disk *disk;
static struct chario_store *store;
static struct log_replay replay;
static struct promise promises[4 * MAX_RECORD];
static size_t nr_promises;
static struct made made[MAX_RECORD];
static uint64_t nr_made;
static uint64_t chance;
static uint64_t area_offset;
static uint64_t next_record;
static uint64_t appended_from;
static uint64_t lost_durable;
static unsigned long nr_cuts, nr_cheap;

static uint64_t roll(uint64_t sides)
{
	return log_below(&chance, sides);
}

static void begin(const struct recipe *recipe)
{
	disk = lab_make_disk(AREA, recipe->cached);
	rig.disk = lab_make_disk(AREA, recipe->cached);
	/* Opened two thousand times: fresh pages for each would take most of the time. */
	rig.disk->has_spare = true;
	store = lab_open_store(disk);
	area_offset = lab_area_offset(store);
	nr_promises = 0;
	nr_made = 0;
}

static void end(void)
{
	chario_store_close(store);
	log_disk_destroy(disk);
	rig_end();
	rig.store = NULL;
}

/* What has been reported by now may be counted on from now on. */
static void promise(uint64_t records)
{
	promises[nr_promises++] = (struct promise){
		.records = records,
		.entries = log_disk_nr_entries(disk),
	};
}

static int promise_durable(struct chario_stream *stream)
{
	struct chario_stream_status is;
	int err = chario_stream_get_status(stream, &is, sizeof(is));

	promise(is.durable_records);
	return err;
}

static size_t choose_length(void)
{
	switch (roll(8)) {
	case 0:
		return 1 + roll(20000);
	case 1:
		return 8000;
	default:
		return 1 + roll(1500);
	}
}

static int record_buffer(struct chario_stream *stream, const struct chario_buffer *buffer)
{
	size_t bytes = 512 * (1 + roll(7));
	uint32_t released = 0;
	int err;

	lab_fill(chario_buffer_memory(buffer), bytes, made[nr_made].sequence);
	made[nr_made].bytes = bytes;
	err = chario_stream_write_buffer(stream, buffer, 0, bytes, made[nr_made].sequence + 1, 0,
					 -1, &released);
	while (!err && !__atomic_load_n(&released, __ATOMIC_ACQUIRE))
		err = chario_stream_service(stream);
	return err;
}

static int record_one(struct chario_stream *stream, const struct chario_buffer *buffer,
		      uint64_t sequence)
{
	int err;

	made[nr_made].sequence = sequence;
	if (buffer && !roll(3)) {
		err = record_buffer(stream, buffer);
	} else {
		made[nr_made].bytes = choose_length();
		err = lab_write(stream, sequence, made[nr_made].bytes);
	}
	nr_made += !err;
	return err;
}

static int record_all(struct chario_stream *stream, const struct chario_buffer *buffer)
{
	uint64_t sequence = 0;
	int err = 0;

	while (!err && nr_made < MAX_RECORD) {
		err = record_one(stream, buffer, sequence++);
		if (!err && !roll(12))
			err = chario_stream_wait(stream, UINT64_MAX, roll(2) ? -1 : 0);
		if (err == -EAGAIN)
			err = 0;
		if (!err && !roll(30)) {
			sequence += 2;
			err = chario_stream_lose(stream, 2, 100);
		}
		if (!err)
			err = promise_durable(stream);
	}
	return err == -ENOSPC ? 0 : err;
}

/* Everything up to the close, which is cut off too. */
static int record(const struct recipe *recipe)
{
	struct chario_buffer *buffer = NULL;
	struct chario_stream *stream;
	int err;

	if (recipe->buffers)
		chario_buffer_pool(chario_store_device(store), 65536, 0, &buffer);
	err = chario_stream_open(store, LAB_AREA, &recipe->options, &stream);
	if (err)
		return err;
	log_disk_record(disk);
	disk->slow_one_in = SLOW_ONE_IN;
	disk->slow_random = chance;
	err = record_all(stream, buffer);
	if (!err)
		err = chario_stream_close(stream);
	promise(nr_made);
	chario_buffer_free(buffer);
	return err;
}

static uint64_t promised(size_t at)
{
	uint64_t records = 0;

	for (size_t i = 0; i < nr_promises && promises[i].entries <= at; i++)
		records = promises[i].records;
	return records;
}

static const struct made *find_made(uint64_t sequence)
{
	static const struct made appended = { .bytes = APPENDED_BYTES };

	if (sequence >= appended_from)
		return &appended;
	for (uint64_t i = 0; i < nr_made; i++)
		if (made[i].sequence == sequence)
			return &made[i];
	return NULL;
}

/* struct seen - what a reader has found */
struct seen {
	bool there[2 * MAX_RECORD];
	uint64_t first;
	uint64_t count;
	uint64_t missing;
};

static bool see(const struct chario_record *record, struct seen *seen)
{
	const struct made *should = find_made(record->sequence);

	if (!should || record->bytes != should->bytes || record->time_ns != record->sequence + 1 ||
	    seen->there[record->sequence] ||
	    !lab_is(record->memory, record->bytes, record->sequence)) {
		TAP_FAIL("record %llu is wrong", (unsigned long long)record->sequence);
		return false;
	}
	if (!seen->count++)
		seen->first = record->sequence;
	seen->there[record->sequence] = true;
	return true;
}

/* Records that are missing, and that neither the producer lost nor the power cut may take. */
static void count_lost(uint64_t missing)
{
	uint64_t lost = 0, undurable = 0;

	EQUAL(chario_reader_count_missing(rig.reader, &lost, &undurable), 0);
	lost_durable = missing - lost - undurable;
}

static void read_all(struct seen *seen)
{
	int err;

	*seen = (struct seen){ 0 };
	EQUAL(rig_open_reader(), 0);
	while (!(err = rig_next())) {
		seen->missing += rig.record.missing;
		if (!see(&rig.record, seen))
			break;
	}
	seen->missing += err == -ENODATA ? rig.record.missing : 0;
	if (!tap_failed && err != -EAGAIN && err != -ENODATA)
		TAP_FAIL("reading ended with %d", err);
	err = rig_get_recording();
	next_record = rig.recording.next_record;
	for (uint64_t i = next_record; !err && i < 2 * MAX_RECORD; i++)
		if (seen->there[i])
			TAP_FAIL("record %llu is behind the head", (unsigned long long)i);
	count_lost(seen->missing);
	rig_close_reader();
	EQUAL(err, 0);
}

/* The header of the batch that an entry wrote the first block of, or NULL. */
static const struct chario_disk_batch *batch_of(const struct log_entry *entry)
{
	const struct chario_disk_batch *batch = (const void *)entry->data;

	return batch && batch->magic == CHARIO_DISK_BATCH_MAGIC ? batch : NULL;
}

static uint64_t slot_of(const struct log_entry *entry)
{
	return (entry->offset - area_offset) / SEGMENT;
}

/* The segment that an entry wrote to: its header comes last. */
static uint64_t segment_of(size_t at)
{
	for (size_t i = at; i < disk->nr_entries; i++)
		if (batch_of(&disk->entries[i]) &&
		    slot_of(&disk->entries[i]) == slot_of(&disk->entries[at]))
			return batch_of(&disk->entries[i])->segment;
	return UINT64_MAX;
}

/* Whether the ring had come round to a segment when the power was cut, or was about to. */
static bool is_reused(const struct recipe *recipe, uint64_t segment, size_t at)
{
	uint64_t from = segment + SLOTS - recipe->unsure;

	for (size_t i = 0; i < disk->nr_entries; i++)
		if ((i < at || disk->entries[i].begun <= at) && disk->entries[i].bytes &&
		    segment_of(i) != UINT64_MAX && segment_of(i) >= from)
			return true;
	return false;
}

static bool is_overwritten(const struct recipe *recipe, uint64_t sequence, size_t at)
{
	for (size_t i = 0; i < at; i++) {
		const struct chario_disk_batch *batch = batch_of(&disk->entries[i]);

		if (batch && batch->sequence <= sequence && sequence <= batch->next_sequence &&
		    is_reused(recipe, batch->segment, at))
			return true;
	}
	return false;
}

static void check_cut(const struct recipe *recipe, size_t at, struct seen *seen)
{
	uint64_t durable = promised(at);

	appended_from = UINT64_MAX;
	read_all(seen);
	if (tap_failed)
		return;
	/* What was not durable is no loss, whatever lies behind it. */
	if (!recipe->unsure && lost_durable)
		TAP_FAIL("%s: %llu missing records count as lost", recipe->name,
			 (unsigned long long)lost_durable);
	if (seen->missing && !lost_durable)
		nr_cheap++;
	for (uint64_t i = 0; i < durable; i++) {
		uint64_t sequence = made[i].sequence;

		if (seen->there[sequence] || is_overwritten(recipe, sequence, at))
			continue;
		TAP_FAIL("%s: record %llu of %llu that are durable is gone", recipe->name,
			 (unsigned long long)sequence, (unsigned long long)durable);
		return;
	}
}

static int append(const struct recipe *recipe)
{
	struct chario_stream_options options = recipe->options;
	int err;

	options.flags = CHARIO_STREAM_APPEND;
	err = rig_open(&options) ?: rig_record(next_record, next_record + APPENDED, APPENDED_BYTES);
	/* An area that was full stays so. */
	return err && err != -ENOSPC ? err : rig_close();
}

/* The recording goes on behind its head, and what was found before is still found. */
static void check_append(const struct recipe *recipe, const struct seen *before)
{
	static struct seen after;

	appended_from = next_record;
	EQUAL(append(recipe), 0);
	read_all(&after);
	if (!recipe->unsure && lost_durable)
		TAP_FAIL("%s: %llu missing records count as lost after an append", recipe->name,
			 (unsigned long long)lost_durable);
	for (uint64_t i = after.first; !tap_failed && i < appended_from; i++)
		CHECK(after.there[i] == before->there[i] || recipe->unsure);
	if (recipe->options.flags & CHARIO_STREAM_RING)
		for (uint64_t i = 0; !tap_failed && i < APPENDED; i++)
			CHECK(after.there[appended_from + i]);
}

/* The power is cut at a moment; each kind of cut has its turn. */
static void try_cut(const struct recipe *recipe, size_t at)
{
	static struct seen seen;
	enum log_cut kind = (enum log_cut)(nr_cuts++ % LOG_CUTS);

	log_replay_go(&replay, at);
	log_replay_cut(&replay, kind, &chance, rig.disk->image);
	/* Who has it open keeps what it knows of the table. */
	chario_store_close(rig.store);
	rig.store = lab_open_store(rig.disk);
	check_cut(recipe, at, &seen);
	if (!tap_failed && !roll(8))
		check_append(recipe, &seen);
	if (tap_failed)
		printf("# %s, cut %d at entry %zu of %zu\n", recipe->name, (int)kind, at,
		       disk->nr_entries);
}

static void run(const struct recipe *recipe)
{
	EQUAL(record(recipe), 0);
	memcpy(rig.disk->image, disk->before, rig.disk->bytes);
	rig.store = lab_open_store(rig.disk);
	log_replay_init(&replay, disk);
	for (unsigned int i = 0; i < CUTS && !tap_failed; i++)
		try_cut(recipe, roll(disk->nr_entries));
	if (!tap_failed)
		try_cut(recipe, disk->nr_entries);
	log_replay_deinit(&replay);
}

#define OPTIONS(how, policy, buffers_, bytes)           \
	{ .size = sizeof(struct chario_stream_options), \
	  .flags = how,                                 \
	  .segment_bytes = SEGMENT,                     \
	  .nr_buffers = buffers_,                       \
	  .durability = CHARIO_DURABILITY_##policy,     \
	  .flush_bytes = bytes,                         \
	  .flush_ns = 3000000 }

static const struct recipe recipes[] = {
	{ "flush", true, false, 0, OPTIONS(0, FLUSH, 4, 32768) },
	{ "flush, ring", true, false, 0, OPTIONS(CHARIO_STREAM_RING, FLUSH, 4, 32768) },
	{ "FUA, ring", true, false, 0, OPTIONS(CHARIO_STREAM_RING, FUA, 3, 0) },
	{ "no policy, ring", true, false, 0, OPTIONS(CHARIO_STREAM_RING, NONE, 8, 0) },
	{ "no cache, ring", false, false, 0, OPTIONS(CHARIO_STREAM_RING, AUTO, 8, 0) },
	{ "no checksums, ring", true, false, 14,
	  OPTIONS(CHARIO_STREAM_RING | CHARIO_STREAM_NO_CRC, FLUSH, 4, 32768) },
	{ "no checksums, no cache", false, false, 0, OPTIONS(CHARIO_STREAM_NO_CRC, AUTO, 4, 0) },
	{ "others' buffers, ring", true, true, 14, OPTIONS(CHARIO_STREAM_RING, FLUSH, 4, 16384) },
	{ "others' buffers, no cache", false, true, 10, OPTIONS(CHARIO_STREAM_RING, AUTO, 4, 0) },
};

TEST(test_cuts, "after a power cut what was durable is there, and nothing is wrong")
{
	for (size_t i = 0; i < sizeof(recipes) / sizeof(recipes[0]); i++) {
		for (unsigned int j = 0; j < RUNS && !tap_failed; j++) {
			chance = (i << 32) + ((uint64_t)j << 16);
			begin(&recipes[i]);
			run(&recipes[i]);
			end();
		}
	}
	printf("# %lu cuts, %lu took nothing but undurable records before others\n", nr_cuts,
	       nr_cheap);
	CHECK(nr_cheap > 0);
	CHECK(nr_cuts >= 2000);
}

TEST_MAIN(tap_nothing, tap_nothing)
