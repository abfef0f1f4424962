// SPDX-License-Identifier: MIT
/*
 * What any file answers: read, write, mmap, lseek, fsync, poll, close; and the
 * memory that goes away meanwhile.
 */
#include <poll.h>

#include "fuzz.h"

#define VECTORS 3

/* A disk, or a region of it that is there: a writer of one would keep others from the disk. */
static int open_disk(struct fuzzer *f, const struct disk *disk, int mode)
{
	char path[64];
	int fd = -1;

	snprintf(path, sizeof(path), "%sp%d", disk->path, 1 + (int)below(f, REGIONS));
	if (chance(f, 8))
		fd = open(path, (mode & ~O_ACCMODE) | O_RDONLY | O_CLOEXEC);
	return fd < 0 ? open(disk->path, mode | O_CLOEXEC) : fd;
}

/* The open file is another one from here on; who is in a call keeps the old. */
void open_some(struct fuzzer *f, struct open_file *file)
{
	static const int modes[] = { O_RDWR, O_RDWR, O_RDWR, O_RDWR,   O_RDWR,
				     O_RDWR, O_RDWR, O_RDWR, O_RDONLY, O_WRONLY };
	static const int extras[] = { 0, 0, 0, O_DSYNC, O_DIRECT, O_NONBLOCK };
	const struct disk *disk = &f->world->disks[below(f, f->world->nr_disks)];
	int fd = open_disk(f, disk, modes[below(f, 10)] | extras[below(f, 6)]);

	note_call(f, KIND_OPEN, fd);
	if (fd < 0)
		return;
	memset(file->hints, 0, sizeof(file->hints));
	file->disk = disk;
	dup3(fd, file->fd, O_CLOEXEC);
	close(fd);
}

static uint64_t place(struct fuzzer *f, const struct disk *disk)
{
	return chance(f, 16) ? edge(f, disk, 0) : some_place(f, disk);
}

static void read_or_write(struct fuzzer *f, bool write)
{
	static const int all_flags[] = { 0,          0,         0,        RWF_HIPRI,
					 RWF_NOWAIT, RWF_DSYNC, RWF_SYNC, 0x40000000 };
	const struct open_file *file = some_file(f);
	int flags = all_flags[below(f, sizeof(all_flags) / sizeof(*all_flags))];
	int count = chance(f, 2) ? 1 : (int)below(f, VECTORS + 1);
	off_t offset = (off_t)place(f, file->disk);
	struct iovec v[VECTORS];

	for (int i = 0; i < VECTORS; i++) {
		v[i].iov_base = write ? some_memory(f) : own_memory(f);
		v[i].iov_len = some_blocks(f, file->disk, MOVE_BYTES);
		if (chance(f, 16))
			v[i].iov_base = write ? (void *)edge(f, file->disk, 0) :
						own_memory(f) + edge(f, file->disk, 0) % MOVE_BYTES;
		if (chance(f, 16))
			v[i].iov_len = below(f, MOVE_BYTES);
	}
	/* Memory of a buffer as the source of an ordinary call, or none at all. */
	if (chance(f, 8) && !write)
		v[0].iov_base = (void *)(uintptr_t)0xffff888000000000;
	else if (chance(f, 8) && write)
		v[0].iov_base = f->world->mappings[below(f, MAPPINGS)];
	if (chance(f, 3) && write)
		note_call(f, KIND_WRITE, pwrite(file->fd, v[0].iov_base, v[0].iov_len, offset));
	else if (write)
		note_call(f, KIND_WRITE, pwritev2(file->fd, v, count, offset, flags));
	else if (chance(f, 3))
		note_call(f, KIND_READ, pread(file->fd, v[0].iov_base, v[0].iov_len, offset));
	else
		note_call(f, KIND_READ, preadv2(file->fd, v, count, offset, flags));
}

/*
 * Over what is mapped there, and only when it has come about: mmap() at a fixed
 * address leaves a hole where it fails, into which others would map.
 */
static long map_over(char *at, uint64_t bytes, int protection, int how, int fd, off_t offset)
{
	void *mapped = mmap(NULL, bytes, protection, how, fd, offset);

	if (mapped == MAP_FAILED)
		return -1;
	bytes = (bytes + PAGE - 1) & ~(PAGE - 1);
	if (mremap(mapped, bytes, bytes, MREMAP_MAYMOVE | MREMAP_FIXED, at) == MAP_FAILED)
		die("mremap");
	return 0;
}

static void map_something(struct fuzzer *f)
{
	struct open_file *file = some_file(f);
	const struct hint hint = *some_buffer(f, file);
	int fd = file->fd, protection = chance(f, 4) ? PROT_READ : PROT_READ | PROT_WRITE;
	int how = chance(f, 16) ? MAP_PRIVATE : MAP_SHARED;
	uint64_t offset = hint.mmap_offset, bytes = hint.bytes;

	if (chance(f, 8)) {
		fd = f->world->timelines[below(f, TIMELINES)];
		offset = chance(f, 2) ? 0 : below(f, 64) * PAGE;
		bytes = (1 + below(f, 16)) * PAGE;
	}
	if (chance(f, 8))
		offset = edge(f, file->disk, 0);
	if (chance(f, 16) || !bytes || bytes > ARENA_BYTES)
		bytes = (1 + below(f, ARENA_BYTES / PAGE)) * PAGE;
	note_call(f, KIND_MMAP,
		  map_over(f->world->mappings[below(f, MAPPINGS)], bytes, protection, how, fd,
			   (off_t)offset));
}

/* A part of the memory goes, pinned or not, and other memory takes its place. */
static void replace_memory(struct fuzzer *f)
{
	static const int protections[] = { PROT_READ | PROT_WRITE, PROT_READ | PROT_WRITE,
					   PROT_READ | PROT_WRITE, PROT_READ, PROT_NONE };
	int how = chance(f, 2) ? MAP_SHARED : MAP_PRIVATE;
	char *base = chance(f, 2) ? f->world->arena : f->world->mappings[below(f, MAPPINGS)];
	uint64_t at = below(f, ARENA_BYTES / PAGE) * PAGE;
	uint64_t bytes = random_length(&f->random, (ARENA_BYTES - at) / PAGE) * PAGE;
	void *mapped = mmap(base + at, bytes, protections[below(f, 5)],
			    MAP_FIXED | MAP_ANONYMOUS | how, -1, 0);

	note_call(f, KIND_MUNMAP, mapped == MAP_FAILED ? -1 : 0);
}

static void wait_for_events(struct fuzzer *f)
{
	struct pollfd what = { .fd = some_file(f)->fd, .events = POLLIN | POLLOUT };

	if (chance(f, 2))
		what.fd = f->world->timelines[below(f, TIMELINES)];
	note_call(f, KIND_POLL, poll(&what, 1, (int)below(f, 2)));
}

static void duplicate(struct fuzzer *f)
{
	int fd = dup(some_file(f)->fd);

	note_call(f, KIND_DUP, fd);
	if (fd >= 0)
		close(fd);
}

static void seek(struct fuzzer *f)
{
	const struct open_file *file = some_file(f);

	note_call(f, KIND_LSEEK, lseek(file->fd, (off_t)place(f, file->disk), (int)below(f, 6)));
}

static void sync_something(struct fuzzer *f)
{
	note_call(f, KIND_FSYNC, fsync(some_file(f)->fd));
}

void use_file(struct fuzzer *f)
{
	uint64_t dice = below(f, 100);

	if (dice < 25)
		read_or_write(f, true);
	else if (dice < 50)
		read_or_write(f, false);
	else if (dice < 65)
		map_something(f);
	else if (dice < 75)
		replace_memory(f);
	else if (dice < 80)
		sync_something(f);
	else if (dice < 85)
		wait_for_events(f);
	else if (dice < 90)
		duplicate(f);
	else if (dice < 95)
		seek(f);
	else
		open_some(f, some_file(f));
}

void make_every_call(struct fuzzer *f)
{
	/* A file that takes any size never takes buffers again: replace it in time. */
	open_some(f, some_file(f));
	read_or_write(f, true);
	read_or_write(f, false);
	map_something(f);
	replace_memory(f);
	sync_something(f);
	wait_for_events(f);
	duplicate(f);
	seek(f);
}
