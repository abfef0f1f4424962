/* SPDX-License-Identifier: MIT */
/*
 * The memory of a timeline, written by a test in place of a kernel: two rings,
 * of which the second is polled, and tags.
 */
#ifndef CHARIO_FAKE_TIMELINE_H
#define CHARIO_FAKE_TIMELINE_H

#include <limits.h>
#include <sys/mman.h>

#include <chario/timeline.h>

#include "fake.h"
#include "system/sys.h"
#include "tap.h"

/* Records of a ring, and tags. */
#define FAKE_RECORDS 64

#define PAGE       4096
#define NR_RINGS   2
#define RING_BYTES ((64 + 64 * FAKE_RECORDS + PAGE - 1) / PAGE * PAGE)
#define ALL_BYTES  (PAGE + NR_RINGS * RING_BYTES)
#define TAGS_BYTES PAGE

static char *timeline_memory;

static inline struct chario_timeline_header *fake_timeline_header(void)
{
	return (struct chario_timeline_header *)timeline_memory;
}

/* Make it; the fake machine has begun. */
static inline void fake_timeline_begin(void)
{
	char whole[PATH_MAX];
	int fd;

	fake_file("", "/fake/timeline");
	snprintf(whole, sizeof(whole), "%s/fake/timeline", chario_sys.root);
	fd = open(whole, O_RDWR);
	if (fd < 0 || ftruncate(fd, ALL_BYTES + TAGS_BYTES))
		abort();
	timeline_memory =
		mmap(NULL, ALL_BYTES + TAGS_BYTES, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (timeline_memory == MAP_FAILED)
		abort();
	close(fd);
	*fake_timeline_header() = (struct chario_timeline_header){
		.size = sizeof(struct chario_timeline_header),
		.record_bytes = 64,
		.nr_rings = NR_RINGS,
		.records = FAKE_RECORDS,
		.rings_offset = PAGE,
		.ring_bytes = RING_BYTES,
		.rings_bytes = ALL_BYTES,
		.tags_offset = ALL_BYTES,
		.tags_bytes = TAGS_BYTES,
		.tags = FAKE_RECORDS,
		.clock_id = 1,
		.record_cost_ns = 42,
	};
	((struct chario_timeline_ring *)(timeline_memory + PAGE + RING_BYTES))->polled = 1;
}

static inline void fake_timeline_end(void)
{
	munmap(timeline_memory, ALL_BYTES + TAGS_BYTES);
}

/* The next record of a ring; @queue is filled in. */
static inline void fake_record(uint32_t queue, struct chario_timeline_record record)
{
	char *ring_memory = timeline_memory + PAGE + queue * RING_BYTES;
	struct chario_timeline_ring *ring = (struct chario_timeline_ring *)ring_memory;
	struct chario_timeline_record *records = (struct chario_timeline_record *)(ring + 1);

	record.queue = queue;
	records[ring->head++ % FAKE_RECORDS] = record;
}

/*
 * All stages of a request of one command that begins at @time_ns, 10 ns each;
 * with an irq in ring 0.  Its name is @request.
 */
static inline void fake_request(uint32_t queue, uint32_t request, uint64_t time_ns, uint64_t offset)
{
	for (uint8_t stage = CHARIO_STAGE_ENTER; stage <= CHARIO_STAGE_FINISH; stage++) {
		uint32_t none = CHARIO_TIMELINE_NO_REQUEST;
		struct chario_timeline_record record = {
			.time_ns = time_ns + 10 * stage,
			.stage = stage,
			.task = 100,
			.request = request,
			.command = request,
			.offset = offset,
			.bytes = 4096,
			.result = stage == CHARIO_STAGE_FINISH ? 4096 : 0,
		};

		if (stage == CHARIO_STAGE_ENTER || stage == CHARIO_STAGE_DOORBELL ||
		    stage == CHARIO_STAGE_IRQ)
			record.request = record.command = none;
		if (stage == CHARIO_STAGE_FINISH)
			record.command = none;
		if (stage != CHARIO_STAGE_IRQ || !queue)
			fake_record(stage == CHARIO_STAGE_ENTER ? 0 : queue, record);
	}
}

#endif /* CHARIO_FAKE_TIMELINE_H */
