// SPDX-License-Identifier: MIT
/*
 * How much of an area holds data, whatever the length of records.
 */
#include "tap.h"
#include "tape-rig.h"

#define KIB 1024ULL
#define MIB (KIB * KIB)

static int get_fit(uint64_t area_bytes, uint64_t record_bytes, unsigned int flags,
		   struct chario_stream_fit *fit)
{
	const struct chario_stream_options options = {
		.size = sizeof(options),
		.flags = flags,
		.record_bytes = (uint32_t)record_bytes,
	};

	return chario_stream_get_fit(area_bytes, &options, fit, sizeof(*fit));
}

/* What a record takes: its data, a header of 48 bytes, and what aligns the next. */
static uint64_t footprint(uint64_t bytes)
{
	return (bytes + 48 + 63) / 64 * 64;
}

/* The same of a short copy, and of a room that is dense. */
static uint64_t dense_footprint(uint64_t bytes)
{
	return bytes < 4096 ? (bytes + 48 + 7) / 8 * 8 : footprint(bytes);
}

/* Of what is left when the last record does not fit any more, 95 % is used. */
TEST(test_share, "95 % of an area holds data and what names them")
{
	static const uint64_t records[] = { 1,       48,      1000,     4096,     10000,
					    65536,   100000,  131072,   300000,   614400,
					    921600,  2097152, 2100000,  3110400,  4194304,
					    6220800, 8294400, 12441600, 33177600, 64 * MIB };
	static const uint64_t areas[] = { 150 * MIB, 200 * MIB, 777 * MIB, 4096 * MIB,
					  100000 * MIB };

	for (size_t i = 0; i < sizeof(records) / sizeof(records[0]); i++) {
		for (size_t k = 0; k < sizeof(areas) / sizeof(areas[0]); k++) {
			uint64_t least = (areas[k] - records[i]) / 100 * 95;
			struct chario_stream_fit fit;

			EQUAL(get_fit(areas[k], records[i], 0, &fit), 0);
			EQUAL(fit.bytes, fit.records * records[i]);
			if (fit.records * footprint(records[i]) < least)
				TAP_FAIL("%llu records of %llu bytes in %llu",
					 (unsigned long long)fit.records,
					 (unsigned long long)records[i],
					 (unsigned long long)areas[k]);
			CHECK(fit.segments * fit.segment_bytes <= areas[k]);
			CHECK((uint64_t)fit.nr_buffers * fit.segment_bytes <=
			      (fit.segment_bytes > 21 * MIB ? 3ULL * fit.segment_bytes : 64 * MIB));
		}
	}
}

/* Of records of 1000 bytes on, the data alone are 95 %. */
TEST(test_dense, "short records are dense where that is asked for")
{
	static const uint64_t records[] = { 1, 8, 50, 100, 1000, 4095, 4096, 65536 };

	for (size_t i = 0; i < sizeof(records) / sizeof(records[0]); i++) {
		struct chario_stream_fit fit;

		EQUAL(get_fit(777 * MIB, records[i], CHARIO_STREAM_DENSE, &fit), 0);
		CHECK(fit.records * dense_footprint(records[i]) >= 777 * MIB / 100 * 98);
		if (records[i] >= 1000)
			CHECK(fit.bytes >= 777 * MIB / 100 * 95);
	}
}

/* The number that is told is the number that fits. */
static void fill_with_rooms(uint32_t bytes, uint32_t flags)
{
	struct chario_stream_options options = rig_small;
	struct chario_stream_room room;
	struct chario_stream_fit fit;
	uint64_t count = 0;
	int err;

	options.flags = flags;
	options.segment_bytes = options.nr_buffers = 0;
	options.record_bytes = bytes;
	EQUAL(chario_stream_get_fit(2 * MIB, &options, &fit, sizeof(fit)), 0);
	EQUAL(rig_open(&options), 0);
	while (!(err = chario_stream_get(rig.stream, bytes, -1, &room))) {
		CHECK((uintptr_t)room.memory % (flags && bytes < 4096 ? 8 : 64) == 0);
		lab_fill(room.memory, bytes, count);
		EQUAL(chario_stream_commit(rig.stream, &room, bytes, 0, 0), 0);
		count++;
	}
	EQUAL(err, -ENOSPC);
	EQUAL(count, fit.records);
	EQUAL(rig_look(), 0);
	EQUAL(rig.status.segment_bytes, fit.segment_bytes);
	EQUAL(rig.status.nr_buffers, fit.nr_buffers);
	EQUAL(rig_close(), 0);
	CHECK(rig_holds(0, count));
	rig_close_reader();
}

TEST(test_rooms, "as many rooms fit as is told")
{
	static const uint32_t records[] = { 1,      100,    2100,   5000,   30000,  65536,
					    100000, 131072, 200000, 300000, 1000000 };

	for (size_t i = 0; i < sizeof(records) / sizeof(records[0]); i++) {
		fill_with_rooms(records[i], 0);
		fill_with_rooms(records[i], CHARIO_STREAM_DENSE);
	}
}

/* Copies fill segments of any length. */
TEST(test_copies, "copies of any length fill an area")
{
	static const size_t records[] = { 100, 2100, 5000, 30000, 100000, 300000, 700000 };

	for (size_t i = 0; i < sizeof(records) / sizeof(records[0]); i++) {
		uint64_t count = 0;
		int err;

		EQUAL(rig_open(&rig_small), 0);
		while (!(err = lab_write(rig.stream, count, records[i])))
			count++;
		EQUAL(err, -ENOSPC);
		CHECK((count + 1) * dense_footprint(records[i]) >= 2 * MIB / 100 * 95);
		CHECK(rig_holds(0, count));
		rig_close_reader();
	}
}

/* One that lies in pieces is one. */
TEST(test_pieces, "a record that lies in pieces")
{
	unsigned char memory[20000];
	const struct iovec pieces[] = { { memory, 1 },
					{ NULL, 0 },
					{ memory + 1, 9000 },
					{ memory + 9001, sizeof(memory) - 9001 } };
	const struct iovec endless[] = { { memory, SIZE_MAX }, { memory, 2 } };

	lab_fill(memory, sizeof(memory), 0);
	EQUAL(rig_open(&rig_small), 0);
	EQUAL(chario_stream_writev(rig.stream, pieces, 4, 1, 0, -1), 0);
	EQUAL(chario_stream_writev(rig.stream, pieces, 0, 1, 0, -1), -EINVAL);
	EQUAL(chario_stream_writev(rig.stream, pieces + 1, 1, 1, 0, -1), -EINVAL);
	EQUAL(chario_stream_writev(rig.stream, endless, 2, 1, 0, -1), -EINVAL);
	EQUAL(rig_read_back(), 0);
	EQUAL(rig_next(), 0);
	EQUAL(rig.record.bytes, sizeof(memory));
	CHECK(lab_is(rig.record.memory, sizeof(memory), 0));
	EQUAL(rig_next(), -ENODATA);
}

TEST(test_refused, "what does not fit, and what is asked wrongly")
{
	struct chario_stream_fit fit;

	EQUAL(get_fit(150 * MIB, 128 * MIB, 0, &fit), -EINVAL);
	EQUAL(get_fit(150 * MIB, 100 * MIB, 0, &fit), -ENOSPC);
	EQUAL(get_fit(UINT64_MAX, 0, 0, &fit), -EINVAL);
	EQUAL(get_fit(8192, 0, 0, &fit), -ENOSPC);
	EQUAL(get_fit(12288, 3900, 0, &fit), -ENOSPC);
	EQUAL(get_fit(150 * MIB, 0, CHARIO_STREAM_APPEND, &fit), -EINVAL);
	EQUAL(chario_stream_get_fit(150 * MIB, NULL, &fit, 8), -EINVAL);
	EQUAL(chario_stream_get_fit(150 * MIB, NULL, &fit, sizeof(fit)), 0);
	EQUAL(fit.segments, 37);
	EQUAL(fit.records, 0);
	EQUAL(fit.bytes, 37 * (4 * MIB - 192));
	/* A ring has more, so that less of it is being overwritten at a time. */
	EQUAL(get_fit(150 * MIB, 0, CHARIO_STREAM_RING, &fit), 0);
	EQUAL(fit.segments, 75);
}

/* Long records begin at blocks; segments are as long as usual unless shorter ones have more room. */
TEST(test_chosen, "segments and buffers suit the records")
{
	const struct {
		uint64_t area_bytes;
		uint32_t record_bytes, flags, asked_bytes;
		uint64_t segment_bytes, records, nr_buffers;
	} cases[] = { { 80 * MIB, 128 << 10, 0, 8 << 20, 8 * MIB, 620, 8 },
		      { 16 * MIB, 4096, CHARIO_STREAM_DENSE, 1 << 20, MIB, 4032, 8 },
		      { 150 * MIB, 10000, 0, 0, 4 * MIB, 15429, 8 },
		      { 150 * MIB, 100000, 0, 0, 4 * MIB, 1517, 8 },
		      { 150 * MIB, 1000000, 0, 0, 4014080, 156, 8 },
		      { 4096 * MIB, 33177600, 0, 0, 33181696, 129, 3 },
		      { 70 * MIB, 33177600, 0, 0, 33181696, 2, 2 } };

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		const struct chario_stream_options options = {
			.size = sizeof(options),
			.flags = cases[i].flags,
			.segment_bytes = cases[i].asked_bytes,
			.record_bytes = cases[i].record_bytes,
		};
		struct chario_stream_fit fit;

		EQUAL(chario_stream_get_fit(cases[i].area_bytes, &options, &fit, sizeof(fit)), 0);
		EQUAL(fit.segment_bytes, cases[i].segment_bytes);
		EQUAL(fit.records, cases[i].records);
		EQUAL(fit.nr_buffers, cases[i].nr_buffers);
	}
}

/* struct limit - the buffers that a limit of locked memory leaves */
struct limit {
	uint64_t limit;
	uint32_t asked_bytes, asked_buffers, record_bytes;
	uint64_t segment_bytes; /* 0 if there is no memory */
	uint32_t nr_buffers;
};

#define OF_LIMIT (64 * MIB)

/* The store has 512 KiB, and each search of the head 4. */
static const struct limit limits[] = {
	{ OF_LIMIT, 0, 0, 0, 4 * MIB, 8 },  { 32 * MIB, 0, 0, 0, 4 * MIB, 4 },
	{ 8 * MIB, 0, 0, 0, MIB, 4 },       { MIB, 0, 0, 0, 64 * KIB, 4 },
	{ 8 * MIB, 0, 8, 0, 512 * KIB, 8 }, { 10 * MIB, 4 * MIB, 0, 0, 4 * MIB, 2 },
	{ 8 * MIB, 4 * MIB, 8, 0, 0, 0 },   { 4 * MIB, 0, 0, MIB, MIB + 4 * KIB, 2 },
	{ 2 * MIB, 0, 0, MIB, 0, 0 },       { 24 * MIB, 4 * MIB, 0, 0, 4 * MIB, 4 },
	{ 700 * KIB, 0, 0, 0, 0, 0 },       { 42 * MIB, 20 * MIB, 0, 0, 20 * MIB, 2 },
};

static int open_limited(const struct limit *limit, uint32_t flags)
{
	const struct chario_stream_options options = {
		.size = sizeof(options),
		.flags = flags,
		.segment_bytes = limit->asked_bytes,
		.nr_buffers = limit->asked_buffers,
		.record_bytes = limit->record_bytes,
	};

	return rig_open(&options);
}

/* What is recorded beside a reader is read, all inside of the limit, and the same appended. */
static void record_limited(const struct limit *limit)
{
	EQUAL(rig_look(), 0);
	EQUAL(rig.status.segment_bytes, limit->segment_bytes);
	EQUAL(rig.status.nr_buffers, limit->nr_buffers);
	EQUAL(rig.status.reduced, limit->limit < OF_LIMIT);
	EQUAL(rig_record(0, 20, 150000), 0);
	EQUAL(rig_wait(), 0);
	EQUAL(rig_close(), 0);
	EQUAL(open_limited(limit, CHARIO_STREAM_APPEND), 0);
	EQUAL(rig_record(20, 30, 150000), 0);
	CHECK(rig_holds(0, 30));
	rig_close_reader();
}

TEST(test_limit, "buffers fit a limit of locked memory")
{
	rig_end();
	rig_begin(OF_LIMIT, false);
	for (size_t i = 0; i < sizeof(limits) / sizeof(limits[0]) && !tap_failed; i++) {
		uint64_t locked = rig.disk->locked;

		printf("# limit %zu\n", i);
		rig.disk->most_locked = limits[i].limit;
		EQUAL(open_limited(&limits[i], 0), limits[i].segment_bytes ? 0 : -ENOMEM);
		if (limits[i].segment_bytes)
			record_limited(&limits[i]);
		EQUAL(rig.disk->locked, locked);
	}
}

/* A recording with long segments is read where there is little memory, also what lies apart. */
TEST(test_limited_reader, "long segments are read in little memory")
{
	const uint64_t bytes = 3 * MIB;
	struct chario_buffer *buffer;

	rig_end();
	rig_begin(OF_LIMIT, false);
	EQUAL(chario_buffer_pool(chario_store_device(rig.store), bytes, 0, &buffer), 0);
	lab_fill(chario_buffer_memory(buffer), bytes, 3);
	EQUAL(rig_open(NULL), 0);
	EQUAL(rig_record(0, 3, 2 * MIB), 0);
	EQUAL(chario_stream_write_buffer(rig.stream, buffer, 0, bytes, 0, 0, -1, NULL), 0);
	EQUAL(rig_close(), 0);
	chario_buffer_free(buffer);
	rig.disk->most_locked = MIB;
	CHECK(rig_holds(0, 4));
	/* A block that cannot be read costs its records only, as without a limit. */
	rig_close_reader();
	rig_spoil(3 * MIB, 4096);
	EQUAL(rig_open_reader(), 0);
	CHECK(rig_is_next(0));
	EQUAL(rig_next(), 0);
	EQUAL(rig.record.missing, 1);
}

TEST_MAIN_WITH(rig_begin(2 * MIB, true), rig_end())
