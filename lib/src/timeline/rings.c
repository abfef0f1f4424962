// SPDX-License-Identifier: LGPL-2.1-or-later OR MIT
/* The rings of a timeline, read while the kernel writes to them and merged by time. */
#include "timeline/rings.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/param.h>

#include "system/scope.h"

/* The records copied from one ring, in its order. */
struct lane {
	uint64_t head; /* head of the ring when the room for the copy was made */
	struct chario_timeline_record *next;
	struct chario_timeline_record *end;
};

/* Copy a ring; records that are overwritten during the copy are left out. */
static void copy_ring(const struct chario_timeline *timeline, uint32_t i, struct lane *lane,
		      struct chario_timeline_record *to)
{
	const struct chario_timeline_header *header = timeline->header;
	const struct chario_timeline_ring *ring = chario_rings_ring(timeline, i);
	uint64_t first = chario_rings_first(lane->head, header->records), good;
	const char *records = (const char *)(ring + 1);

	for (uint64_t n = first; n < lane->head; n++)
		memcpy(&to[n - first], records + (n & (header->records - 1)) * header->record_bytes,
		       sizeof(*to));
	/* If a copied record was overwritten, the head that is read below shows it. */
	__atomic_thread_fence(__ATOMIC_ACQUIRE);
	good = chario_rings_first(chario_rings_head(ring), header->records);
	good = MIN(MAX(good, first), lane->head);
	lane->next = to + (good - first);
	lane->end = to + (lane->head - first);
}

static int by_time(const void *left, const void *right)
{
	const struct chario_timeline_record *a = left, *b = right;

	if (a->time_ns != b->time_ns)
		return a->time_ns < b->time_ns ? -1 : 1;
	return (a->reserved > b->reserved) - (a->reserved < b->reserved);
}

/* Copy tags as records; tags that are being written are left out. */
static void copy_tags(const struct chario_timeline *timeline, struct lane *lane,
		      struct chario_timeline_record *to)
{
	uint32_t size = timeline->header->tags;

	lane->next = to;
	lane->end = to;
	for (uint64_t n = lane->head > size ? lane->head - size : 0; n < lane->head; n++) {
		const struct chario_timeline_tag *tag = chario_rings_tag(timeline, n);
		uint64_t sequence = __atomic_load_n(&tag->sequence, __ATOMIC_ACQUIRE);
		struct chario_timeline_record record = {
			.time_ns = __atomic_load_n(&tag->time_ns, __ATOMIC_ACQUIRE),
			.stage = CHARIO_TIMELINE_TAG,
			.request = CHARIO_TIMELINE_NO_REQUEST,
			.command = CHARIO_TIMELINE_NO_REQUEST,
			.result = __atomic_load_n(&tag->value, __ATOMIC_ACQUIRE),
			.reserved = n,
		};

		/*
		 * A place is taken before it is written: if the head has not passed it, the
		 * copy is whole.
		 */
		if (sequence == n + 1 && chario_rings_tags_head(timeline) <= n + size)
			*lane->end++ = record;
	}
	/* Threads that tag at the same time may store their tags out of order. */
	qsort(to, (size_t)(lane->end - to), sizeof(*to), by_time);
	for (struct chario_timeline_record *tag = to; tag < lane->end; tag++)
		tag->reserved = 0;
}

/* Returns whether a record is earlier; at equal times the earlier stage of a request is. */
static bool is_earlier(const struct chario_timeline_record *a,
		       const struct chario_timeline_record *b)
{
	if (a->time_ns != b->time_ns)
		return a->time_ns < b->time_ns;
	return a->stage < b->stage;
}

/* Merge the lanes; the order within a lane stays, whatever the resolution of the clock. */
static size_t merge(struct lane *lanes, size_t nr_lanes, struct chario_timeline_record *to)
{
	size_t count = 0;

	for (;;) {
		struct lane *earliest = NULL;

		for (struct lane *lane = lanes; lane < lanes + nr_lanes; lane++)
			if (lane->next < lane->end &&
			    (!earliest || is_earlier(lane->next, earliest->next)))
				earliest = lane;
		if (!earliest)
			return count;
		to[count++] = *earliest->next++;
	}
}

/* Note the heads of all rings.  Returns the number of records below them. */
static size_t look(const struct chario_timeline *timeline, struct lane *lanes)
{
	const struct chario_timeline_header *header = timeline->header;
	uint64_t all = 0;

	for (uint32_t i = 0; i < header->nr_rings; i++) {
		lanes[i].head = chario_rings_head(chario_rings_ring(timeline, i));
		all += lanes[i].head - chario_rings_first(lanes[i].head, header->records);
	}
	lanes[header->nr_rings] = (struct lane){ 0 };
	if (timeline->tags) {
		uint64_t head = chario_rings_tags_head(timeline);

		lanes[header->nr_rings].head = head;
		all += head < header->tags ? head : header->tags;
	}
	return (size_t)all;
}

static size_t copy_and_merge(const struct chario_timeline *timeline, struct lane *lanes,
			     struct chario_timeline_record *copies,
			     struct chario_timeline_record *merged)
{
	uint32_t nr_rings = timeline->header->nr_rings;

	for (uint32_t i = 0; i < nr_rings; i++) {
		copy_ring(timeline, i, &lanes[i], copies);
		copies = lanes[i].end;
	}
	if (timeline->tags)
		copy_tags(timeline, &lanes[nr_rings], copies);
	return merge(lanes, nr_rings + 1, merged);
}

struct chario_timeline_record *chario_rings_copy(const struct chario_timeline *timeline,
						 size_t *count)
{
	struct lane *lanes CHARIO_SCOPED(chario_scope_free) =
		calloc(timeline->header->nr_rings + 1, sizeof(*lanes));
	struct chario_timeline_record *copies CHARIO_SCOPED(chario_scope_free) = NULL;
	struct chario_timeline_record *merged = NULL;
	size_t room;

	if (!lanes)
		return NULL;
	/* Allocate one more, so that no records do not look like no memory. */
	room = look(timeline, lanes) + 1;
	copies = calloc(room, sizeof(*copies));
	if (copies)
		merged = calloc(room, sizeof(*merged));
	if (merged)
		*count = copy_and_merge(timeline, lanes, copies, merged);
	return merged;
}

int chario_timeline_each(const struct chario_timeline *timeline, chario_timeline_visit *visit,
			 void *data)
{
	size_t count;
	struct chario_timeline_record *records CHARIO_SCOPED(chario_scope_free) =
		chario_rings_copy(timeline, &count);
	int ret = records ? 0 : -ENOMEM;

	for (size_t i = 0; !ret && i < count; i++)
		ret = visit(&records[i], data);
	return ret;
}
