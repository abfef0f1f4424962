/* SPDX-License-Identifier: LGPL-2.1-or-later OR MIT */
/*
 * The rings of a timeline as they lie in memory, and how they are read: see
 * <chario/uapi.h>.
 */
#ifndef CHARIO_RINGS_H
#define CHARIO_RINGS_H

#include <chario/timeline.h>

struct chario_timeline {
	int fd;
	const struct chario_timeline_header *header;
	struct chario_timeline_tags *tags;
};

static inline const struct chario_timeline_ring *
chario_rings_ring(const struct chario_timeline *timeline, uint32_t i)
{
	const struct chario_timeline_header *header = timeline->header;

	return (const void *)((const char *)header + header->rings_offset + i * header->ring_bytes);
}

static inline uint64_t chario_rings_head(const struct chario_timeline_ring *ring)
{
	return __atomic_load_n(&ring->head, __ATOMIC_ACQUIRE);
}

/* The oldest record that nobody can be writing to. */
static inline uint64_t chario_rings_first(uint64_t head, uint32_t records)
{
	return head >= records ? head - records + 1 : 0;
}

static inline uint64_t chario_rings_tags_head(const struct chario_timeline *timeline)
{
	return __atomic_load_n(&timeline->tags->head, __ATOMIC_ACQUIRE);
}

/* The place of a tag; the mapping can be written to, the header cannot. */
static inline struct chario_timeline_tag *chario_rings_tag(const struct chario_timeline *timeline,
							   uint64_t place)
{
	struct chario_timeline_tag *first = (struct chario_timeline_tag *)(timeline->tags + 1);

	return &first[place & (timeline->header->tags - 1)];
}

/**
 * struct chario_rings - a copy of all records and tags, in the order of time
 * @records: allocated, to be freed by the caller
 * @count: how many
 */
struct chario_rings {
	struct chario_timeline_record *records;
	size_t count;
};

/* Copy what there is; 0 or -ENOMEM. */
int chario_rings_copy(const struct chario_timeline *timeline, struct chario_rings *rings);

#endif /* CHARIO_RINGS_H */
