// SPDX-License-Identifier: MIT
/*
 * Copies between files and areas, on a disk in memory, in pieces of 64 KiB: the disk grants no
 * longer buffers.
 */
#include <chario/copy.h>

#include <pthread.h>
#include <sys/mman.h>
#include <sys/socket.h>

#include "device/ops.h"
#include "own-store.h"

#define BLOCK   4096U
#define PIECE   (64U << 10)
#define BYTES   (10U * PIECE + 1000U)
#define STOPPED 77

static struct chario_area *area;
static struct chario_device_ops ops;
static const struct chario_device_ops *real;
static size_t most_bytes;
static unsigned char *content;
static int file;

/**
 * struct calls - of the callback
 * @nr: how many there were
 * @last: bytes that the last one was told of
 * @stop_at: bytes from which on the copy is ended
 * @fell: bytes became fewer
 */
static struct calls {
	unsigned int nr;
	uint64_t last;
	uint64_t stop_at;
	bool fell;
} calls;

static int count(uint64_t done_bytes, uint64_t total_bytes, void *data)
{
	struct calls *mine = data;

	mine->nr++;
	mine->fell |= done_bytes < mine->last || done_bytes > total_bytes;
	mine->last = done_bytes;
	return done_bytes >= mine->stop_at ? STOPPED : 0;
}

static struct chario_copy copy;

/* A copy of all of the area, which tells of itself. */
static void prepare(void)
{
	calls = (struct calls){ .stop_at = UINT64_MAX };
	copy = (struct chario_copy){
		.size = sizeof(copy),
		.bytes = BYTES,
		.progress = count,
		.data = &calls,
	};
}

static int create_buffer(struct chario_buffer *buffer, struct chario_buffer_create *wanted)
{
	return wanted->bytes > most_bytes ? -ENOMEM : real->create_buffer(buffer, wanted);
}

static void before(void)
{
	struct chario_device *device;

	make_own_store(4 << 20, 512, 10);
	device = chario_store_device(store);
	real = device->ops;
	ops = *real;
	ops.create_buffer = create_buffer;
	device->ops = &ops;
	most_bytes = PIECE;
	content = malloc(BYTES);
	for (size_t i = 0; content && i < BYTES; i++)
		content[i] = (unsigned char)(i + i / BLOCK + i / PIECE);
	file = memfd_create("file", MFD_CLOEXEC);
	tap_need(content && write(file, content, BYTES) == BYTES && !lseek(file, 0, SEEK_SET) &&
			 !chario_store_create(store, "area", BYTES, 0) &&
			 !chario_area_open(store, "area", O_RDWR, &area),
		 "an area and a file cannot be made");
	prepare();
}

static void after(void)
{
	disk->faults = (struct log_faults){ 0 };
	chario_area_close(area);
	drop_own_store();
	close(file);
	free(content);
}

/* Whether the area has these bytes of the content from an offset on. */
static bool has_content(uint64_t offset, size_t bytes)
{
	unsigned char *memory = malloc(bytes);
	bool same;

	most_bytes = SIZE_MAX;
	same = memory && chario_area_read(area, memory, bytes, offset) == (ssize_t)bytes &&
	       !memcmp(memory, content + offset, bytes);
	most_bytes = PIECE;
	free(memory);
	return same;
}

/* A copy returns a status, and says at which step it has ended. */
#define ENDS(call, status, last)        \
	do {                            \
		EQUAL(call, status);    \
		EQUAL(copy.step, last); \
	} while (0)

TEST(test_in, "a file becomes an area")
{
	ENDS(chario_copy_in(area, file, &copy), 0, CHARIO_COPY_DONE);
	EQUAL(copy.read_bytes, BYTES);
	EQUAL(copy.written_bytes, BYTES);
	EQUAL(calls.last, BYTES);
	CHECK(!calls.fell);
	CHECK(calls.nr >= BYTES / PIECE);
	CHECK(has_content(0, BYTES));
}

TEST(test_out, "an area becomes a file")
{
	unsigned char *memory = malloc(BYTES);

	EQUAL(chario_copy_in(area, file, &copy), 0);
	EQUAL(ftruncate(file, 0), 0);
	EQUAL(lseek(file, 5, SEEK_SET), 5);
	prepare();
	ENDS(chario_copy_out(area, file, &copy), 0, CHARIO_COPY_DONE);
	EQUAL(copy.read_bytes, BYTES);
	EQUAL(copy.written_bytes, BYTES);
	EQUAL(calls.last, BYTES);
	CHECK(!calls.fell);
	EQUAL(lseek(file, 0, SEEK_CUR), BYTES + 5);
	EQUAL(pread(file, memory, BYTES, 5), BYTES);
	CHECK(!memcmp(memory, content, BYTES));
	free(memory);
}

/* A copy of a part touches nothing else, also where it is read at the same offset. */
TEST(test_part, "a part is copied, and nothing else is touched")
{
	const uint64_t offset = 3 * BLOCK;

	copy.offset = offset;
	copy.bytes = 2 * PIECE;
	copy.flags = CHARIO_COPY_SAME_OFFSET;
	EQUAL(chario_copy_in(area, file, &copy), 0);
	EQUAL(lseek(file, 0, SEEK_CUR), 0);
	CHECK(has_content(offset, 2 * PIECE));
	CHECK(!has_content(offset - 1, 1));
	CHECK(!has_content(offset + 2 * PIECE, 1));
	EQUAL(ftruncate(file, 0), 0);
	prepare();
	copy.offset = offset;
	copy.bytes = 7;
	EQUAL(chario_copy_out(area, file, &copy), 0);
	EQUAL(lseek(file, 0, SEEK_END), 7);
	copy.bytes = 0;
	EQUAL(chario_copy_out(area, file, &copy), 0);
	EQUAL(chario_copy_in(area, file, &copy), 0);
	EQUAL(copy.written_bytes, 0);
}

static void *feed(void *data)
{
	const int *fd = data;

	for (size_t at = 0; at < BYTES; at += 999)
		if (write(*fd, content + at, at + 999 < BYTES ? 999 : BYTES - at) < 0)
			break;
	close(*fd);
	return NULL;
}

/* Packets of a pipe are cut by a read that has less room. */
static void copy_from_pipe(int flags,
			   int (*copy_all)(struct chario_area *, int, struct chario_copy *))
{
	pthread_t feeder;
	int ends[2];

	prepare();
	EQUAL(pipe2(ends, O_CLOEXEC | flags), 0);
	EQUAL(pthread_create(&feeder, NULL, feed, &ends[1]), 0);
	EQUAL(copy_all(area, ends[0], &copy), 0);
	EQUAL(copy.read_bytes, BYTES);
	EQUAL(copy.written_bytes, BYTES);
	CHECK(has_content(0, BYTES));
	pthread_join(feeder, NULL);
	close(ends[0]);
}

TEST(test_pipe, "a pipe gives its bytes, or packets, in pieces of any length")
{
	copy_from_pipe(0, chario_copy_in);
	copy_from_pipe(O_DIRECT, chario_copy_in);
	content[0]++;
	copy_from_pipe(O_DIRECT, chario_copy_update);
}

TEST(test_messages, "a socket that drops the rest of a message is refused")
{
	int ends[2];

	EQUAL(socketpair(AF_UNIX, SOCK_SEQPACKET, 0, ends), 0);
	close(ends[1]);
	ENDS(chario_copy_in(area, ends[0], &copy), -EPROTOTYPE, CHARIO_COPY_START);
	close(ends[0]);
}

TEST(test_end, "a file that ends before is told")
{
	EQUAL(ftruncate(file, 3 * PIECE + 10), 0);
	ENDS(chario_copy_in(area, file, &copy), -ENODATA, CHARIO_COPY_END);
	EQUAL(copy.read_bytes, 3 * PIECE + 10);
	EQUAL(copy.written_bytes, 3 * PIECE);
	CHECK(has_content(0, 3 * PIECE));
	CHECK(!has_content(3 * PIECE, 1));
}

/* What has been begun when the callback ends the copy is written. */
TEST(test_stop_in, "a copy into an area is ended by its callback")
{
	calls.stop_at = 2 * PIECE;
	ENDS(chario_copy_in(area, file, &copy), STOPPED, CHARIO_COPY_DONE);
	EQUAL(calls.last, 2 * PIECE);
	CHECK(copy.written_bytes >= 2 * PIECE && copy.written_bytes < BYTES);
	EQUAL(copy.read_bytes, copy.written_bytes);
	CHECK(has_content(0, (size_t)copy.written_bytes));
	CHECK(!has_content(copy.written_bytes, 1));
}

TEST(test_stop_out, "so is one out of it")
{
	calls.stop_at = 2 * PIECE;
	ENDS(chario_copy_out(area, file, &copy), STOPPED, CHARIO_COPY_DONE);
	EQUAL(copy.written_bytes, 2 * PIECE);
	EQUAL(lseek(file, 0, SEEK_CUR), 2 * PIECE);
}

/* The file, with bytes changed at these offsets. */
static void change(const uint32_t *offsets, unsigned int nr)
{
	for (unsigned int i = 0; i < nr; i++)
		content[offsets[i]] ^= 0xff;
	if (pwrite(file, content, BYTES, 0) != BYTES || lseek(file, 0, SEEK_SET))
		abort();
	prepare();
}

TEST(test_update, "an update writes the blocks that differ")
{
	static const uint32_t offsets[] = { 0, 1, 2 * BLOCK - 1, PIECE, BYTES - 1 };
	uint64_t writes;

	EQUAL(chario_copy_in(area, file, &copy), 0);
	change(offsets, 5);
	ENDS(chario_copy_update(area, file, &copy), 0, CHARIO_COPY_DONE);
	EQUAL(copy.read_bytes, BYTES);
	EQUAL(copy.written_bytes, BYTES);
	EQUAL(copy.changed_bytes, 4 * BLOCK);
	EQUAL(calls.last, BYTES);
	CHECK(!calls.fell);
	CHECK(has_content(0, BYTES));
	writes = disk->nr_writes;
	prepare();
	copy.flags = CHARIO_COPY_SAME_OFFSET;
	copy.offset = PIECE;
	copy.bytes = BYTES - PIECE;
	EQUAL(chario_copy_update(area, file, &copy), 0);
	EQUAL(copy.changed_bytes, 0);
	EQUAL(disk->nr_writes, writes);
}

/* What was read of a part that did not come whole is not written. */
TEST(test_update_end, "an update that ends before")
{
	static const uint32_t offsets[] = { 0, PIECE, 2 * PIECE + 5 };

	EQUAL(chario_copy_in(area, file, &copy), 0);
	change(offsets, 3);
	EQUAL(ftruncate(file, 2 * PIECE + 10), 0);
	ENDS(chario_copy_update(area, file, &copy), -ENODATA, CHARIO_COPY_END);
	EQUAL(copy.read_bytes, 2 * PIECE + 10);
	EQUAL(copy.written_bytes, 2 * PIECE);
	EQUAL(copy.changed_bytes, 2 * BLOCK);
	CHECK(has_content(0, 2 * PIECE));
	CHECK(!has_content(2 * PIECE + 5, 1));
	EQUAL(lseek(file, 0, SEEK_SET), 0);
	prepare();
	calls.stop_at = PIECE;
	EQUAL(chario_copy_update(area, file, &copy), STOPPED);
	EQUAL(copy.written_bytes, PIECE);
	EQUAL(copy.read_bytes, PIECE);
}

TEST(test_update_errors, "errors of an update")
{
	static const uint32_t offsets[] = { PIECE, 3 * PIECE };

	EQUAL(chario_copy_in(area, file, &copy), 0);
	change(offsets, 2);
	disk->faults = (struct log_faults){ .write = { 1, LOG_FOR_EVER }, .error = -EIO };
	ENDS(chario_copy_update(area, file, &copy), -EIO, CHARIO_COPY_WRITE);
	EQUAL(copy.written_bytes, 3 * PIECE);
	EQUAL(copy.changed_bytes, BLOCK);
	disk->faults = (struct log_faults){ .read = { 0, LOG_FOR_EVER }, .error = -EIO };
	EQUAL(lseek(file, 0, SEEK_SET), 0);
	ENDS(chario_copy_update(area, file, &copy), -EIO, CHARIO_COPY_READ);
	EQUAL(copy.written_bytes, 0);
	disk->faults = (struct log_faults){ 0 };
	ENDS(chario_copy_update(area, -1, &copy), -EBADF, CHARIO_COPY_FILE);
}

static int stop_at_signal(uint64_t done_bytes, uint64_t total_bytes, void *data)
{
	unsigned int *nr = data;

	return ++*nr > 2 ? STOPPED : 0;
}

/* A pipe that gives and takes nothing: only signals end the wait, and not the first of them. */
TEST(test_signal, "a signal wakes a copy that waits for a file")
{
	unsigned int nr = 0;
	int ends[2], in, out;

	EQUAL(pipe2(ends, O_CLOEXEC), 0);
	copy.progress = stop_at_signal;
	copy.data = &nr;
	EQUAL(tap_interrupt(10000), 0);
	in = chario_copy_in(area, ends[0], &copy);
	nr = 0;
	out = chario_copy_out(area, ends[1], &copy);
	EQUAL(tap_interrupt(0), 0);
	EQUAL(in, STOPPED);
	EQUAL(out, STOPPED);
	EQUAL(copy.step, CHARIO_COPY_DONE);
	CHECK(copy.written_bytes < BYTES);
	close(ends[0]);
	close(ends[1]);
}

/* Errors of the file are told apart from those of the area, whatever their number. */
TEST(test_file_errors, "errors of the file")
{
	int ends[2];

	EQUAL(pipe2(ends, O_CLOEXEC), 0);
	ENDS(chario_copy_in(area, ends[1], &copy), -EBADF, CHARIO_COPY_FILE);
	ENDS(chario_copy_out(area, ends[0], &copy), -EBADF, CHARIO_COPY_FILE);
	copy.flags = CHARIO_COPY_SAME_OFFSET;
	ENDS(chario_copy_in(area, ends[0], &copy), -ESPIPE, CHARIO_COPY_FILE);
	copy.flags = 0;
	signal(SIGPIPE, SIG_IGN);
	close(ends[0]);
	ENDS(chario_copy_out(area, ends[1], &copy), -EPIPE, CHARIO_COPY_FILE);
	EQUAL(copy.written_bytes, 0);
	close(ends[1]);
}

TEST(test_area_errors, "errors of the area")
{
	disk->faults.write = (struct log_fault){ .after = 5, .times = LOG_FOR_EVER };
	disk->faults.error = -EIO;
	ENDS(chario_copy_in(area, file, &copy), -EIO, CHARIO_COPY_WRITE);
	CHECK(copy.written_bytes <= 5 * PIECE && copy.written_bytes % PIECE == 0);
	CHECK(has_content(0, (size_t)copy.written_bytes));
	disk->faults = (struct log_faults){ .read = { 0, LOG_FOR_EVER }, .error = -EIO };
	ENDS(chario_copy_out(area, file, &copy), -EIO, CHARIO_COPY_READ);
	EQUAL(copy.written_bytes, 0);
}

/* The file ends and the disk fails: the disk counts, because less is there than was read. */
TEST(test_both, "an error of the area counts more than the end of the file")
{
	EQUAL(ftruncate(file, 2 * PIECE + 10), 0);
	disk->faults.write = (struct log_fault){ .times = LOG_FOR_EVER };
	disk->faults.error = -EIO;
	ENDS(chario_copy_in(area, file, &copy), -EIO, CHARIO_COPY_WRITE);
	EQUAL(copy.written_bytes, 0);
}

TEST(test_arguments, "arguments that cannot be")
{
	struct chario_area *reader;

	copy.size--;
	EQUAL(chario_copy_in(area, file, &copy), -EINVAL);
	prepare();
	copy.flags = 1U << 31;
	ENDS(chario_copy_in(area, file, &copy), -EINVAL, CHARIO_COPY_START);
	copy.flags = CHARIO_COPY_SAME_OFFSET;
	EQUAL(chario_copy_out(area, file, &copy), -EINVAL);
	prepare();
	copy.offset = 512;
	EQUAL(chario_copy_out(area, file, &copy), -EINVAL);
	copy.offset = BLOCK;
	EQUAL(chario_copy_out(area, file, &copy), -EINVAL);
	copy.offset = UINT64_MAX - BLOCK + 1;
	EQUAL(chario_copy_out(area, file, &copy), -EINVAL);
	copy.offset = 0;
	copy.bytes = 1000;
	EQUAL(chario_copy_in(area, file, &copy), -EINVAL);
	EQUAL(calls.nr, 0);
	prepare();
	EQUAL(chario_area_open(store, "area", O_RDONLY, &reader), 0);
	ENDS(chario_copy_in(reader, file, &copy), -EROFS, CHARIO_COPY_START);
	EQUAL(chario_copy_update(reader, file, &copy), -EROFS);
	chario_area_close(reader);
}

TEST(test_memory, "too little memory")
{
	most_bytes = PIECE - 1;
	ENDS(chario_copy_in(area, file, &copy), -ENOMEM, CHARIO_COPY_START);
	ENDS(chario_copy_out(area, file, &copy), -ENOMEM, CHARIO_COPY_START);
	ENDS(chario_copy_update(area, file, &copy), -ENOMEM, CHARIO_COPY_START);
	EQUAL(lseek(file, 0, SEEK_CUR), 0);
}

TEST(test_child, "a child of fork() copies nothing")
{
	CHECK_IN_CHILD(chario_copy_in(area, file, &copy) == -EPERM);
	CHECK_IN_CHILD(chario_copy_out(area, file, &copy) == -EPERM);
	CHECK_IN_CHILD(chario_copy_update(area, file, &copy) == -EPERM);
}

TEST_MAIN(before, after)
