// SPDX-License-Identifier: MIT
/*
 * Plays a script of calls on one file and prints what each has come to.
 *
 *   fault_io PATH STEP,ARGUMENT,... ...
 *
 * Each step prints "NAME RESULT", the result being what the call returned or
 * -errno.  Steps and their arguments:
 *
 *   read POS BYTES, write POS BYTES   one pread or pwrite of the buffer; after one that
 *                                     the drive may still have, of a new one
 *   hipri POS BYTES                   one preadv2 with RWF_HIPRI
 *   transfer POS BYTES                one CHARIO_IOC_TRANSFER that writes from a pool
 *   until POS BYTES                   preads until one fails: prints its errno
 *   times N POS BYTES                 N preads: prints how many have read all of it
 *   fill SEED POS BYTES               give the buffer a content
 *   match SEED POS BYTES              does it have this content?  1 or 0
 *   unmap, map                        throw the buffer away, get a new one
 *   deadline MS, completion MODE      options of the file
 *   info, stats, size, seek, sync     ioctls, lseek and fsync
 *   atomic                            bytes of a write that a power cut does not tear
 *   pin BITS                          ask for pins, CHARIO_PIN_*
 *   in-force, absent, refused         what has come of it, bits
 *   own-queue                         have a queue of one's own
 *   any-size                          calls of the file may have any size
 *   urgent                            the block side stands back for calls of the file
 *   lock, take                        lock the open file (F_OFD_SETLK); the same, and wait
 *   settle POS BYTES MS               CHARIO_IOC_SETTLE
 *   pin-status PLACE                  why one of them is refused
 *   touch FILE, await FILE            meet the test
 *   fork                              go on in two processes
 */
#include <linux/fs.h>

#include "common.h"

#define BUFFER_BYTES (64u << 20)

static int fd;
static unsigned char *buffer;
static bool may_be_written;
static struct chario_file_options options = { .size = sizeof(options) };

static void map_buffer(void)
{
	buffer = must_map_own(BUFFER_BYTES, 0);
	may_be_written = false;
}

/* The drive may still have the memory of a read that has timed out. */
static long read_once(uint64_t pos, uint64_t bytes)
{
	long ret;

	if (may_be_written)
		map_buffer();
	ret = pread(fd, buffer, bytes, (off_t)pos);
	may_be_written = ret < 0 && errno == ETIMEDOUT;
	return ret;
}

static uint64_t word(uint64_t seed, uint64_t pos)
{
	return (pos + seed) * 0x9E3779B97F4A7C15u;
}

static long fill(uint64_t seed, uint64_t pos, uint64_t bytes)
{
	for (uint64_t i = 0; i < bytes / 8; i++)
		((uint64_t *)(void *)buffer)[i] = word(seed, pos + 8 * i);
	return 0;
}

static long match(uint64_t seed, uint64_t pos, uint64_t bytes)
{
	for (uint64_t i = 0; i < bytes / 8; i++)
		if (((uint64_t *)(void *)buffer)[i] != word(seed, pos + 8 * i))
			return 0;
	return 1;
}

static long hipri(uint64_t pos, uint64_t bytes)
{
	struct iovec iov = { buffer, bytes };

	return preadv2(fd, &iov, 1, (off_t)pos, RWF_HIPRI);
}

static long transfer(uint64_t pos, uint64_t bytes)
{
	struct chario_buffer_create pool = must_create(fd, CHARIO_BUFFER_POOL, NULL, bytes, 0);
	struct chario_transfer arg = {
		.size = sizeof(arg),
		.op = CHARIO_TRANSFER_WRITE,
		.buffer = pool.id,
		.disk_offset = pos,
		.bytes = bytes,
	};

	memcpy(must_map(bytes, MAP_SHARED, fd, pool.mmap_offset), buffer, bytes);
	return ioctl(fd, CHARIO_IOC_TRANSFER, &arg);
}

static long settle(uint64_t pos, uint64_t bytes, uint64_t ms)
{
	struct chario_settle arg = {
		.size = sizeof(arg),
		.disk_offset = pos,
		.bytes = bytes,
		.deadline_ns = ms * 1000000,
	};

	return ioctl(fd, CHARIO_IOC_SETTLE, &arg);
}

static long lock(int command)
{
	struct flock flock = { .l_type = F_WRLCK, .l_whence = SEEK_SET, .l_len = 1 };

	return fcntl(fd, command, &flock);
}

static long read_until_failure(uint64_t pos, uint64_t bytes)
{
	long ret;

	do
		ret = pread(fd, buffer, bytes, (off_t)pos);
	while (ret > 0);
	return ret;
}

static long set_file(void)
{
	return ioctl(fd, CHARIO_IOC_SET_FILE, &options);
}

static long set_deadline(uint64_t ms)
{
	options.deadline_ns = ms * 1000000;
	return set_file();
}

static long set_completion(uint64_t mode)
{
	options.completion = (uint32_t)mode;
	return set_file();
}

static long set_flag(uint32_t flag)
{
	options.flags |= flag;
	return set_file();
}

static long read_times(uint64_t times, uint64_t pos, uint64_t bytes)
{
	long done = 0;

	for (uint64_t i = 0; i < times; i++)
		done += pread(fd, buffer, bytes, (off_t)pos) == (ssize_t)bytes;
	return done;
}

static long info(void)
{
	struct chario_info arg = { .size = sizeof(arg) };

	return ioctl(fd, CHARIO_IOC_INFO, &arg);
}

static long atomic_write_bytes(void)
{
	struct chario_info arg = { .size = sizeof(arg) };

	return ioctl(fd, CHARIO_IOC_INFO, &arg) ? -1 : (long)arg.atomic_write_bytes;
}

static long stats(void)
{
	struct chario_stats arg = { .size = sizeof(arg) };

	return ioctl(fd, CHARIO_IOC_STATS, &arg);
}

static long own_queue(void)
{
	struct chario_queue_create arg = { .size = sizeof(arg), .cpu = -1 };

	return ioctl(fd, CHARIO_IOC_QUEUE_CREATE, &arg);
}

static long pin(uint64_t wanted)
{
	struct chario_pin arg = { .size = sizeof(arg), .wanted = (uint32_t)wanted };

	return ioctl(fd, CHARIO_IOC_SET_PIN, &arg);
}

static struct chario_pin pinned(void)
{
	struct chario_pin arg = { .size = sizeof(arg) };

	if (ioctl(fd, CHARIO_IOC_GET_PIN, &arg))
		perror("GET_PIN");
	return arg;
}

/* A negative errno becomes that of the step. */
static long pin_status(uint64_t place)
{
	long status = pinned().status[place];

	errno = status < 0 ? (int)-status : 0;
	return status;
}

static long size(void)
{
	uint64_t bytes;

	return ioctl(fd, BLKGETSIZE64, &bytes);
}

static long unmap(void)
{
	long ret = munmap(buffer, BUFFER_BYTES);

	buffer = NULL;
	return ret;
}

static long run(const char *name, char **arg)
{
	uint64_t n[3] = { 0, 0, 0 };

	for (int i = 0; i < 3 && arg[i]; i++)
		n[i] = strtoull(arg[i], NULL, 0);
	CASE(name, "read", read_once(n[0], n[1]));
	CASE(name, "write", pwrite(fd, buffer, n[1], (off_t)n[0]));
	CASE(name, "hipri", hipri(n[0], n[1]));
	CASE(name, "transfer", transfer(n[0], n[1]));
	CASE(name, "settle", settle(n[0], n[1], n[2]));
	CASE(name, "lock", lock(F_OFD_SETLK));
	CASE(name, "take", lock(F_OFD_SETLKW));
	CASE(name, "any-size", set_flag(CHARIO_FILE_ANY_SIZE));
	CASE(name, "times", read_times(n[0], n[1], n[2]));
	CASE(name, "urgent", set_flag(CHARIO_FILE_URGENT));
	CASE(name, "until", read_until_failure(n[0], n[1]));
	CASE(name, "fill", fill(n[0], n[1], n[2]));
	CASE(name, "match", match(n[0], n[1], n[2]));
	CASE(name, "deadline", set_deadline(n[0]));
	CASE(name, "completion", set_completion(n[0]));
	CASE(name, "own-queue", own_queue());
	CASE(name, "pin", pin(n[0]));
	CASE(name, "in-force", pinned().in_force);
	CASE(name, "absent", pinned().absent);
	CASE(name, "refused", pinned().refused);
	CASE(name, "pin-status", pin_status(n[0] % 16));
	CASE(name, "touch", touch(arg[0]));
	CASE(name, "await", await(arg[0]));
	CASE(name, "unmap", unmap());
	CASE(name, "map", (map_buffer(), 0));
	CASE(name, "info", info());
	CASE(name, "atomic", atomic_write_bytes());
	CASE(name, "stats", stats());
	CASE(name, "size", size());
	CASE(name, "seek", lseek(fd, 0, SEEK_END) > 0 ? 0 : -1);
	CASE(name, "sync", fsync(fd));
	CASE(name, "fork", fork());
	die("no step is called %s", name);
}

int main(int argc, char **argv)
{
	long ret;

	if (argc < 3)
		die("usage: fault_io PATH STEP,ARGUMENT,... ...");
	map_buffer();
	fd = open(argv[1], O_RDWR);
	if (fd < 0) {
		printf("open %d\n", -errno);
		return 0;
	}
	/* Where it is no disk, or one that has gone, the steps say so. */
	ioctl(fd, CHARIO_IOC_GET_FILE, &options);
	for (int i = 2; i < argc; i++) {
		char *arg[4] = { NULL }, *name = strtok(argv[i], ",");

		for (int j = 0; j < 3; j++)
			arg[j] = strtok(NULL, ",");
		errno = 0;
		ret = run(name, arg);
		printf("%s %ld\n", name, ret < 0 ? -(long)errno : ret);
		fflush(stdout);
	}
	printf("close %d\n", close(fd) ? -errno : 0);
	return 0;
}
