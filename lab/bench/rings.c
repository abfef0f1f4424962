// SPDX-License-Identifier: MIT
/*
 * Calls by io_uring: reads and writes, NVMe passthrough, and CharIO's own command.
 */
#include <linux/fs.h>
#include <linux/nvme_ioctl.h>

#include "bench.h"

#define RING_ENTRIES   32
#define BATCH          32
#define NVME_CMD_WRITE 0x01
#define NVME_CMD_READ  0x02
#define NVME_CMD_FUA   (1u << 30) /* force unit access, in dword 12 */

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

ssize_t call_uring_read(struct bench *b, off_t offset)
{
	struct io_uring_sqe *sqe = io_uring_get_sqe(&b->ring);

	io_uring_prep_read_fixed(sqe, 0, b->buffer, (unsigned int)b->bytes, (uint64_t)offset, 0);
	sqe->flags |= IOSQE_FIXED_FILE;
	return submit_and_reap(b);
}

ssize_t call_uring_write(struct bench *b, off_t offset)
{
	struct io_uring_sqe *sqe = io_uring_get_sqe(&b->ring);

	io_uring_prep_write_fixed(sqe, 0, b->buffer, (unsigned int)b->bytes, (uint64_t)offset, 0);
	sqe->flags |= IOSQE_FIXED_FILE;
	return submit_and_reap(b);
}

/* Passthrough of an NVMe command, on memory of registered buffer number @index. */
static void prepare_command(struct bench *b, void *memory, size_t bytes, off_t offset,
			    unsigned int index)
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
	sqe->buf_index = (uint16_t)index;
	cmd = (struct nvme_uring_cmd *)sqe->cmd;
	cmd->opcode = b->pass_opcode;
	cmd->nsid = b->nsid;
	cmd->addr = (uintptr_t)memory;
	cmd->data_len = (uint32_t)bytes;
	cmd->cdw10 = (uint32_t)block;
	cmd->cdw11 = (uint32_t)(block >> 32);
	cmd->cdw12 = ((uint32_t)(bytes >> b->block_shift) - 1) | b->pass_flags;
}

static void prepare_pass(struct bench *b, off_t offset)
{
	prepare_command(b, b->buffer, b->bytes, offset, 0);
}

ssize_t call_uring_pass(struct bench *b, off_t offset)
{
	prepare_pass(b, offset);
	return submit_and_reap(b) ? -1 : (ssize_t)b->bytes;
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

/* Of the pieces that a call is cut into, number @i. */
typedef void prepare_fn(struct bench *b, off_t offset, unsigned int i);

/*
 * A call in pieces, as many at a time as the ring has room for: a command is
 * limited by the drive, and on Linux 6.1 a polled read of more than one never returns.
 */
static ssize_t run_pieces(struct bench *b, off_t offset, prepare_fn *prepare, int expected)
{
	unsigned int nr = (unsigned int)(b->bytes / b->piece_bytes), prepared = 0, done = 0;

	while (done < nr) {
		int come;

		for (; prepared < nr && prepared - done < RING_ENTRIES; prepared++)
			prepare(b, offset, prepared);
		if (io_uring_submit_and_wait(&b->ring, 1) < 0)
			return -1;
		come = reap_batch(b, expected);
		if (come < 0)
			return -1;
		done += (unsigned int)come;
	}
	return (ssize_t)b->bytes;
}

static void prepare_fixed_piece(struct bench *b, off_t offset, unsigned int i)
{
	struct io_uring_sqe *sqe = io_uring_get_sqe(&b->ring);

	if (!sqe)
		fail("io_uring_get_sqe");
	io_uring_prep_rw(b->writes ? IORING_OP_WRITE_FIXED : IORING_OP_READ_FIXED, sqe, 0,
			 (char *)b->buffer + i * b->piece_bytes, (unsigned int)b->piece_bytes,
			 (uint64_t)offset + i * b->piece_bytes);
	sqe->buf_index = (uint16_t)i;
	sqe->flags |= IOSQE_FIXED_FILE;
}

static void prepare_pass_piece(struct bench *b, off_t offset, unsigned int i)
{
	prepare_command(b, (char *)b->buffer + i * b->piece_bytes, b->piece_bytes,
			offset + (off_t)(i * b->piece_bytes), i);
}

ssize_t call_uring_pieces(struct bench *b, off_t offset)
{
	return run_pieces(b, offset, prepare_fixed_piece, (int)b->piece_bytes);
}

ssize_t call_uring_pass_pieces(struct bench *b, off_t offset)
{
	return run_pieces(b, offset, prepare_pass_piece, 0);
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

ssize_t call_uring_transfer(struct bench *b, off_t offset)
{
	prepare_transfer(b, offset);
	return submit_and_reap(b);
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
		prepare(b, (offset + i * (off_t)b->bytes) % (off_t)b->span_bytes);
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

ssize_t call_uring_pass_batch(struct bench *b, off_t offset)
{
	return run_batch(b, offset, prepare_pass, 0);
}

ssize_t call_uring_transfer_batch(struct bench *b, off_t offset)
{
	return run_batch(b, offset, prepare_transfer, (int)b->bytes);
}

/* Each piece by itself: Linux 6.1 takes no buffer of more than 127 pages for a command. */
static void register_pieces(struct bench *b)
{
	size_t piece = b->piece_bytes ? b->piece_bytes : b->bytes;
	unsigned int nr = (unsigned int)(b->bytes / piece);
	struct iovec *pieces = calloc(nr, sizeof(*pieces));

	if (!pieces)
		fail("no memory");
	for (unsigned int i = 0; i < nr; i++)
		pieces[i] = (struct iovec){ (char *)b->buffer + i * piece, piece };
	must(io_uring_register_buffers(&b->ring, pieces, nr), "io_uring_register_buffers");
	free(pieces);
}

static void open_ring(struct bench *b, unsigned int flags)
{
	must(io_uring_queue_init(RING_ENTRIES, &b->ring, flags), "io_uring_queue_init");
	register_pieces(b);
	must(io_uring_register_files(&b->ring, &b->fd, 1), "io_uring_register_files");
}

void set_up_ring(struct bench *b)
{
	open_ring(b, 0);
}

void set_up_polled_ring(struct bench *b)
{
	open_ring(b, IORING_SETUP_IOPOLL);
}

/*
 * For commands: completions wait for the one task that submits, and the kernel does
 * not look up the ring's descriptor in each call.
 */
static void open_command_ring(struct bench *b, unsigned int flags)
{
	open_ring(b, IORING_SETUP_SINGLE_ISSUER | IORING_SETUP_DEFER_TASKRUN | IORING_SETUP_SQE128 |
			     flags);
	if (io_uring_register_ring_fd(&b->ring) != 1)
		fail("io_uring_register_ring_fd");
}

/* The block device of the same name, /dev/nvme0n1 for /dev/ng0n1, says how large a block is. */
static void learn_block(struct bench *b)
{
	const char *name = b->path + strlen("/dev/ng");
	char path[64];
	int fd = -1;
	int nsid = ioctl(b->fd, NVME_IOCTL_ID);
	unsigned int block_bytes = 0;

	if (snprintf(path, sizeof(path), "/dev/nvme%s", name) < (int)sizeof(path))
		fd = open(path, O_RDONLY | O_NOCTTY);
	if (fd < 0 || nsid < 0 || ioctl(fd, BLKSSZGET, &block_bytes))
		fail("NVMe generic device");
	close(fd);
	b->nsid = (unsigned int)nsid;
	b->block_shift = (unsigned int)__builtin_ctz(block_bytes);
	b->pass_opcode = b->writes ? NVME_CMD_WRITE : NVME_CMD_READ;
	b->pass_flags = b->writes && b->durable ? NVME_CMD_FUA : 0;
}

void set_up_pass(struct bench *b)
{
	learn_block(b);
	open_command_ring(b, IORING_SETUP_CQE32);
}

void set_up_polled_pass(struct bench *b)
{
	learn_block(b);
	open_command_ring(b, IORING_SETUP_CQE32 | IORING_SETUP_IOPOLL);
}

void set_up_uring_transfer(struct bench *b)
{
	set_up_transfer(b);
	open_command_ring(b, IORING_SETUP_IOPOLL);
}
