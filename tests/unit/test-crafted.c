// SPDX-License-Identifier: MIT
/*
 * Recordings whose checksums are right and whose numbers are not, as no program makes
 * them: a reader passes over what cannot be, reads a bounded number of times, and
 * ends.
 */
#include <endian.h>

#include <chario/area.h>
#include <chario/buffer.h>

#include "store/area-inner.h"
#include "stream/format.h"
#include "stream/tape.h"
#include "tap.h"
#include "tape-rig.h"

#define SEGMENT 65536U
#define SLOTS   8U

/* Data that lie apart take a block each, and the headers one. */
#define APART (SEGMENT / CHARIO_DISK_BLOCK - 1)

/* Place and length of a number of a header. */
#define BATCH_FIELD(name) \
	offsetof(struct chario_disk_batch, name), sizeof(((struct chario_disk_batch *)NULL)->name)

/* More reads than any call on so few segments needs. */
#define MANY_READS 2000U

static struct chario_buffer *buffer;

static void before(void)
{
	rig_begin(SLOTS * SEGMENT, true);
	chario_buffer_pool(chario_store_device(rig.store), CHARIO_DISK_BLOCK, 0, &buffer);
}

static void after(void)
{
	rig.disk->most_reads = 0;
	rig_close();
	chario_buffer_free(buffer);
	rig_end();
}

static int open_stream(uint32_t flags)
{
	return RIG_OPEN(.flags = flags, .segment_bytes = SEGMENT, .nr_buffers = 2,
			.durability = CHARIO_DURABILITY_FUA);
}

static int write_apart(uint64_t count)
{
	int err = 0;

	for (uint64_t i = 0; i < count && !err; i++)
		err = chario_stream_write_buffer(rig.stream, buffer, 0, 512, 1, 0, -1, NULL);
	return err;
}

/* A recording of some records whose data lie apart. */
static int record_apart(uint32_t flags, uint64_t count)
{
	return open_stream(flags) ?: write_apart(count) ?: rig_close();
}

/* The first batch of a slot, on the disk. */
static struct chario_disk_batch *batch_of(uint64_t slot)
{
	return (void *)rig_place(slot * SEGMENT);
}

static struct chario_disk_record *first_record(struct chario_disk_batch *batch)
{
	return (void *)((unsigned char *)batch + le16toh(batch->header_bytes));
}

/* Have the checksums right of a batch and of its first record, which lies apart. */
static void sign(struct chario_disk_batch *batch)
{
	struct chario_disk_record *record = first_record(batch);
	uint32_t seed = chario_disk_record_seed(le64toh(batch->session), le64toh(batch->part),
						le64toh(batch->segment));

	record->crc = htole32(chario_disk_record_crc(seed, record, NULL, 0));
	chario_disk_batch_sign(batch);
}

/* Data between blocks cannot be read directly; data of no bytes are none. */
TEST(test_apart, "data that lie apart in no place are passed over")
{
	struct chario_disk_record *record;

	EQUAL(record_apart(0, 2), 0);
	record = first_record(batch_of(0));
	record->data = htole32(le32toh(record->data) - 512);
	sign(batch_of(0));
	EQUAL(rig_open_reader(), 0);
	EQUAL(rig_next(), 0);
	EQUAL(rig.record.sequence, 1);
	EQUAL(rig.record.missing, 1);
	EQUAL(rig_next(), -ENODATA);
	record->data = htole32(le32toh(record->data) + 512);
	record->bytes = 0;
	sign(batch_of(0));
	EQUAL(chario_reader_seek(rig.reader, 0), 0);
	EQUAL(rig_next(), 0);
	EQUAL(rig.record.sequence, 1);
}

/* The place of a record, and of its data from there; the next one begins so far before the end. */
TEST(test_pieces, "data outside of their batch and segment are none")
{
	const uint32_t apart = CHARIO_DISK_RECORD_APART | CHARIO_RECORD_NO_CRC;
	const struct {
		uint32_t batch_bytes, at, flags, data, bytes, cut;
		int ret;
	} cases[] = { { 4096, 512, 0, 48, 3536, 0, 1 },
		      { 4096, 512, 0, 48, 3537, 0, -EBADMSG },
		      { 4096, 512, 0, 40, 0, 0, -EBADMSG },
		      { 4096, 512, 0, 3584, 0, 0, 1 },
		      { 4096, 512, 0, 3592, 8, 0, -EBADMSG },
		      { 4096, 512, apart, 3584, 512, 0, 1 },
		      { 4096, 512, apart, 3584, 512, 3536, 1 },
		      { 4096, 512, apart, 3584, 512, 3544, -EBADMSG },
		      { 4096, 512, apart, 3584, 512, -8U, -EBADMSG },
		      { 8192, 512, apart, 3584, 512, 0, -EBADMSG },
		      { 8192, 4608, apart, SEGMENT - 512, 512, 0, -EBADMSG },
		      { 8192, 512, apart, SEGMENT - 4096 - 512, 4096, 0, 1 },
		      { 8192, 512, apart, SEGMENT - 4096 - 512, 4097, 0, -EBADMSG } };

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		static unsigned char memory[16384] __attribute__((__aligned__(8)));
		struct chario_pile pile = { .pool.memory = memory,
					    .at = cases[i].at,
					    .sealed = true };
		struct chario_disk_record *record = (void *)(memory + pile.at);
		struct chario_piece piece;

		pile.batch.bytes = cases[i].batch_bytes;
		*record = (struct chario_disk_record){ .magic = CHARIO_DISK_RECORD_MAGIC,
						       .flags = cases[i].flags,
						       .bytes = cases[i].bytes,
						       .data = cases[i].data,
						       .next = pile.batch.bytes - pile.at -
							       cases[i].cut };
		record->crc = chario_disk_record_crc(
			0, record, cases[i].flags ? NULL : (unsigned char *)record + record->data,
			record->bytes);
		if (chario_pile_next(&pile, SEGMENT, &piece) != cases[i].ret)
			TAP_FAIL("piece %zu", i);
	}
}

/* At the end of all numbers there is no segment: what looks for one would not end. */
TEST(test_last_segment, "there is no segment at the end of all numbers")
{
	struct chario_disk_batch *batch = batch_of(0);

	for (uint64_t back = 1; back < 3 * SLOTS; back++) {
		EQUAL(record_apart(CHARIO_STREAM_RING, 1), 0);
		batch->segment = htole64(0 - back);
		sign(batch);
		rig.disk->most_reads = rig.disk->nr_reads + MANY_READS;
		EQUAL(rig_survey(), 0);
		EQUAL(rig.recording.next_record, 0);
		/* It was closed with one record, says the table. */
		EQUAL(rig.recording.missing_records, 1);
		EQUAL(rig_next(), -ENODATA);
		EQUAL(rig.record.missing, 1);
		rig.disk->most_reads = 0;
		rig_close_reader();
	}
}

/* With positions near the end of all numbers, what is durable could not be told. */
TEST(test_counts, "counts that no recording reaches are none")
{
	struct chario_disk_batch *batch = batch_of(0);

	for (unsigned int i = 0; i < 2; i++) {
		EQUAL(record_apart(CHARIO_STREAM_RING, 3), 0);
		batch->segment = i ? batch->segment : CHARIO_DISK_COUNT_MAX;
		batch->position = i ? CHARIO_DISK_COUNT_MAX - 1 : 0;
		sign(batch);
		EQUAL(open_stream(CHARIO_STREAM_APPEND), 0);
		EQUAL(rig_look(), 0);
		/* The table knows of them: they are not written over. */
		EQUAL(rig.status.records, 3);
		EQUAL(rig_close(), 0);
	}
}

/* One number is changed of a header that is good, or of the times behind it. */
TEST(test_headers, "headers of batches that cannot be are none")
{
	static const struct {
		size_t at, bytes;
		uint64_t value;
		bool is_good;
	} cases[] = { { BATCH_FIELD(segment), CHARIO_DISK_COUNT_MAX, false },
		      { BATCH_FIELD(serial), CHARIO_DISK_COUNT_MAX, false },
		      { BATCH_FIELD(records), CHARIO_DISK_COUNT_MAX, false },
		      { BATCH_FIELD(position), CHARIO_DISK_COUNT_MAX, false },
		      { BATCH_FIELD(position), CHARIO_DISK_COUNT_MAX - 1, true },
		      { BATCH_FIELD(offset), SEGMENT - 4096, true },
		      { BATCH_FIELD(offset), SEGMENT + 4096, false },
		      { BATCH_FIELD(bytes), SEGMENT, true },
		      { BATCH_FIELD(bytes), SEGMENT + 1, false },
		      { BATCH_FIELD(header_bytes), 120, false },
		      { BATCH_FIELD(header_bytes), 4104, false },
		      { CHARIO_DISK_TIMES_AT + 8, 8, 5, true },
		      { CHARIO_DISK_TIMES_AT + 8, 8, 6, false } };

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		static uint64_t block[CHARIO_DISK_BLOCK / 8];
		struct chario_disk_batch *batch = (void *)block, found;
		struct chario_disk_times times;

		*batch = (struct chario_disk_batch){ .magic = CHARIO_DISK_BATCH_MAGIC,
						     .version = CHARIO_DISK_VERSION,
						     .header_bytes = sizeof(*batch),
						     .flags = CHARIO_DISK_BATCH_TIMES,
						     .bytes = 4096,
						     .serial = 5 };
		memcpy((char *)block + cases[i].at, &cases[i].value, cases[i].bytes);
		chario_disk_batch_sign(batch);
		if ((chario_disk_batch_read(&found, block, 0, SEGMENT) &&
		     chario_disk_batch_times(&found, block, &times)) != cases[i].is_good)
			TAP_FAIL("header %zu", i);
	}
}

/* A table may be made by anybody, but segments are no longer than the format says, and two or more. */
TEST(test_segments, "segments that are too long or too short are refused")
{
	static const struct {
		bool is_large;
		uint32_t bytes, window;
		int err;
	} cases[] = { { true, CHARIO_DISK_SEGMENT_MAX, 1, 0 },
		      { true, CHARIO_DISK_SEGMENT_MAX + CHARIO_DISK_BLOCK, 1, -EUCLEAN },
		      { true, CHARIO_DISK_BLOCK, 1, -EUCLEAN },
		      { false, SLOTS / 2 * SEGMENT, 2, 0 },
		      { false, SLOTS / 2 * SEGMENT, 3, -EUCLEAN },
		      { false, (SLOTS / 2 + 1) * SEGMENT, 1, -EUCLEAN } };
	struct chario_store *large;

	EQUAL(chario_store_open(lab_make_file(4ULL * CHARIO_DISK_SEGMENT_MAX), O_RDWR, &large), 0);
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct chario_store *store = cases[i].is_large ? large : rig.store;
		const struct chario_area_stream is = { .session = 1,
						       .segment_bytes = cases[i].bytes,
						       .window = cases[i].window };
		struct chario_area *area;

		EQUAL(chario_area_open(store, LAB_AREA, O_RDWR, &area), 0);
		EQUAL(chario_area_set_stream(area, &is), 0);
		EQUAL(chario_reader_open(store, LAB_AREA, &rig.reader), cases[i].err);
		rig_close_reader();
		chario_area_close(area);
	}
	chario_store_close(large);
	lab_remove_file();
}

/* That the ring has come round is found out once for a segment, not for each record. */
TEST(test_overtaken, "a reader that was overtaken finds it out once a segment")
{
	uint64_t reads;

	EQUAL(open_stream(CHARIO_STREAM_RING), 0);
	EQUAL(write_apart(3 * APART), 0);
	EQUAL(rig_wait(), 0);
	EQUAL(rig_open_reader(), 0);
	EQUAL(rig_next(), 0);
	EQUAL(rig.record.sequence, 0);
	/* The first segment is still there, and the next to be overwritten. */
	EQUAL(write_apart((SLOTS - 3) * APART), 0);
	EQUAL(rig_wait(), 0);
	reads = rig.disk->nr_reads;
	EQUAL(rig_next(), 0);
	CHECK(rig.record.sequence >= APART);
	CHECK(rig.disk->nr_reads - reads < 4 * APART);
}

TEST_MAIN(before, after)
