// SPDX-License-Identifier: MIT
/*
 * The calls that are counted, and what each of them needs beforehand.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <linux/fs.h>
#include <linux/nvme_ioctl.h>
#include <stdbool.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/uio.h>
#include <unistd.h>

#include <chario/timeline.h>

#include "bench.h"

#define RING_ENTRIES  32
#define BATCH         32
#define NVME_CMD_READ 0x02
#define RECORDS       1024 /* of a ring of the timeline */

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

/* What a flag costs before anybody looks at it. */
static ssize_t call_preadv_null(struct bench *b, off_t offset)
{
	return call_pread_poll(b, offset) ? -1 : (ssize_t)b->bytes;
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
	/* The wait may have ended without it: a machine that is busy is no failure. */
	errno = -io_uring_wait_cqe(&b->ring, &cqe);
	if (errno)
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

/* How many have come; -1 when one of them has failed. */
static int reap_batch(struct bench *b, int expected)
{
	struct io_uring_cqe *cqe;
	unsigned int head, count = 0;
	bool good = true;

	io_uring_for_each_cqe(&b->ring, head, cqe)
	{
		good &= cqe->res == expected;
		count++;
	}
	io_uring_cq_advance(&b->ring, count);
	return good ? (int)count : -1;
}

/*
 * BATCH reads of neighbouring places, submitted and awaited together.  The kernel
 * may return before all of them have come.
 */
static ssize_t run_batch(struct bench *b, off_t offset, void (*prepare)(struct bench *, off_t),
			 int expected)
{
	unsigned int left = BATCH;

	for (int i = 0; i < BATCH; i++)
		prepare(b, (offset + i * (off_t)b->bytes) % (off_t)SPAN_BYTES);
	while (left) {
		int come;

		if (io_uring_submit_and_wait(&b->ring, left) < 0)
			return -1;
		come = reap_batch(b, expected);
		if (come < 0)
			return -1;
		left -= (unsigned int)come;
	}
	return (ssize_t)b->bytes;
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
	return chario_transfer(b->device, &b->transfer, sizeof(b->transfer));
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

/*
 * For commands: completions wait for the one task that submits, and the kernel does
 * not look up the ring's descriptor in each call.
 */
static void open_command_ring(struct bench *b, unsigned int flags)
{
	open_ring(b, IORING_SETUP_IOPOLL | IORING_SETUP_SINGLE_ISSUER | IORING_SETUP_DEFER_TASKRUN |
			     IORING_SETUP_SQE128 | flags);
	if (io_uring_register_ring_fd(&b->ring) != 1)
		fail("io_uring_register_ring_fd");
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
	open_command_ring(b, IORING_SETUP_CQE32);
}

/* Through the library, as a program does it. */
void open_for_transfer(struct bench *b)
{
	errno = -chario_device_open("/dev/chardisk0", O_RDONLY, &b->device);
	if (errno)
		fail("/dev/chardisk0");
	b->fd = chario_device_fd(b->device);
}

void use_buffer(struct bench *b, const struct chario_buffer *buffer)
{
	b->transfer = (struct chario_transfer){
		.size = sizeof(b->transfer),
		.op = CHARIO_TRANSFER_READ,
		.buffer = chario_buffer_id(buffer),
		.bytes = b->bytes,
	};
}

void set_up_transfer(struct bench *b)
{
	struct chario_buffer *buffer;

	open_for_transfer(b);
	errno = -chario_buffer_register(b->device, b->buffer, b->bytes, 0, &buffer);
	if (errno)
		fail("chario_buffer_register");
	use_buffer(b, buffer);
}

/* Of the disk that was named, for writing. */
static void set_up_transfer_write(struct bench *b)
{
	struct chario_buffer *buffer;

	errno = -chario_device_open("/dev/chardisk1", O_RDWR, &b->device);
	if (errno)
		fail("/dev/chardisk1");
	b->fd = chario_device_fd(b->device);
	errno = -chario_buffer_register(b->device, b->buffer, b->bytes, 0, &buffer);
	if (errno)
		fail("chario_buffer_register");
	use_buffer(b, buffer);
	b->transfer.op = CHARIO_TRANSFER_WRITE;
}

/* Every stage is recorded as long as the program runs. */
static void set_up_timeline(struct bench *b)
{
	const struct chario_timeline_open options = { .records = RECORDS };
	struct chario_timeline *timeline;

	errno = b->device ? 0 : -chario_device_open("/dev/chardisk0", O_RDONLY, &b->device);
	if (errno)
		fail("/dev/chardisk0");
	errno = -chario_timeline_open(b->device, &options, sizeof(options), &timeline);
	if (errno)
		fail("chario_timeline_open");
}

static void set_up_transfer_timeline(struct bench *b)
{
	set_up_transfer(b);
	set_up_timeline(b);
}

static void set_up_uring_transfer(struct bench *b)
{
	set_up_transfer(b);
	open_command_ring(b, 0);
}

const struct call calls[] = {
	{ .name = "getppid", .run = call_getppid, .flags = O_RDONLY },
	{ .name = "pread-null", .run = call_pread_null, .flags = O_RDONLY },
	{ .name = "preadv-null", .run = call_preadv_null, .flags = O_RDONLY },
	{ .name = "pread", .run = call_pread, .flags = O_RDONLY | O_DIRECT },
	{ .name = "pwrite", .run = call_pwrite, .flags = O_RDWR | O_DIRECT },
	{ .name = "pread-poll", .run = call_pread_poll, .flags = O_RDONLY | O_DIRECT },
	{ .name = "pwrite-poll", .run = call_pwrite_poll, .flags = O_RDWR | O_DIRECT },
	{ .name = "uring-read-poll",
	  .run = call_uring_read,
	  .flags = O_RDONLY | O_DIRECT,
	  .set_up = set_up_ring },
	{ .name = "uring-write-poll",
	  .run = call_uring_write,
	  .flags = O_RDWR | O_DIRECT,
	  .set_up = set_up_ring },
	{ .name = "uring-pass-poll",
	  .run = call_uring_pass,
	  .flags = O_RDONLY,
	  .set_up = set_up_pass },
	{ .name = "uring-pass-batch",
	  .run = call_uring_pass_batch,
	  .flags = O_RDONLY,
	  .set_up = set_up_pass },
	{ .name = "uring-transfer-poll",
	  .run = call_uring_transfer,
	  .flags = O_RDONLY,
	  .set_up = set_up_uring_transfer },
	{ .name = "uring-transfer-batch",
	  .run = call_uring_transfer_batch,
	  .flags = O_RDONLY,
	  .set_up = set_up_uring_transfer },
	{ .name = "transfer", .run = call_transfer, .flags = O_RDONLY, .set_up = set_up_transfer },
	{ .name = "transfer-pool", .run = call_transfer, .flags = O_RDONLY, .set_up = set_up_pool },
	{ .name = "transfer-window",
	  .run = call_transfer,
	  .flags = O_RDONLY,
	  .set_up = set_up_window },
	{ .name = "transfer-dmabuf",
	  .run = call_transfer,
	  .flags = O_RDONLY,
	  .set_up = set_up_dmabuf },
	{ .name = "transfer-own",
	  .run = call_transfer,
	  .flags = O_RDONLY,
	  .set_up = set_up_own_queue },
	{ .name = "transfer-own-rival",
	  .run = call_transfer,
	  .flags = O_RDONLY,
	  .set_up = set_up_own_rival,
	  .before = start_rival,
	  .after = end_rival },
	{ .name = "transfer-rival",
	  .run = call_transfer,
	  .flags = O_RDONLY,
	  .set_up = set_up_shared_rival,
	  .before = start_rival,
	  .after = end_rival },
	{ .name = "pread-timeline",
	  .run = call_pread,
	  .flags = O_RDONLY | O_DIRECT,
	  .set_up = set_up_timeline },
	{ .name = "transfer-timeline",
	  .run = call_transfer,
	  .flags = O_RDONLY,
	  .set_up = set_up_transfer_timeline },
	{ .name = "transfer-write",
	  .run = call_transfer,
	  .flags = O_RDWR,
	  .set_up = set_up_transfer_write },
	{ .name = "record", .run = call_record, .flags = O_RDWR, .set_up = set_up_record },
	{ .name = NULL },
};
