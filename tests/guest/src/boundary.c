// SPDX-License-Identifier: MIT
/*
 * Makes the calls of a script, counts their device commands, and holds the
 * data against a copy of the whole disk in memory.
 *
 *	boundary DEVICE SCRIPT
 *
 * A line of the script is "read OFFSET BYTES" or "write OFFSET BYTES"; for
 * each, a line says how many commands the module has posted.  The disk is
 * filled first and read as a whole in the end; neither is counted.
 */
#include "common.h"

#define PIECE (1ul << 20)

struct disk {
	int fd;
	uint64_t bytes;
	char *shadow;
	char *buffer;
	uint64_t random;
};

static void open_disk(struct disk *d, const char *path)
{
	struct chario_info info = { .size = sizeof(info) };

	d->fd = must_open(path, O_RDWR);
	if (ioctl(d->fd, CHARIO_IOC_INFO, &info))
		die("CHARIO_IOC_INFO");
	d->bytes = info.capacity_bytes;
	d->shadow = must_map_own(d->bytes, MAP_POPULATE);
	d->buffer = must_map_own(d->bytes, MAP_POPULATE);
	d->random = 1;
}

static uint64_t posted(const struct disk *d)
{
	struct chario_stats stats = { .size = sizeof(stats) };

	if (ioctl(d->fd, CHARIO_IOC_STATS, &stats))
		die("CHARIO_IOC_STATS");
	return stats.read_commands + stats.write_commands;
}

static void write_new(struct disk *d, uint64_t offset, uint64_t bytes)
{
	char *from = d->shadow + offset;

	random_fill(&d->random, from, bytes);
	if (pwrite(d->fd, from, bytes, (off_t)offset) != (ssize_t)bytes)
		die("write of %lu bytes at %lu", bytes, offset);
}

static void read_back(struct disk *d, uint64_t offset, uint64_t bytes)
{
	memset(d->buffer, 0x5a, bytes);
	if (pread(d->fd, d->buffer, bytes, (off_t)offset) != (ssize_t)bytes)
		die("read of %lu bytes at %lu", bytes, offset);
	errno = 0;
	if (memcmp(d->buffer, d->shadow + offset, bytes))
		die("read of %lu bytes at %lu: wrong data", bytes, offset);
}

static void run_script(struct disk *d, FILE *script)
{
	uint64_t offset, bytes, before;
	char name[8];

	while (fscanf(script, "%7s %lu %lu", name, &offset, &bytes) == 3) {
		bool is_write = !strcmp(name, "write");

		if (offset > d->bytes || bytes > d->bytes - offset)
			die("beyond the end: %lu bytes at %lu", bytes, offset);
		before = posted(d);
		if (is_write)
			write_new(d, offset, bytes);
		else
			read_back(d, offset, bytes);
		printf("%lu\n", posted(d) - before);
	}
}

int main(int argc, char **argv)
{
	struct disk d;
	FILE *script;

	if (argc != 3)
		die("usage: boundary DEVICE SCRIPT");
	open_disk(&d, argv[1]);
	script = fopen(argv[2], "r");
	if (!script)
		die("%s", argv[2]);
	for (uint64_t at = 0; at < d.bytes; at += PIECE)
		write_new(&d, at, PIECE);
	run_script(&d, script);
	for (uint64_t at = 0; at < d.bytes; at += PIECE)
		read_back(&d, at, PIECE);
	return 0;
}
