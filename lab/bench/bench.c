// SPDX-License-Identifier: MIT
/*
 * chario-bench: repeats one synchronous call in the guest, each repetition
 * between two markers for the counting plugin (marker.h).
 *
 *	chario-bench reload
 *	chario-bench CALL DEVICE BYTES PAGES SPEED OPERATIONS
 *
 * CALL is an entry of calls[] (run without arguments for the list), PAGES is
 * scattered, joined or huge (see map_arranged()), SPEED is free, late or
 * stall. The result is one line of JSON.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <liburing.h>
#include <linux/fs.h>
#include <linux/nvme_ioctl.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/uio.h>
#include <unistd.h>

#include <chario/uapi.h>

#include "marker.h"

#define WARM_UP         16
#define HUGE_PAGE_BYTES (2ul << 20)
#define SPAN_BYTES      (64ul << 20) /* the part of the device that is used */
#define RING_ENTRIES    32
#define BATCH           32
#define PAGE_BYTES      4096ul
#define STOCK_FACTOR    4 /* pages to choose from, for each that is needed */
#define FILL            0xa5
#define NVME_CMD_READ   0x02
#define PAGEMAP_FRAME   ((1ull << 55) - 1)

struct bench {
	int fd;
	void *buffer;
	size_t bytes;
	const char *pages; /* what the buffer is made of */
	uint64_t random;
	struct io_uring ring;
	struct chario_transfer transfer; /* on the registered buffer */
	unsigned int nsid;               /* of an NVMe generic device */
	unsigned int block_shift;
};

/* One synchronous call at @offset. Return: bytes moved, or -1 / -errno. */
typedef ssize_t call_fn(struct bench *b, off_t offset);

struct call {
	const char *name;
	call_fn *run;
	int flags; /* of open() */
	void (*set_up)(struct bench *b);
};

static _Noreturn void fail(const char *what)
{
	fprintf(stderr, "chario-bench: %s: %s\n", what, strerror(errno));
	exit(EXIT_FAILURE);
}

static ssize_t call_getppid(struct bench *b, off_t offset)
{
	(void)offset;
	return getppid() < 0 ? -1 : (ssize_t)b->bytes;
}

static ssize_t call_pread(struct bench *b, off_t offset)
{
	return pread(b->fd, b->buffer, b->bytes, offset);
}

/* /dev/null gives 0 bytes; that is what is expected of it. */
static ssize_t call_pread_null(struct bench *b, off_t offset)
{
	return pread(b->fd, b->buffer, b->bytes, offset) ? -1 : (ssize_t)b->bytes;
}

static ssize_t call_pwrite(struct bench *b, off_t offset)
{
	return pwrite(b->fd, b->buffer, b->bytes, offset);
}

static ssize_t call_pread_poll(struct bench *b, off_t offset)
{
	struct iovec iov = { .iov_base = b->buffer, .iov_len = b->bytes };

	return preadv2(b->fd, &iov, 1, offset, RWF_HIPRI);
}

static ssize_t call_pwrite_poll(struct bench *b, off_t offset)
{
	struct iovec iov = { .iov_base = b->buffer, .iov_len = b->bytes };

	return pwritev2(b->fd, &iov, 1, offset, RWF_HIPRI);
}

static ssize_t submit_and_reap(struct bench *b)
{
	struct io_uring_cqe *cqe;
	ssize_t moved;

	if (io_uring_submit_and_wait(&b->ring, 1) != 1)
		return -1;
	if (io_uring_peek_cqe(&b->ring, &cqe))
		return -1;
	moved = cqe->res;
	io_uring_cqe_seen(&b->ring, cqe);
	return moved;
}

static ssize_t call_uring_read(struct bench *b, off_t offset)
{
	struct io_uring_sqe *sqe = io_uring_get_sqe(&b->ring);

	io_uring_prep_read_fixed(sqe, 0, b->buffer, (unsigned int)b->bytes, (uint64_t)offset, 0);
	sqe->flags |= IOSQE_FIXED_FILE;
	return submit_and_reap(b);
}

static ssize_t call_uring_write(struct bench *b, off_t offset)
{
	struct io_uring_sqe *sqe = io_uring_get_sqe(&b->ring);

	io_uring_prep_write_fixed(sqe, 0, b->buffer, (unsigned int)b->bytes, (uint64_t)offset, 0);
	sqe->flags |= IOSQE_FIXED_FILE;
	return submit_and_reap(b);
}

/* Passthrough of an NVMe command, IORING_SETUP_IOPOLL, registered buffer. */
static void prepare_pass(struct bench *b, off_t offset)
{
	struct io_uring_sqe *sqe = io_uring_get_sqe(&b->ring);
	uint64_t block = (uint64_t)offset >> b->block_shift;
	struct nvme_uring_cmd *cmd;

	if (!sqe)
		fail("io_uring_get_sqe");
	memset(sqe, 0, 2 * sizeof(*sqe));
	sqe->opcode = IORING_OP_URING_CMD;
	sqe->flags = IOSQE_FIXED_FILE;
	sqe->cmd_op = NVME_URING_CMD_IO;
	sqe->uring_cmd_flags = IORING_URING_CMD_FIXED;
	cmd = (struct nvme_uring_cmd *)sqe->cmd;
	cmd->opcode = NVME_CMD_READ;
	cmd->nsid = b->nsid;
	cmd->addr = (uintptr_t)b->buffer;
	cmd->data_len = (uint32_t)b->bytes;
	cmd->cdw10 = (uint32_t)block;
	cmd->cdw11 = (uint32_t)(block >> 32);
	cmd->cdw12 = (uint32_t)(b->bytes >> b->block_shift) - 1;
}

static ssize_t call_uring_pass(struct bench *b, off_t offset)
{
	prepare_pass(b, offset);
	return submit_and_reap(b) ? -1 : (ssize_t)b->bytes;
}

/* The same struct as for the ioctl, in the submission entry. */
static void prepare_transfer(struct bench *b, off_t offset)
{
	struct io_uring_sqe *sqe = io_uring_get_sqe(&b->ring);

	if (!sqe)
		fail("io_uring_get_sqe");
	memset(sqe, 0, sizeof(*sqe));
	sqe->opcode = IORING_OP_URING_CMD;
	sqe->flags = IOSQE_FIXED_FILE;
	sqe->cmd_op = CHARIO_IOC_TRANSFER;
	b->transfer.disk_offset = (uint64_t)offset;
	memcpy(sqe->cmd, &b->transfer, sizeof(b->transfer));
}

static ssize_t call_uring_transfer(struct bench *b, off_t offset)
{
	prepare_transfer(b, offset);
	return submit_and_reap(b);
}

/* BATCH reads of neighbouring places, submitted and awaited together. */
static ssize_t run_batch(struct bench *b, off_t offset, void (*prepare)(struct bench *, off_t),
			 int expected)
{
	struct io_uring_cqe *cqe;
	unsigned int head, count = 0;

	for (int i = 0; i < BATCH; i++)
		prepare(b, (offset + i * (off_t)b->bytes) % (off_t)SPAN_BYTES);
	if (io_uring_submit_and_wait(&b->ring, BATCH) != BATCH)
		return -1;
	io_uring_for_each_cqe(&b->ring, head, cqe)
	{
		if (cqe->res != expected)
			return cqe->res;
		count++;
	}
	io_uring_cq_advance(&b->ring, count);
	return count == BATCH ? (ssize_t)b->bytes : -1;
}

static ssize_t call_uring_pass_batch(struct bench *b, off_t offset)
{
	return run_batch(b, offset, prepare_pass, 0);
}

static ssize_t call_uring_transfer_batch(struct bench *b, off_t offset)
{
	return run_batch(b, offset, prepare_transfer, (int)b->bytes);
}

static ssize_t call_transfer(struct bench *b, off_t offset)
{
	b->transfer.disk_offset = (uint64_t)offset;
	return ioctl(b->fd, CHARIO_IOC_TRANSFER, &b->transfer);
}

static void open_ring(struct bench *b, unsigned int flags)
{
	struct iovec iov = { .iov_base = b->buffer, .iov_len = b->bytes };

	errno = -io_uring_queue_init(RING_ENTRIES, &b->ring, flags);
	if (errno)
		fail("io_uring_queue_init");
	errno = -io_uring_register_buffers(&b->ring, &iov, 1);
	if (errno)
		fail("io_uring_register_buffers");
	errno = -io_uring_register_files(&b->ring, &b->fd, 1);
	if (errno)
		fail("io_uring_register_files");
}

static void set_up_ring(struct bench *b)
{
	open_ring(b, IORING_SETUP_IOPOLL);
}

/* The block device of the same name says how large a block is. */
static void set_up_pass(struct bench *b)
{
	int fd = open("/dev/nvme0n1", O_RDONLY);
	int nsid = ioctl(b->fd, NVME_IOCTL_ID);
	unsigned int block_bytes = 0;

	if (fd < 0 || nsid < 0 || ioctl(fd, BLKSSZGET, &block_bytes))
		fail("NVMe generic device");
	close(fd);
	b->nsid = (unsigned int)nsid;
	b->block_shift = (unsigned int)__builtin_ctz(block_bytes);
	open_ring(b, IORING_SETUP_IOPOLL | IORING_SETUP_SQE128 | IORING_SETUP_CQE32);
}

static void set_up_transfer(struct bench *b)
{
	struct chario_buffer_create create = {
		.size = sizeof(create),
		.kind = CHARIO_BUFFER_REGISTERED,
		.address = (uintptr_t)b->buffer,
		.bytes = b->bytes,
	};

	if (ioctl(b->fd, CHARIO_IOC_BUFFER_CREATE, &create))
		fail("CHARIO_IOC_BUFFER_CREATE");
	b->transfer = (struct chario_transfer){
		.size = sizeof(b->transfer),
		.op = CHARIO_TRANSFER_READ,
		.buffer = create.id,
		.bytes = b->bytes,
	};
}

static void set_up_uring_transfer(struct bench *b)
{
	set_up_transfer(b);
	open_ring(b, IORING_SETUP_IOPOLL | IORING_SETUP_SQE128);
}

static const struct call calls[] = {
	{ "getppid", call_getppid, O_RDONLY, NULL },
	{ "pread-null", call_pread_null, O_RDONLY, NULL },
	{ "pread", call_pread, O_RDONLY | O_DIRECT, NULL },
	{ "pwrite", call_pwrite, O_RDWR | O_DIRECT, NULL },
	{ "pread-poll", call_pread_poll, O_RDONLY | O_DIRECT, NULL },
	{ "pwrite-poll", call_pwrite_poll, O_RDWR | O_DIRECT, NULL },
	{ "uring-read-poll", call_uring_read, O_RDONLY | O_DIRECT, set_up_ring },
	{ "uring-write-poll", call_uring_write, O_RDWR | O_DIRECT, set_up_ring },
	{ "uring-pass-poll", call_uring_pass, O_RDONLY, set_up_pass },
	{ "uring-pass-batch", call_uring_pass_batch, O_RDONLY, set_up_pass },
	{ "uring-transfer-poll", call_uring_transfer, O_RDONLY, set_up_uring_transfer },
	{ "uring-transfer-batch", call_uring_transfer_batch, O_RDONLY, set_up_uring_transfer },
	{ "transfer", call_transfer, O_RDONLY, set_up_transfer },
};

static void usage(void)
{
	fprintf(stderr, "usage: chario-bench reload\n"
			"       chario-bench CALL DEVICE BYTES "
			"scattered|joined|huge free|late|stall OPERATIONS\n"
			"calls:");
	for (size_t i = 0; i < sizeof(calls) / sizeof(calls[0]); i++)
		fprintf(stderr, " %s", calls[i].name);
	fputc('\n', stderr);
	exit(EXIT_FAILURE);
}

static const struct call *find_call(const char *name)
{
	for (size_t i = 0; i < sizeof(calls) / sizeof(calls[0]); i++)
		if (!strcmp(calls[i].name, name))
			return &calls[i];
	usage();
	return NULL;
}

static size_t round_up(size_t bytes, size_t unit)
{
	return (bytes + unit - 1) / unit * unit;
}

static void *map_memory(size_t bytes, int flags)
{
	void *memory = mmap(NULL, bytes, PROT_READ | PROT_WRITE,
			    MAP_PRIVATE | MAP_ANONYMOUS | flags, -1, 0);

	return memory == MAP_FAILED ? NULL : memory;
}

static void *map_transparent_huge(size_t bytes)
{
	uintptr_t address = (uintptr_t)map_memory(bytes + HUGE_PAGE_BYTES, 0);
	void *aligned = (void *)round_up(address, HUGE_PAGE_BYTES);

	if (!address)
		fail("no memory");
	if (madvise(aligned, bytes, MADV_HUGEPAGE))
		fail("no huge pages, reserved or transparent");
	return aligned;
}

/* Reserved huge pages if there are any, else what madvise() gives. */
static void map_huge(struct bench *b)
{
	size_t bytes = round_up(b->bytes, HUGE_PAGE_BYTES);

	b->pages = "hugetlb";
	b->buffer = map_memory(bytes, MAP_HUGETLB);
	if (!b->buffer) {
		b->pages = "thp";
		b->buffer = map_transparent_huge(bytes);
	}
	memset(b->buffer, FILL, b->bytes);
}

/* A page of the buffer: where it is mapped, and its number in memory. */
struct page {
	char *address;
	uint64_t frame;
};

static void read_frames(struct page *pages, char *first, size_t nr_pages)
{
	int fd = open("/proc/self/pagemap", O_RDONLY);
	uint64_t entry;

	if (fd < 0)
		fail("/proc/self/pagemap");
	for (size_t i = 0; i < nr_pages; i++) {
		char *address = first + i * PAGE_BYTES;
		off_t at = (off_t)((uintptr_t)address / PAGE_BYTES);

		if (pread(fd, &entry, sizeof(entry), at * (off_t)sizeof(entry)) != sizeof(entry))
			fail("/proc/self/pagemap");
		pages[i] = (struct page){ address, entry & PAGEMAP_FRAME };
	}
	close(fd);
}

static int by_frame(const void *left, const void *right)
{
	const struct page *a = left, *b = right;

	return (a->frame > b->frame) - (a->frame < b->frame);
}

/* Return: how many of the pages are the neighbours of those before them. */
static size_t count_neighbours(const struct page *pages, size_t nr_pages)
{
	size_t neighbours = 0;

	for (size_t i = 1; i < nr_pages; i++)
		neighbours += pages[i].frame == pages[i - 1].frame + 1;
	return neighbours;
}

/* The run of @nr_pages pages, of @nr_all sorted ones, with most neighbours. */
static const struct page *find_best_run(const struct page *pages, size_t nr_all, size_t nr_pages)
{
	const struct page *best = pages;

	for (size_t i = 0; i + nr_pages <= nr_all; i++)
		if (count_neighbours(pages + i, nr_pages) > count_neighbours(best, nr_pages))
			best = pages + i;
	return best;
}

/*
 * The block layer joins pages that are neighbours in memory, so the cost of a
 * call depends on the order in which the kernel happened to hand them out.
 * This takes the buffer's pages from a larger stock and puts them in an order
 * of our own: rising, so that nearly all are the neighbours of those before
 * them, or falling, so that none is.
 */
static void map_arranged(struct bench *b, bool rising)
{
	size_t nr_pages = round_up(b->bytes, PAGE_BYTES) / PAGE_BYTES;
	size_t nr_all = nr_pages * STOCK_FACTOR;
	struct page *pages = calloc(nr_all, sizeof(*pages));
	char *target = map_memory(nr_pages * PAGE_BYTES, 0);
	char *stock = map_memory(nr_all * PAGE_BYTES, 0);
	const struct page *run;

	if (!pages || !target || !stock)
		fail("no memory");
	madvise(stock, nr_all * PAGE_BYTES, MADV_NOHUGEPAGE);
	memset(stock, FILL, nr_all * PAGE_BYTES);
	read_frames(pages, stock, nr_all);
	qsort(pages, nr_all, sizeof(*pages), by_frame);
	run = find_best_run(pages, nr_all, nr_pages);
	for (size_t i = 0; i < nr_pages; i++) {
		size_t place = rising ? i : nr_pages - 1 - i;

		if (mremap(run[i].address, PAGE_BYTES, PAGE_BYTES, MREMAP_MAYMOVE | MREMAP_FIXED,
			   target + place * PAGE_BYTES) == MAP_FAILED)
			fail("mremap");
	}
	b->pages = rising ? "joined" : "scattered";
	b->buffer = target;
	free(pages);
}

static void map_buffer(struct bench *b, const char *pages)
{
	if (!strcmp(pages, "huge"))
		map_huge(b);
	else if (!strcmp(pages, "joined") || !strcmp(pages, "scattered"))
		map_arranged(b, !strcmp(pages, "joined"));
	else
		usage();
}

static size_t buffer_neighbours(const struct bench *b)
{
	size_t nr_pages = round_up(b->bytes, PAGE_BYTES) / PAGE_BYTES;
	struct page *pages = calloc(nr_pages, sizeof(*pages));
	size_t neighbours;

	if (!pages)
		fail("no memory");
	read_frames(pages, b->buffer, nr_pages);
	neighbours = count_neighbours(pages, nr_pages);
	free(pages);
	return neighbours;
}

static off_t next_offset(struct bench *b)
{
	b->random = b->random * 6364136223846793005u + 1442695040888963407u;
	return (off_t)((b->random >> 33) % (SPAN_BYTES / b->bytes) * b->bytes);
}

static void set_speed(const char *speed)
{
	if (!strcmp(speed, "late"))
		MARKER(MARKER_DEVICE_LATE);
	else if (!strcmp(speed, "stall"))
		MARKER(MARKER_DEVICE_STALL);
	else
		MARKER(MARKER_DEVICE_FREE);
}

static void repeat(struct bench *b, const struct call *call, long operations)
{
	call_fn *run = call->run;
	ssize_t moved;
	off_t offset;

	for (long i = -WARM_UP; i < operations; i++) {
		if (!i)
			MARKER(MARKER_SEGMENT);
		offset = next_offset(b);
		errno = 0;
		if (i < 0) {
			moved = run(b, offset);
		} else {
			MARKER(MARKER_BEGIN);
			moved = run(b, offset);
			MARKER(MARKER_END);
		}
		if (moved == (ssize_t)b->bytes)
			continue;
		if (moved < -1)
			errno = (int)-moved;
		MARKER(MARKER_SEGMENT_END);
		MARKER(MARKER_DEVICE_FREE);
		fail(call->name);
	}
	MARKER(MARKER_SEGMENT_END);
}

int main(int argc, char **argv)
{
	const struct call *call;
	struct bench b = { .random = 42 };
	long operations;

	if (argc == 2 && !strcmp(argv[1], "reload")) {
		MARKER(MARKER_RELOAD);
		return EXIT_SUCCESS;
	}
	if (argc != 7)
		usage();
	call = find_call(argv[1]);
	b.bytes = strtoul(argv[3], NULL, 0);
	operations = strtol(argv[6], NULL, 0);
	if (!b.bytes || b.bytes > SPAN_BYTES || operations < 1)
		usage();
	b.fd = open(argv[2], call->flags);
	if (b.fd < 0)
		fail(argv[2]);
	map_buffer(&b, argv[4]);
	if (call->set_up)
		call->set_up(&b);
	set_speed(argv[5]);
	repeat(&b, call, operations);
	MARKER(MARKER_DEVICE_FREE);
	printf("{\"call\": \"%s\", \"pages\": \"%s\", \"neighbours\": %zu, "
	       "\"operations\": %ld}\n",
	       call->name, b.pages, buffer_neighbours(&b), operations);
	return EXIT_SUCCESS;
}
