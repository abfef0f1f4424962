// SPDX-License-Identifier: MIT
/*
 * The calls that are counted, and what each of them needs beforehand.
 */
#include "bench.h"

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

const struct call calls[] = {
	{ .name = "getppid", .run = call_getppid, .flags = O_RDONLY },
	{ .name = "pread-null", .run = call_pread_null, .flags = O_RDONLY },
	{ .name = "preadv-null", .run = call_preadv_null, .flags = O_RDONLY },
	{ .name = "pread", .run = call_pread, .flags = O_RDONLY | O_DIRECT },
	{ .name = "pwrite", .run = call_pwrite, .flags = O_RDWR | O_DIRECT },
	{ .name = "pwrite-urgent",
	  .run = call_pwrite,
	  .flags = O_RDWR | O_DIRECT,
	  .set_up = set_up_urgent },
	{ .name = "pread-poll", .run = call_pread_poll, .flags = O_RDONLY | O_DIRECT },
	{ .name = "pwrite-poll", .run = call_pwrite_poll, .flags = O_RDWR | O_DIRECT },
	{ .name = "uring-read-poll",
	  .run = call_uring_read,
	  .run_pieces = call_uring_pieces,
	  .flags = O_RDONLY | O_DIRECT,
	  .set_up = set_up_polled_ring },
	{ .name = "uring-write-poll",
	  .run = call_uring_write,
	  .run_pieces = call_uring_pieces,
	  .flags = O_RDWR | O_DIRECT,
	  .set_up = set_up_polled_ring },
	{ .name = "uring-read",
	  .run = call_uring_read,
	  .run_pieces = call_uring_pieces,
	  .flags = O_RDONLY | O_DIRECT,
	  .set_up = set_up_ring },
	{ .name = "uring-write",
	  .run = call_uring_write,
	  .run_pieces = call_uring_pieces,
	  .flags = O_RDWR | O_DIRECT,
	  .set_up = set_up_ring },
	{ .name = "uring-pass-poll",
	  .run = call_uring_pass,
	  .run_pieces = call_uring_pass_pieces,
	  .flags = O_RDONLY,
	  .set_up = set_up_polled_pass },
	{ .name = "uring-pass-write-poll",
	  .run = call_uring_pass,
	  .run_pieces = call_uring_pass_pieces,
	  .flags = O_RDWR,
	  .set_up = set_up_polled_pass },
	{ .name = "uring-pass",
	  .run = call_uring_pass,
	  .run_pieces = call_uring_pass_pieces,
	  .flags = O_RDONLY,
	  .set_up = set_up_pass },
	{ .name = "uring-pass-write",
	  .run = call_uring_pass,
	  .run_pieces = call_uring_pass_pieces,
	  .flags = O_RDWR,
	  .set_up = set_up_pass },
	{ .name = "uring-pass-batch",
	  .run = call_uring_pass_batch,
	  .flags = O_RDONLY,
	  .set_up = set_up_polled_pass },
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
	  .set_up = set_up_transfer },
	{ .name = "transfer-window-write",
	  .run = call_transfer,
	  .flags = O_RDWR,
	  .set_up = set_up_window },
	{ .name = "record", .run = call_record, .flags = O_RDWR, .set_up = set_up_record },
	{ .name = "record-durable",
	  .run = call_record_durable,
	  .flags = O_RDWR,
	  .set_up = set_up_record },
	{ .name = NULL },
};
