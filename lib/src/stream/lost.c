// SPDX-License-Identifier: LGPL-2.1-or-later OR MIT
/* Records that the producer lost. */
#include "stream/lost.h"

#include <sys/param.h>

#include "stream/count.h"

uint64_t chario_lost_in_batch(const struct chario_disk_batch *batch)
{
	uint64_t begun = batch->next_sequence - batch->sequence;

	return chario_saturating_sub(begun, batch->nr_records);
}

uint64_t chario_lost_before_batch(const struct chario_disk_batch *batch)
{
	uint64_t inside = chario_lost_in_batch(batch);

	return chario_saturating_sub(batch->lost_records, inside);
}

uint64_t chario_lost_before_end(const struct store_end *end, uint64_t sequence, uint64_t records)
{
	uint64_t numbers = chario_saturating_sub(end->sequence, sequence);
	uint64_t missing = chario_saturating_sub(end->records, records);

	/* A table may come from any program. */
	if (!end->time_ns || end->sequence >= CHARIO_DISK_COUNT_MAX)
		return 0;
	return chario_saturating_sub(numbers, missing);
}

/* Numbers behind the last whole record come again, and with them those of lost records. */
uint64_t chario_lost_before_head(const struct chario_head *head, const struct store_end *end)
{
	const struct chario_disk_batch *last = &head->last;
	uint64_t begun = head->next_sequence - last->sequence;
	uint64_t found = head->records - last->records;
	uint64_t lost = chario_lost_before_batch(last) + chario_saturating_sub(begun, found);

	return MIN(lost, last->lost_records) +
	       chario_lost_before_end(end, head->next_sequence, head->records);
}
