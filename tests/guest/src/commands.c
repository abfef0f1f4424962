// SPDX-License-Identifier: MIT
/*
 * Random calls whose device commands are counted.
 *
 *	commands DEVICE SEED CALLS
 *
 * Makes CALLS preads, as many pwrites and a tenth as many preadvs at random
 * places and of random lengths.  Of each the number of commands is computed
 * with types/split before the call and compared with what the module has posted
 * in it.  The last line gives the sums, for comparison with the drive's count.
 */

/* The rule itself, as the module has it. */
#include "../../../kernel/types/split.h"
#include "common.h"

#define LONGEST  (9ul << 20)
#define ELEMENTS 3

struct disk {
	int fd;
	struct chario_info info;
	struct chario_split_limits limits;
	char *buffer;
	uint64_t random;
};

struct stretch {
	uint64_t offset;
	uint64_t length;
};

struct counts {
	uint64_t reads;
	uint64_t writes;
};

static void open_disk(struct disk *d, const char *path)
{
	d->fd = must_open(path, O_RDWR);
	d->info.size = sizeof(d->info);
	if (ioctl(d->fd, CHARIO_IOC_INFO, &d->info))
		die("CHARIO_IOC_INFO");
	d->limits.command_bytes = d->info.command_bytes;
	d->limits.chunk_bytes = d->info.chunk_bytes;
	d->limits.boundary_bytes = d->info.boundary_bytes;
	d->buffer = must_map_own(LONGEST, MAP_POPULATE);
}

static struct counts posted(struct disk *d)
{
	struct chario_stats stats = { .size = sizeof(stats) };

	if (ioctl(d->fd, CHARIO_IOC_STATS, &stats))
		die("CHARIO_IOC_STATS");
	return (struct counts){ stats.read_commands, stats.write_commands };
}

static struct stretch pick(struct disk *d)
{
	uint64_t block = d->info.logical_block_bytes, blocks = d->info.capacity_bytes / block;
	struct stretch s;

	s.length = random_length(&d->random, LONGEST / block) * block;
	s.offset = random_below(&d->random, blocks - s.length / block + 1) * block;
	return s;
}

static uint64_t expect(const struct disk *d, struct stretch s)
{
	struct chario_split split;
	uint64_t count = 0;

	chario_split_start(&split, &d->limits, s.offset, s.length);
	while (chario_split_next(&split, &d->limits))
		count++;
	return count;
}

static uint64_t expect_vector(const struct disk *d, const struct iovec *v, uint64_t offset)
{
	uint64_t sum = 0;

	for (int i = 0; i < ELEMENTS; i++) {
		sum += expect(d, (struct stretch){ offset, v[i].iov_len });
		offset += v[i].iov_len;
	}
	return sum;
}

/* Hold one call against what it should have cost, and add that to the sums. */
static void judge(struct disk *d, const char *what, struct stretch s, ssize_t done,
		  struct counts before, struct counts cost, struct counts *sum)
{
	struct counts now = posted(d);

	if (done != (ssize_t)s.length)
		die("%s of %lu bytes at %lu gave %zd", what, s.length, s.offset, done);
	if (now.reads - before.reads != cost.reads || now.writes - before.writes != cost.writes)
		die("%s of %lu bytes at %lu: %lu reads and %lu writes, expected %lu and %lu", what,
		    s.length, s.offset, now.reads - before.reads, now.writes - before.writes,
		    cost.reads, cost.writes);
	sum->reads += cost.reads;
	sum->writes += cost.writes;
}

static void one_read(struct disk *d, struct counts *sum)
{
	struct stretch s = pick(d);
	struct counts before = posted(d);
	ssize_t done = pread(d->fd, d->buffer, s.length, (off_t)s.offset);

	judge(d, "pread", s, done, before, (struct counts){ expect(d, s), 0 }, sum);
}

static void one_write(struct disk *d, struct counts *sum)
{
	struct stretch s = pick(d);
	struct counts before = posted(d);
	ssize_t done = pwrite(d->fd, d->buffer, s.length, (off_t)s.offset);

	judge(d, "pwrite", s, done, before, (struct counts){ 0, expect(d, s) }, sum);
}

static void one_vector(struct disk *d, struct counts *sum)
{
	uint64_t block = d->info.logical_block_bytes;
	struct stretch s = { .length = 0 };
	struct iovec v[ELEMENTS];
	struct counts before;
	ssize_t done;

	for (int i = 0; i < ELEMENTS; i++) {
		v[i].iov_base = d->buffer + s.length;
		v[i].iov_len = random_length(&d->random, LONGEST / ELEMENTS / block) * block;
		s.length += v[i].iov_len;
	}
	s.offset =
		random_below(&d->random, (d->info.capacity_bytes - s.length) / block + 1) * block;
	before = posted(d);
	done = preadv(d->fd, v, ELEMENTS, (off_t)s.offset);
	judge(d, "preadv", s, done, before, (struct counts){ expect_vector(d, v, s.offset), 0 },
	      sum);
}

int main(int argc, char **argv)
{
	struct counts sum = { 0, 0 };
	struct disk d = { .fd = -1 };
	uint64_t calls;

	if (argc != 4)
		die("usage: commands DEVICE SEED CALLS");
	open_disk(&d, argv[1]);
	d.random = number(argv[2]);
	calls = number(argv[3]);
	for (uint64_t i = 0; i < calls; i++) {
		one_read(&d, &sum);
		one_write(&d, &sum);
		if (i % 10 == 0)
			one_vector(&d, &sum);
	}
	printf("{\"calls\": %lu, \"reads\": %lu, \"writes\": %lu}\n", calls, sum.reads, sum.writes);
	return 0;
}
