/* SPDX-License-Identifier: MIT */
/*
 * The memory of a timeline, written by a test in place of a kernel: two rings,
 * of which the second is polled, and tags.
 */
#ifndef CHARIO_FAKE_TIMELINE_H
#define CHARIO_FAKE_TIMELINE_H

#include <chario/timeline.h>

/* Records of a ring, and tags. */
#define FAKE_RECORDS 64

/* Make it; the fake machine has begun. */
void fake_timeline_begin(void);
void fake_timeline_end(void);

struct chario_timeline_header *fake_timeline_header(void);

/* The next record of a ring; @queue is filled in. */
void fake_record(uint32_t queue, struct chario_timeline_record record);

/*
 * All stages of a request of one command that begins at @time_ns, 10 ns each;
 * with an irq in ring 0.  Its name is @request.
 */
void fake_request(uint32_t queue, uint32_t request, uint64_t time_ns, uint64_t offset);

#endif /* CHARIO_FAKE_TIMELINE_H */
