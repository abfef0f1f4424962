// SPDX-License-Identifier: LGPL-2.1-or-later OR MIT
/*
 * A timeline: its descriptor and its memory, tags, names.
 */
#include <chario/timeline.h>

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "device/ops.h"
#include "timeline/rings.h"
#include "system/sys.h"

/* Sizes in bytes of the first version of each struct. */
#define OPEN_MIN      32
#define HEADER_MIN    120
#define TOTALS_MIN    32
#define QUANTILES_MIN 56

static bool is_known(const struct chario_timeline_header *header)
{
	return header->size >= HEADER_MIN &&
	       header->record_bytes >= sizeof(struct chario_timeline_record) && header->records &&
	       !(header->records & (header->records - 1)) && !(header->tags & (header->tags - 1)) &&
	       header->nr_rings &&
	       header->rings_bytes >= header->rings_offset + header->nr_rings * header->ring_bytes;
}

/* A foreign file may be shorter than its header claims; there is no memory behind its end. */
static bool reaches(int fd, uint64_t bytes)
{
	struct stat status;

	return !fstat(fd, &status) &&
	       (!S_ISREG(status.st_mode) || (uint64_t)status.st_size >= bytes);
}

static void *map(int fd, uint64_t offset, uint64_t bytes, int protection)
{
	void *memory = mmap(NULL, (size_t)bytes, protection, MAP_SHARED, fd, (off_t)offset);

	return memory == MAP_FAILED ? NULL : memory;
}

/* The first page says how much memory there is. */
static int map_rings(struct chario_timeline *timeline)
{
	size_t page = (size_t)sysconf(_SC_PAGESIZE);
	const struct chario_timeline_header *header;
	uint64_t bytes;
	bool known;

	if (!reaches(timeline->fd, page))
		return -EPROTO;
	header = map(timeline->fd, 0, page, PROT_READ);
	if (!header)
		return -errno;
	known = is_known(header);
	bytes = header->rings_bytes;
	munmap((void *)header, page);
	if (!known || !reaches(timeline->fd, bytes))
		return -EPROTO;
	timeline->header = map(timeline->fd, 0, bytes, PROT_READ);
	return timeline->header ? 0 : -errno;
}

static int map_all(struct chario_timeline *timeline)
{
	const struct chario_timeline_header *header;
	int err = map_rings(timeline);

	if (err)
		return err;
	header = timeline->header;
	if (!header->tags)
		return 0;
	if (!reaches(timeline->fd, header->tags_offset + header->tags_bytes))
		return -EPROTO;
	timeline->tags =
		map(timeline->fd, header->tags_offset, header->tags_bytes, PROT_READ | PROT_WRITE);
	return timeline->tags ? 0 : -errno;
}

/* Make a timeline of a descriptor, which is closed if that fails. */
static int make(int fd, struct chario_timeline **timeline)
{
	struct chario_timeline *made = calloc(1, sizeof(*made));
	int err;

	if (!made) {
		close(fd);
		return -ENOMEM;
	}
	made->fd = fd;
	err = map_all(made);
	if (err)
		chario_timeline_close(made);
	else
		*timeline = made;
	return err;
}

int chario_timeline_open(const struct chario_device *device,
			 const struct chario_timeline_open *options, size_t size,
			 struct chario_timeline **timeline)
{
	int fd = chario_device_set(device, CHARIO_IOC_TIMELINE_OPEN, options, size, OPEN_MIN);

	return fd < 0 ? fd : make(fd, timeline);
}

int chario_timeline_join(struct chario_timeline **timeline)
{
	const char *text = getenv(CHARIO_TIMELINE_FD);
	char *end;
	long fd;
	int own, err;

	if (!text)
		return -ENOENT;
	fd = strtol(text, &end, 10);
	if (end == text || *end || fd < 0 || fd > INT32_MAX)
		return -EBADF;
	own = dup((int)fd);
	if (own < 0)
		return -errno;
	err = make(own, timeline);
	/* The descriptor belongs to something else or cannot be mapped at all. */
	return err == -ENOMEM ? err : err ? -EPROTO : 0;
}

void chario_timeline_close(struct chario_timeline *timeline)
{
	if (!timeline)
		return;
	if (timeline->tags)
		munmap(timeline->tags, (size_t)timeline->header->tags_bytes);
	if (timeline->header)
		munmap((void *)timeline->header, (size_t)timeline->header->rings_bytes);
	close(timeline->fd);
	free(timeline);
}

int chario_timeline_fd(const struct chario_timeline *timeline)
{
	return timeline->fd;
}

int chario_timeline_control(const struct chario_timeline *timeline,
			    enum chario_timeline_command command, uint64_t stop_above_ns)
{
	struct chario_timeline_control control = {
		.size = sizeof(control),
		.command = command,
		.stop_above_ns = stop_above_ns,
	};

	return chario_sys.ioctl(timeline->fd, CHARIO_IOC_TIMELINE_CONTROL, &control);
}

const struct chario_timeline_header *chario_timeline_header(const struct chario_timeline *timeline)
{
	return timeline->header;
}

void chario_timeline_tag(const struct chario_timeline *timeline, uint64_t value)
{
	struct chario_timeline_tags *tags = timeline->tags;
	struct chario_timeline_tag *tag;
	uint64_t place;

	if (!tags)
		return;
	place = __atomic_fetch_add(&tags->head, 1, __ATOMIC_RELAXED);
	tag = chario_rings_tag(timeline, place);
	/*
	 * A reader that sees one of these stores also sees the new head, and so drops its copy
	 * of the older tag in this place: they pair with copy_tags() of timeline/rings.c.
	 */
	__atomic_store_n(&tag->time_ns, chario_sys_now(), __ATOMIC_RELEASE);
	__atomic_store_n(&tag->value, value, __ATOMIC_RELEASE);
	__atomic_store_n(&tag->sequence, place + 1, __ATOMIC_RELEASE);
}

int chario_timeline_get_totals(const struct chario_timeline *timeline,
			       struct chario_timeline_totals *totals, size_t size)
{
	const struct chario_timeline_header *header = timeline->header;
	struct chario_timeline_totals now = { 0 };

	for (uint32_t i = 0; i < header->nr_rings; i++) {
		uint64_t head = chario_rings_head(chario_rings_ring(timeline, i));
		uint64_t lost = chario_rings_first(head, header->records);

		now.lost += lost;
		now.records += head - lost;
	}
	if (timeline->tags) {
		uint64_t head = chario_rings_tags_head(timeline);

		now.lost_tags = head > header->tags ? head - header->tags : 0;
		now.tags = head - now.lost_tags;
	}
	return chario_sys_give(totals, size, &now, sizeof(now), TOTALS_MIN);
}

static int by_value(const void *left, const void *right)
{
	uint64_t a = *(const uint64_t *)left, b = *(const uint64_t *)right;

	return (a > b) - (a < b);
}

/* Returns the least value that @permille of 1000 values do not exceed. */
static uint64_t rank(const uint64_t *values, size_t count, uint64_t permille)
{
	return values[(size_t)((count * permille + 999) / 1000) - 1];
}

int chario_timeline_measure(uint64_t *values, size_t count,
			    struct chario_timeline_quantiles *quantiles, size_t size)
{
	struct chario_timeline_quantiles now = { .count = count };
	double sum = 0;

	if (count) {
		qsort(values, count, sizeof(*values), by_value);
		for (size_t i = 0; i < count; i++)
			sum += (double)values[i];
		now.min = values[0];
		now.median = rank(values, count, 500);
		now.p99 = rank(values, count, 990);
		now.p999 = rank(values, count, 999);
		now.max = values[count - 1];
		now.mean = (uint64_t)(sum / (double)count + 0.5);
	}
	return chario_sys_give(quantiles, size, &now, sizeof(now), QUANTILES_MIN);
}

const char *chario_timeline_stage_name(unsigned int stage)
{
	static const char *const names[CHARIO_TIMELINE_STAGES] = {
		"enter",    "split", "map",  "queue", "post",
		"doorbell", "irq",   "reap", "unmap", "finish",
	};

	if (stage == CHARIO_TIMELINE_TAG)
		return "tag";
	return stage < CHARIO_TIMELINE_STAGES ? names[stage] : NULL;
}
