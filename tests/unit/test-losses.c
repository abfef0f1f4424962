// SPDX-License-Identifier: MIT
/*
 * Missing records, judged by headers of batches that the test makes up.
 */
#include "stream/losses.h"

#include "stream/lost.h"
#include "tap.h"

/* A gap of four records, up to the 14th, which began in segment 6. */
static struct chario_gap four(void)
{
	return chario_gap_of(6, 14, 4);
}

TEST(test_settle, "what was durable is left out of a gap")
{
	static const struct step {
		uint64_t durable, from, undurable;
	} steps[] = { { 10, 10, 4 }, { 12, 12, 2 }, { 99, 14, 0 } };

	for (size_t i = 0; i < sizeof(steps) / sizeof(steps[0]); i++) {
		struct chario_gap gap = four();

		chario_gap_settle(&gap, steps[i].durable);
		EQUAL(gap.from, steps[i].from);
		EQUAL(gap.undurable, steps[i].undurable);
		EQUAL(gap.numbers, 4);
	}
}

/* Lay gaps one behind the other, each of which is sure if it is one of the first. */
static struct chario_gaps lay(size_t nr, size_t nr_sure)
{
	struct chario_gaps gaps = { 0 };

	for (uint64_t i = 0; i < nr; i++) {
		struct chario_gap gap = chario_gap_of(i, 10 * (i + 1), 3);

		chario_gaps_add(&gaps, &gap);
	}
	gaps.nr_sure = nr_sure;
	return gaps;
}

TEST(test_settle_all, "of many gaps those are kept that may count")
{
	struct chario_gaps gaps = lay(3, 2);

	/* The number of durable records does not fall. */
	chario_gaps_settle(&gaps, 19);
	chario_gaps_settle(&gaps, 5);
	EQUAL(gaps.durable, 19);
	EQUAL(gaps.nr, 2);
	EQUAL(gaps.nr_sure, 1);
	EQUAL(chario_gaps_count(&gaps, false), 1);
	EQUAL(chario_gaps_count_behind(&gaps, 29), 0);
	EQUAL(chario_gaps_count_behind(&gaps, 30), 3);
	chario_gaps_reset(&gaps);

	/* Those in segments that are being overwritten, or may be, count whatever was durable. */
	gaps = lay(3, 3);
	gaps.overwritten_end = gaps.nr_hidden = 1;
	chario_gaps_settle(&gaps, 99);
	EQUAL(gaps.nr, 2);
	EQUAL(chario_gaps_count(&gaps, false), 3);
	gaps.overwritten_end = 2;
	EQUAL(chario_gaps_count(&gaps, false), 6);
	EQUAL(chario_gaps_count(&gaps, true), 0);
	chario_gaps_reset(&gaps);
}

TEST(test_judge, "only torn segments count when the recording was closed")
{
	static const struct ends {
		uint64_t worn, torn, open, closed;
	} ends[] = { { 10, 4, 4, 0 }, { 10, 8, 4, 4 }, { 4, 10, 2, 0 }, { 6, 6, 2, 0 } };

	for (size_t i = 0; i < sizeof(ends) / sizeof(ends[0]); i++) {
		const struct chario_gaps gaps = {
			.overwritten_end = ends[i].worn,
			.distrusted_end = ends[i].torn,
			.durable = 12,
		};
		const struct chario_gap gap = four();

		EQUAL(chario_gaps_judge(&gaps, &gap, false), ends[i].open);
		EQUAL(chario_gaps_judge(&gaps, &gap, true), ends[i].closed);
	}
}

/* struct pair - two batches, the first of which has records 0 to 3, and what is missing of both */
struct pair {
	uint64_t given; /* records of the first that are read */
	struct chario_disk_batch next;
	uint64_t newest; /* segment of the ring, of which 8 are kept */
	uint64_t behind, open, closed;
};

/* The second batch is of the same part, of a later one, or of a later one in a ring. */
static const struct pair pairs[] = {
	{ 0, { .part = 1, .segment = 2, .records = 10, .sequence = 3 }, 0, 0, 10, 0 },
	{ 0, { .part = 2, .records = 6, .sequence = 9 }, 0, 0, 5, 0 },
	{ 0, { .part = 2, .records = 2, .sequence = 2 }, 0, 0, 0, 0 },
	{ 0, { .part = 2, .records = 2, .sequence = 3 }, 0, 0, 1, 1 },
	{ 0, { .part = 2, .records = 3, .sequence = 1 }, 0, 0, 0, 0 },
	{ 4, { .part = 2, .records = 2, .sequence = 2, .durable_records = 3 }, 0, 1, 0, 0 },
	{ 0, { .part = 2, .segment = 10, .records = 4, .sequence = 4 }, 10, 0, 4, 4 },
	{ 0, { .part = 2, .segment = 5, .records = 4, .sequence = 4 }, 20, 0, 4, 0 },
};

TEST(test_pairs, "records between two batches are judged")
{
	const struct chario_disk_batch first = {
		.bytes = 1, .part = 1, .next_sequence = 4, .nr_records = 4
	};

	for (size_t i = 0; i < sizeof(pairs) / sizeof(pairs[0]); i++) {
		struct chario_disk_batch next = pairs[i].next;
		struct chario_losses losses = { 0 };

		printf("# pair %zu\n", i);
		next.serial = next.bytes = next.nr_records = 1;
		next.next_sequence = next.sequence + 1;
		chario_losses_set_newest(&losses, pairs[i].newest, 8, 0);
		chario_losses_reset(&losses);
		chario_losses_go_to(&losses, &first, true, true, 8);
		for (uint64_t k = 0; k < pairs[i].given; k++)
			chario_losses_give(&losses, k, false);
		chario_losses_go_to(&losses, &next, true, true, 8);
		EQUAL(chario_losses_count_durable_behind(&losses), pairs[i].behind);
		chario_losses_give(&losses, next.sequence, false);
		EQUAL(chario_losses_count_undurable(&losses, false), pairs[i].open);
		EQUAL(chario_losses_count_undurable(&losses, true), pairs[i].closed);
		chario_losses_reset(&losses);
	}
}

/* The first record of the batch began before it, and the last one ends behind it. */
TEST(test_end, "missing records at the end count once")
{
	const struct chario_disk_batch batch = {
		.flags = CHARIO_DISK_BATCH_MIDDLE,
		.bytes = 1,
		.records = 9,
		.sequence = 10,
		.next_sequence = 14,
		.nr_records = 4,
		.durable_records = 13,
	};
	/* The record from which on they count, the end, and durable records behind the last. */
	static const uint64_t cases[][3] = { { 9, 0, 4 }, { 9, 14, 0 }, { 0, 10, 4 } };

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct chario_losses losses = { 0 };

		chario_losses_reset(&losses);
		chario_losses_go_to(&losses, &batch, false, true, 8);
		if (cases[i][0])
			chario_losses_start(&losses, cases[i][0]);
		if (cases[i][1])
			chario_losses_end(&losses, cases[i][1]);
		EQUAL(chario_losses_count_durable_behind(&losses), cases[i][2]);
	}
}

TEST(test_lost, "records that a producer lost are counted, whatever stands on the disk")
{
	struct chario_head head = {
		.last = { .next_sequence = 10, .nr_records = 4, .lost_records = 8 },
		.next_sequence = 10,
		.records = 4,
	};
	struct store_end end = { .sequence = 15, .records = 6, .time_ns = 1 };

	EQUAL(chario_lost_before_batch(&head.last), 2);
	EQUAL(chario_lost_before_end(&end, 10, 4), 3);
	EQUAL(chario_lost_before_head(&head, &end), 8 + 3);
	/* Of the last batch two records were there, and no number behind them. */
	head.next_sequence = head.records = 2;
	EQUAL(chario_lost_before_head(&head, &(struct store_end){ 0 }), 2);
	head.last.lost_records = 0;
	head.next_sequence = 10;
	EQUAL(chario_lost_before_head(&head, &(struct store_end){ 0 }), 0);
	end.time_ns = 0;
	EQUAL(chario_lost_before_end(&end, 10, 4), 0);
	end = (struct store_end){ .sequence = CHARIO_DISK_COUNT_MAX, .time_ns = 1 };
	EQUAL(chario_lost_before_end(&end, 10, 4), 0);
}

TEST_MAIN(tap_nothing, tap_nothing)
