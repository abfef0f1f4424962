// SPDX-License-Identifier: MIT
/*
 * Opens a region for writing again and again while the partition table of its disk is read anew,
 * and looks at what the claim holds:
 *
 *     claims DISK TURNS
 *
 * Region 1 and partition 1 of DISK are the same bytes; partition 2 is elsewhere.  Each turn,
 * between one reading of the table and the next two,
 *
 *   - opens the region: its partition is held then, the other one is free;
 *   - holds the partition as a mount does, and opens the region: it is busy;
 *   - does both at the same time, in two threads: one of them at most succeeds;
 *   - changes the page cache of the partition, writes the region, and looks that the region's bytes
 *     are there when the page cache has been written.
 *
 * A program that has found a partition just before the table was read anew opens one that is in no
 * table any more: the kernel lets it.  Prints how often each went wrong, in JSON.
 */
#include <linux/fs.h>
#include <semaphore.h>

#include "common.h"

#define BYTES 4096

static char region[64], whole[64], own[64], other[64];
static uint64_t region_bytes;
static sem_t go, once;
static pthread_barrier_t both;
static unsigned long turn, not_opened, own_free, other_busy, held_opened, together, overwritten;

static void *reread(void *unused)
{
	int fd = must_open(whole, O_RDONLY);

	for (;;) {
		sem_wait(&go);
		/* A partition that has been closed just now is open for some ticks. */
		while (ioctl(fd, BLKRRPART))
			if (errno != EBUSY)
				die("cannot read the table of %s", whole);
		sem_post(&once);
		ioctl(fd, BLKRRPART);
		ioctl(fd, BLKRRPART);
	}
	return unused;
}

/* Return when the table has been read once more, and is being read again. */
static void wait_reread(void)
{
	sem_post(&go);
	sem_wait(&once);
}

/* Say once in a while what went wrong, for whoever looks for the reason. */
static void note(unsigned long *count, const char *what)
{
	if (++*count <= 3)
		fprintf(stderr, "turn %lu: %s: %s\n", turn, what, strerror(errno));
}

static void close_all(int fd, int second, int third)
{
	int all[] = { fd, second, third };

	for (int i = 0; i < 3; i++)
		if (all[i] >= 0)
			close(all[i]);
}

static void open_region(void)
{
	int fd, part = -1, free = -1;

	fd = open(region, O_RDWR | O_CLOEXEC);
	if (fd < 0) {
		note(&not_opened, "the region is not opened");
		return;
	}
	part = open(own, O_RDONLY | O_EXCL | O_CLOEXEC);
	if (part >= 0 || errno != EBUSY)
		note(&own_free, "its partition is not busy");
	free = open(other, O_RDONLY | O_EXCL | O_CLOEXEC);
	if (free < 0)
		note(&other_busy, "the other partition cannot be held");
	close_all(fd, part, free);
}

/* Opens the partition of the region, unless the number of its node is another one's by then. */
static int try_part(int flags)
{
	uint64_t bytes;
	int fd = open(own, flags | O_CLOEXEC);

	if (fd < 0)
		return fd;
	if (ioctl(fd, BLKGETSIZE64, &bytes))
		die("no size of %s", own);
	if (bytes == region_bytes)
		return fd;
	close(fd);
	errno = ENXIO;
	return -1;
}

static int open_part(int flags)
{
	for (;;) {
		int fd = try_part(flags);

		if (fd >= 0)
			return fd;
		if (errno != ENXIO && errno != ENOENT)
			die("cannot open %s", own);
	}
}

static void open_held(void)
{
	int part = open_part(O_RDONLY | O_EXCL);
	int fd = open(region, O_RDWR | O_CLOEXEC);

	if (fd >= 0 || errno != EBUSY)
		note(&held_opened, "the region of a held partition is not busy");
	close_all(fd, part, -1);
}

/* Holds the partition beside open_together(), once a turn. */
static void *hold_part(void *held)
{
	for (;;) {
		int fd;

		pthread_barrier_wait(&both);
		fd = try_part(O_RDONLY | O_EXCL);
		*(bool *)held = fd >= 0;
		pthread_barrier_wait(&both);
		pthread_barrier_wait(&both);
		close_all(fd, -1, -1);
		pthread_barrier_wait(&both);
	}
	return NULL;
}

static void open_together(const bool *held)
{
	int fd;

	pthread_barrier_wait(&both);
	fd = open(region, O_RDWR | O_CLOEXEC);
	pthread_barrier_wait(&both);
	if (fd >= 0 && *held)
		note(&together, "the region is open, and its partition held");
	pthread_barrier_wait(&both);
	close_all(fd, -1, -1);
	pthread_barrier_wait(&both);
}

static void *filled(char *memory, int value)
{
	return memset(memory, value, BYTES);
}

static void write_both(char *memory)
{
	int part = open_part(O_RDWR), fd, value = 'a' + (int)(turn % 20);

	if (pwrite(part, filled(memory, 'z'), BYTES, 0) != BYTES)
		die("cannot write to %s", own);
	fd = open(region, O_RDWR | O_CLOEXEC);
	if (fd < 0 || pwrite(fd, filled(memory, value), BYTES, 0) != BYTES)
		die("cannot write to %s", region);
	close(fd);
	fsync(part);
	close(part);
	fd = open(region, O_RDONLY | O_CLOEXEC);
	if (fd < 0 || pread(fd, filled(memory, 0), BYTES, 0) != BYTES)
		die("cannot read %s", region);
	close(fd);
	if (memory[0] != value || memory[BYTES - 1] != value)
		note(&overwritten, "older data came over the region's");
}

int main(int argc, char **argv)
{
	char *memory = aligned_alloc(BYTES, BYTES);
	bool held = false;
	pthread_t thread;
	int fd;

	if (argc != 3 || !memory)
		die("usage: claims DISK TURNS");
	snprintf(region, sizeof(region), "%sp1", argv[1]);
	snprintf(whole, sizeof(whole), "%sb", argv[1]);
	snprintf(own, sizeof(own), "%sb1", argv[1]);
	snprintf(other, sizeof(other), "%sb2", argv[1]);
	fd = open(region, O_RDONLY | O_CLOEXEC);
	if (fd < 0 || ioctl(fd, BLKGETSIZE64, &region_bytes))
		die("no size of %s", region);
	close(fd);
	if (sem_init(&go, 0, 0) || sem_init(&once, 0, 0) || pthread_barrier_init(&both, NULL, 2) ||
	    pthread_create(&thread, NULL, reread, NULL) ||
	    pthread_create(&thread, NULL, hold_part, &held))
		die("no threads");
	for (turn = 0; turn < number(argv[2]); turn++) {
		wait_reread();
		open_region();
		wait_reread();
		open_held();
		wait_reread();
		open_together(&held);
		wait_reread();
		write_both(memory);
	}
	printf("{\"not opened\": %lu, \"own free\": %lu, \"other busy\": %lu, \"held opened\": %lu, "
	       "\"together\": %lu, \"overwritten\": %lu}\n",
	       not_opened, own_free, other_busy, held_opened, together, overwritten);
	return 0;
}
