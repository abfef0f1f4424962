// SPDX-License-Identifier: LGPL-2.1-or-later OR MIT
/* The list of gaps. */
#include "stream/gaps.h"

#include <stdlib.h>
#include <sys/param.h>

#include "stream/count.h"

struct chario_gap chario_gap_of(uint64_t segment, uint64_t to, uint64_t records)
{
	return (struct chario_gap){
		.segment = segment,
		.from = to - records,
		.to = to,
		.numbers = records,
		.undurable = records,
	};
}

void chario_gap_settle(struct chario_gap *gap, uint64_t durable)
{
	if (gap->from < durable) {
		uint64_t records = MIN(durable, gap->to) - gap->from;

		gap->undurable = chario_saturating_sub(gap->undurable, records);
		gap->from += records;
	}
	if (gap->from == gap->to)
		gap->undurable = 0;
}

void chario_gaps_reset(struct chario_gaps *gaps)
{
	free(gaps->list);
	*gaps = (struct chario_gaps){ .overwritten_end = gaps->overwritten_end,
				      .nr_hidden = gaps->nr_hidden };
}

/* Without memory a gap counts as one of durable records, which is the safe side. */
void chario_gaps_add(struct chario_gaps *gaps, const struct chario_gap *gap)
{
	size_t room = gaps->room ? 2 * gaps->room : 16;
	struct chario_gap *list;

	if (!gap->numbers)
		return;
	if (gaps->nr == gaps->room) {
		list = reallocarray(gaps->list, room, sizeof(*list));
		if (!list)
			return;
		gaps->list = list;
		gaps->room = room;
	}
	gaps->list[gaps->nr++] = *gap;
}

void chario_gaps_settle(struct chario_gaps *gaps, uint64_t durable)
{
	size_t kept = gaps->nr_past, sure = gaps->nr_sure;

	gaps->durable = MAX(gaps->durable, durable);
	for (size_t i = gaps->nr_past; i < gaps->nr; i++) {
		struct chario_gap gap = gaps->list[i];

		chario_gap_settle(&gap, gaps->durable);
		if (gap.undurable || gap.segment < gaps->overwritten_end + gaps->nr_hidden)
			gaps->list[kept++] = gap;
		else if (i < gaps->nr_sure)
			sure--;
	}
	gaps->nr = kept;
	gaps->nr_sure = sure;
}

void chario_gaps_end_part(struct chario_gaps *gaps, bool is_closed)
{
	if (is_closed) {
		chario_gaps_settle(gaps, UINT64_MAX);
		gaps->nr_closed = gaps->nr;
	}
	gaps->nr_past = gaps->nr;
	gaps->durable = 0;
}

static uint64_t judge(const struct chario_gaps *gaps, struct chario_gap gap, uint64_t durable,
		      bool is_closed)
{
	uint64_t end = is_closed ? MIN(gaps->overwritten_end, gaps->distrusted_end) :
				   gaps->overwritten_end;

	chario_gap_settle(&gap, durable);
	return gap.segment < end ? gap.numbers : gap.undurable;
}

uint64_t chario_gaps_judge(const struct chario_gaps *gaps, const struct chario_gap *gap,
			   bool is_closed)
{
	return judge(gaps, *gap, is_closed ? UINT64_MAX : gaps->durable, is_closed);
}

uint64_t chario_gaps_count(const struct chario_gaps *gaps, bool is_closed)
{
	uint64_t numbers = 0;

	for (size_t i = 0; i < gaps->nr_sure; i++)
		numbers += i < gaps->nr_past ? judge(gaps, gaps->list[i], 0, is_closed) :
					       chario_gaps_judge(gaps, &gaps->list[i], is_closed);
	return numbers;
}

uint64_t chario_gaps_count_behind(const struct chario_gaps *gaps, uint64_t records)
{
	uint64_t numbers = 0;

	for (size_t i = gaps->nr_sure; i < gaps->nr; i++)
		if (gaps->list[i].to <= records)
			numbers += gaps->list[i].undurable;
	return numbers;
}
