// SPDX-License-Identifier: MIT
/*
 * Makes the calls that its input names, one a line, and says how each ended.
 *
 *	calls DEVICE [FLAG]... <SCRIPT
 *
 * FLAG is one of rdonly, wronly, direct, dsync (default: read and write).
 * The buffer has 16 MiB from a page's start; behind it there is no memory.
 * A line is one of
 *
 *	pread|pwrite OFFSET BYTES [SKEW]      SKEW: bytes into the buffer
 *	read|write BYTES [SKEW]
 *	preadv|pwritev OFFSET FLAGS BYTES:SKEW...
 *	bad-pread|bad-pwrite OFFSET BYTES     memory that is not there
 *	hole OFFSET BYTES                     this part of the buffer is out of reach
 *	seek set|cur|end OFFSET
 *	fsync, fdatasync
 *	block NAME                            BLKGETSIZE64 and its like
 *	ioctl NUMBER SIZE BYTES [OFFSET=VALUE]...
 *	bad-ioctl NUMBER                      memory that is not there
 *
 * For ioctl a struct of BYTES bytes is made, SIZE goes in front, each VALUE is
 * a 32-bit number.  The answer is a number or the name of an error; ioctl adds
 * the struct as 32-bit numbers, block adds the value.
 */
#include <linux/fs.h>

#include "script.h"

#define BUFFER_BYTES (16ul << 20)
#define NOWHERE      ((char *)4096)

static int fd;
static char *buffer;

static void answer_call(long result)
{
	answer(result < 0 ? -errno : result);
}

static long vector_call(const struct line *l)
{
	struct iovec elements[MAX_WORDS];
	off_t offset = (off_t)word(l, 1);
	int flags = (int)word(l, 2), count = 0;
	char *to = buffer;

	for (int i = 3; i < l->count; i++) {
		size_t bytes, skew;

		if (sscanf(l->words[i], "%zu:%zu", &bytes, &skew) != 2)
			die("not BYTES:SKEW: %s", l->words[i]);
		elements[count++] = (struct iovec){ to + skew, bytes };
		to += (bytes + skew + 4095) & ~4095ul;
	}
	if (is(l, "preadv"))
		return preadv2(fd, elements, count, offset, flags);
	return pwritev2(fd, elements, count, offset, flags);
}

static long seek_call(const struct line *l)
{
	int whence = !strcmp(l->words[1], "set") ? SEEK_SET :
		     !strcmp(l->words[1], "cur") ? SEEK_CUR :
						   SEEK_END;

	return lseek(fd, strtoll(l->words[2], NULL, 0), whence);
}

static void block_call(const struct line *l)
{
	static const struct {
		const char *name;
		unsigned long number;
	} names[] = {
		{ "BLKGETSIZE64", BLKGETSIZE64 }, { "BLKSSZGET", BLKSSZGET },
		{ "BLKPBSZGET", BLKPBSZGET },     { "BLKIOMIN", BLKIOMIN },
		{ "BLKIOOPT", BLKIOOPT },         { "BLKROGET", BLKROGET },
		{ "BLKGETSIZE", BLKGETSIZE },     { "BLKFLSBUF", BLKFLSBUF },
	};

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		uint64_t value = 0;

		if (strcmp(l->words[1], names[i].name))
			continue;
		answer_call(ioctl(fd, names[i].number, &value));
		printf(" %" PRIu64, value);
		return;
	}
	die("no such ioctl: %s", l->words[1]);
}

static void ioctl_call(const struct line *l)
{
	static uint32_t argument[4096];
	uint64_t bytes = word(l, 3);
	long result;

	if (bytes > sizeof(argument))
		die("too large: %" PRIu64, bytes);
	memset(argument, 0, sizeof(argument));
	argument[0] = (uint32_t)word(l, 2);
	for (int i = 4; i < l->count; i++) {
		size_t offset;
		uint32_t value;

		if (sscanf(l->words[i], "%zu=%u", &offset, &value) != 2)
			die("not OFFSET=VALUE: %s", l->words[i]);
		argument[offset / 4] = value;
	}
	result = ioctl(fd, word(l, 1), argument);
	answer_call(result);
	for (uint64_t i = 0; result >= 0 && i < bytes / 4; i++)
		printf(" %u", argument[i]);
}

static long call(const struct line *l)
{
	const char *verb = l->words[0];

	CASE(verb, "pread", pread(fd, buffer + word(l, 3), word(l, 2), (off_t)word(l, 1)));
	CASE(verb, "pwrite", pwrite(fd, buffer + word(l, 3), word(l, 2), (off_t)word(l, 1)));
	CASE(verb, "read", read(fd, buffer + word(l, 2), word(l, 1)));
	CASE(verb, "write", write(fd, buffer + word(l, 2), word(l, 1)));
	CASE(verb, "bad-pread", pread(fd, NOWHERE, word(l, 2), (off_t)word(l, 1)));
	CASE(verb, "bad-pwrite", pwrite(fd, NOWHERE, word(l, 2), (off_t)word(l, 1)));
	CASE(verb, "hole", mprotect(buffer + word(l, 1), word(l, 2), PROT_NONE));
	CASE(verb, "preadv", vector_call(l));
	CASE(verb, "pwritev", vector_call(l));
	CASE(verb, "seek", seek_call(l));
	CASE(verb, "fsync", fsync(fd));
	CASE(verb, "fdatasync", fdatasync(fd));
	CASE(verb, "bad-ioctl", ioctl(fd, word(l, 1), NOWHERE));
	die("no such call: %s", verb);
}

static void make(const struct line *l)
{
	if (is(l, "block"))
		block_call(l);
	else if (is(l, "ioctl"))
		ioctl_call(l);
	else
		answer_call(call(l));
	putchar('\n');
}

static int open_flags(int argc, char **argv)
{
	int flags = O_RDWR;

	for (int i = 2; i < argc; i++) {
		if (!strcmp(argv[i], "rdonly"))
			flags = (flags & ~O_ACCMODE) | O_RDONLY;
		else if (!strcmp(argv[i], "wronly"))
			flags = (flags & ~O_ACCMODE) | O_WRONLY;
		else if (!strcmp(argv[i], "direct"))
			flags |= O_DIRECT;
		else if (!strcmp(argv[i], "dsync"))
			flags |= O_DSYNC;
		else
			die("no such flag: %s", argv[i]);
	}
	return flags;
}

/* What stands behind the buffer is out of reach. */
static void make_buffer(void)
{
	buffer = mmap(NULL, 2 * BUFFER_BYTES, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (buffer == MAP_FAILED || mprotect(buffer, BUFFER_BYTES, PROT_READ | PROT_WRITE))
		die("no memory");
}

int main(int argc, char **argv)
{
	struct line l;

	if (argc < 2)
		die("usage: calls DEVICE [FLAG]... <SCRIPT");
	fd = must_open(argv[1], open_flags(argc, argv));
	make_buffer();
	while (next_line(&l))
		make(&l);
	return 0;
}
