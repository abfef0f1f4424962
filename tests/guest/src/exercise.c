// SPDX-License-Identifier: MIT
/*
 * Random calls on a part of a disk, each held against a copy in memory.
 *
 *	exercise DEVICE SEED CALLS OFFSET BYTES THREADS
 *
 * The part is BYTES long from OFFSET on and is cut into one region a thread.
 * A thread fills its region, then reads and writes in it: 1 block to 9 MiB,
 * with every call there is, to buffers at any 4-byte offset of a page, in
 * small pages and in huge ones.  What stands around a buffer must stay as it is.
 */
#include <linux/fs.h>
#include <sched.h>

#include "common.h"

#define LONGEST      (9ul << 20)
#define MARGIN       64ul /* watched bytes in front of and behind a buffer */
#define MAX_ELEMENTS 8
#define PAGE         4096ul
#define STEP         (1ul << 20)
#define AREA         (LONGEST + (MAX_ELEMENTS + 1) * (PAGE + 2 * MARGIN))
#define HUGE_PAGE    (2ul << 20)
#define MAX_THREADS  64
#define AREA_ROOM    ((AREA + HUGE_PAGE) & ~(HUGE_PAGE - 1))

struct worker {
	pthread_t thread;
	const char *device;
	unsigned int cpu;
	uint64_t random;
	uint64_t calls;
	uint64_t offset;
	uint64_t bytes;
	uint64_t block;
	int fd;
	char *shadow;
	char *areas[2]; /* small pages, huge pages */
	uint64_t reads;
	uint64_t writes;
	uint64_t moved;
	uint64_t again; /* RWF_NOWAIT calls that would have had to wait */
};

/* One call: where, and the memory it goes to. */
struct call {
	uint64_t at; /* in the region */
	uint64_t bytes;
	struct iovec elements[MAX_ELEMENTS];
	int count;
	int flags; /* of preadv2() and pwritev2() */
};

typedef ssize_t run_fn(struct worker *w, const struct call *c);

static off_t place(const struct worker *w, const struct call *c)
{
	return (off_t)(w->offset + c->at);
}

static void seek(struct worker *w, const struct call *c)
{
	if (lseek(w->fd, place(w, c), SEEK_SET) != place(w, c))
		die("lseek");
}

static ssize_t run_read(struct worker *w, const struct call *c)
{
	seek(w, c);
	return readv(w->fd, c->elements, c->count);
}

static ssize_t run_write(struct worker *w, const struct call *c)
{
	seek(w, c);
	return writev(w->fd, c->elements, c->count);
}

static ssize_t run_pread(struct worker *w, const struct call *c)
{
	return pread(w->fd, c->elements[0].iov_base, c->bytes, place(w, c));
}

static ssize_t run_pwrite(struct worker *w, const struct call *c)
{
	return pwrite(w->fd, c->elements[0].iov_base, c->bytes, place(w, c));
}

static ssize_t run_preadv(struct worker *w, const struct call *c)
{
	return preadv2(w->fd, c->elements, c->count, place(w, c), c->flags);
}

static ssize_t run_pwritev(struct worker *w, const struct call *c)
{
	return pwritev2(w->fd, c->elements, c->count, place(w, c), c->flags);
}

static const struct kind {
	const char *name;
	run_fn *run;
	bool vector;
	bool write;
	int flags;
} kinds[] = {
	{ "read", run_read, true, false, 0 },
	{ "pread", run_pread, false, false, 0 },
	{ "preadv2 RWF_HIPRI", run_preadv, true, false, RWF_HIPRI },
	{ "preadv2 RWF_NOWAIT", run_preadv, true, false, RWF_NOWAIT },
	{ "write", run_write, true, true, 0 },
	{ "pwrite", run_pwrite, false, true, 0 },
	{ "pwritev2 RWF_HIPRI", run_pwritev, true, true, RWF_HIPRI },
	{ "pwritev2 RWF_DSYNC", run_pwritev, true, true, RWF_DSYNC },
	{ "pwritev2 RWF_NOWAIT", run_pwritev, true, true, RWF_NOWAIT },
};

#define NR_KINDS (sizeof(kinds) / sizeof(kinds[0]))

/* RWF_NOWAIT may refuse to begin, or stop early, rather than wait for a free slot. */
static ssize_t run(struct worker *w, const struct kind *kind, struct call *c)
{
	ssize_t done = kind->run(w, c);

	if (c->flags != RWF_NOWAIT || done == (ssize_t)c->bytes || (done < 0 && errno != EAGAIN))
		return done;
	w->again++;
	c->flags = 0;
	return kind->run(w, c);
}

/* Alignment of the buffers. */
static uint64_t step = 4;

/* Blocks of the next element; now and then few, now and then whole pages. */
static uint64_t element_blocks(struct worker *w, uint64_t left)
{
	uint64_t most = random_below(&w->random, 3) ? left : 8 * PAGE / w->block;
	uint64_t take = 1 + random_below(&w->random, most);

	if (random_below(&w->random, 2))
		take = (take * w->block + PAGE - 1) / PAGE * PAGE / w->block;
	return take < left ? take : left;
}

/* Where the next buffer begins: anywhere in a page, or with one. */
static char *next_buffer(struct worker *w, char *to)
{
	to += MARGIN;
	if (random_below(&w->random, 2))
		return (char *)(((uintptr_t)to + PAGE - 1) / PAGE * PAGE);
	return to + random_below(&w->random, PAGE / step) * step;
}

/* Cut a call into elements and lay them out in an area, with gaps. */
static void lay_out(struct worker *w, struct call *c, bool vector)
{
	uint64_t blocks = c->bytes / w->block, left = blocks;
	char *to = w->areas[random_below(&w->random, 2)];

	c->count = 0;
	while (left) {
		uint64_t take = left;

		if (vector && c->count < MAX_ELEMENTS - 1)
			take = element_blocks(w, left);
		to = next_buffer(w, to);
		c->elements[c->count++] = (struct iovec){ to, take * w->block };
		to += take * w->block + MARGIN;
		left -= take;
	}
}

static char watched(const struct call *c, int element)
{
	return (char)(0x40 + element + (int)(c->at / 512 % 64));
}

static void set_margins(const struct call *c)
{
	for (int i = 0; i < c->count; i++) {
		const struct iovec *e = &c->elements[i];

		memset((char *)e->iov_base - MARGIN, watched(c, i), MARGIN);
		memset((char *)e->iov_base + e->iov_len, watched(c, i), MARGIN);
	}
}

static bool margins_hold(const struct call *c)
{
	for (int i = 0; i < c->count; i++) {
		const char *front = (char *)c->elements[i].iov_base - MARGIN;
		const char *back = (char *)c->elements[i].iov_base + c->elements[i].iov_len;

		for (uint64_t b = 0; b < MARGIN; b++)
			if (front[b] != watched(c, i) || back[b] != watched(c, i))
				return false;
	}
	return true;
}

/* Old content in the way of a read must not be taken for its result. */
static void prepare(struct worker *w, const struct call *c, bool write)
{
	char *shadow = w->shadow + c->at;

	for (int i = 0; i < c->count; i++) {
		const struct iovec *e = &c->elements[i];

		if (write) {
			random_fill(&w->random, shadow, e->iov_len);
			memcpy(e->iov_base, shadow, e->iov_len);
		} else {
			memset(e->iov_base, 0xee, e->iov_len);
		}
		shadow += e->iov_len;
	}
	set_margins(c);
}

static bool matches(const struct worker *w, const struct call *c)
{
	const char *shadow = w->shadow + c->at;

	for (int i = 0; i < c->count; i++) {
		if (memcmp(c->elements[i].iov_base, shadow, c->elements[i].iov_len))
			return false;
		shadow += c->elements[i].iov_len;
	}
	return true;
}

static void one_call(struct worker *w, uint64_t index)
{
	const struct kind *kind = &kinds[random_below(&w->random, NR_KINDS)];
	uint64_t most = w->bytes < LONGEST ? w->bytes : LONGEST;
	struct call c;
	ssize_t done;

	c.bytes = random_length(&w->random, most / w->block) * w->block;
	c.at = random_below(&w->random, (w->bytes - c.bytes) / w->block + 1) * w->block;
	c.flags = kind->flags;
	lay_out(w, &c, kind->vector);
	prepare(w, &c, kind->write);
	errno = 0;
	done = run(w, kind, &c);
	if (done != (ssize_t)c.bytes)
		die("call %lu: %s of %lu bytes at %lu gave %zd", index, kind->name, c.bytes,
		    w->offset + c.at, done);
	if (!matches(w, &c))
		die("call %lu: %s of %lu bytes at %lu: wrong content", index, kind->name, c.bytes,
		    w->offset + c.at);
	if (!margins_hold(&c))
		die("call %lu: %s of %lu bytes at %lu wrote beside the buffer", index, kind->name,
		    c.bytes, w->offset + c.at);
	*(kind->write ? &w->writes : &w->reads) += 1;
	w->moved += c.bytes;
}

static void set_up(struct worker *w)
{
	cpu_set_t cpus;

	CPU_ZERO(&cpus);
	CPU_SET(w->cpu, &cpus);
	if (sched_setaffinity(0, sizeof(cpus), &cpus))
		die("cannot run on CPU %u", w->cpu);
	w->fd = must_open(w->device, O_RDWR);
	w->shadow = malloc(w->bytes);
	if (!w->shadow)
		die("no memory");
	w->areas[0] = must_map_own(AREA_ROOM, 0);
	w->areas[1] = must_map_own(AREA_ROOM, MAP_HUGETLB);
	random_fill(&w->random, w->shadow, w->bytes);
	if (pwrite(w->fd, w->shadow, w->bytes, (off_t)w->offset) != (ssize_t)w->bytes)
		die("cannot fill %lu bytes at %lu", w->bytes, w->offset);
}

/* At the end the whole region is what it should be, not only what was read. */
static void *work(void *arg)
{
	struct worker *w = arg;
	char *all;

	set_up(w);
	for (uint64_t i = 0; i < w->calls; i++)
		one_call(w, i);
	all = aligned_alloc(PAGE, w->bytes);
	/* Each call has a deadline, and the host may be busy. */
	for (uint64_t at = 0, step; at < w->bytes; at += step) {
		step = w->bytes - at < STEP ? w->bytes - at : STEP;
		if (!all || pread(w->fd, all + at, step, (off_t)(w->offset + at)) != (ssize_t)step)
			die("cannot read the region at %lu", w->offset + at);
	}
	if (memcmp(all, w->shadow, w->bytes))
		die("the region at %lu differs at the end", w->offset);
	return NULL;
}

static uint64_t block_size(const char *device)
{
	int fd = must_open(device, O_RDONLY), bytes;

	if (ioctl(fd, BLKSSZGET, &bytes))
		die("%s", device);
	close(fd);
	return (uint64_t)bytes;
}

int main(int argc, char **argv)
{
	const char *wanted_step = getenv("EXERCISE_STEP");
	static struct worker workers[MAX_THREADS];
	uint64_t reads = 0, writes = 0, moved = 0, again = 0;
	unsigned int count;

	if (argc != 7)
		die("usage: exercise DEVICE SEED CALLS OFFSET BYTES THREADS");
	if (wanted_step)
		step = number(wanted_step);
	count = (unsigned int)number(argv[6]);
	if (!count || count > MAX_THREADS)
		die("1 to %d threads", MAX_THREADS);
	for (unsigned int i = 0; i < count; i++) {
		struct worker *w = &workers[i];

		w->device = argv[1];
		w->random = number(argv[2]) + i;
		w->calls = number(argv[3]);
		w->block = block_size(w->device);
		w->bytes = number(argv[5]) / count / w->block * w->block;
		w->offset = number(argv[4]) + i * w->bytes;
		w->cpu = i % (unsigned int)sysconf(_SC_NPROCESSORS_ONLN);
		must_start(&w->thread, work, w);
	}
	for (unsigned int i = 0; i < count; i++) {
		pthread_join(workers[i].thread, NULL);
		reads += workers[i].reads;
		writes += workers[i].writes;
		moved += workers[i].moved;
		again += workers[i].again;
	}
	printf("{\"reads\": %lu, \"writes\": %lu, \"bytes\": %lu, \"again\": %lu}\n", reads, writes,
	       moved, again);
	return 0;
}
