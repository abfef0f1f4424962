/* SPDX-License-Identifier: LGPL-2.1-or-later OR MIT */
/* The rings of a timeline as they lie in memory, and reading them: see <chario/uapi.h>. */
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

/* Returns the oldest record that no writer can be overwriting. */
static inline uint64_t chario_rings_first(uint64_t head, uint32_t records)
{
	return head >= records ? head - records + 1 : 0;
}

static inline uint64_t chario_rings_tags_head(const struct chario_timeline *timeline)
{
	return __atomic_load_n(&timeline->tags->head, __ATOMIC_ACQUIRE);
}

/* Returns the place of a tag; the mapping is writable, its header is not. */
static inline struct chario_timeline_tag *chario_rings_tag(const struct chario_timeline *timeline,
							   uint64_t place)
{
	struct chario_timeline_tag *first = (struct chario_timeline_tag *)(timeline->tags + 1);

	return &first[place & (timeline->header->tags - 1)];
}

/*
 * Copy all records and tags, in the order of time.  Returns an array that the caller frees, or
 * NULL without memory.
 */
struct chario_timeline_record *chario_rings_copy(const struct chario_timeline *timeline,
						 size_t *count);

#endif /* CHARIO_RINGS_H */
