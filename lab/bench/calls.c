// SPDX-License-Identifier: MIT
/*
 * The calls that are counted, and what each of them needs beforehand.
 */
#include "bench.h"

static ssize_t call_getppid(struct bench *b, off_t offset)
{
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

#define CALL(called, runs, opened, ...) \
	{ .name = (called), .run = (runs), .flags = (opened), __VA_ARGS__ }
const struct call calls[] = {
	CALL("getppid", call_getppid, O_RDONLY),
	CALL("pread-null", call_pread_null, O_RDONLY),
	CALL("preadv-null", call_preadv_null, O_RDONLY),
	CALL("pread", call_pread, O_RDONLY | O_DIRECT),
	CALL("pwrite", call_pwrite, O_RDWR | O_DIRECT),
	CALL("pwrite-urgent", call_pwrite, O_RDWR | O_DIRECT, .set_up = set_up_urgent),
	CALL("pread-poll", call_pread_poll, O_RDONLY | O_DIRECT),
	CALL("pwrite-poll", call_pwrite_poll, O_RDWR | O_DIRECT),
	CALL("uring-read-poll", call_uring_read, O_RDONLY | O_DIRECT,
	     .run_pieces = call_uring_pieces, .set_up = set_up_polled_ring),
	CALL("uring-write-poll", call_uring_write, O_RDWR | O_DIRECT,
	     .run_pieces = call_uring_pieces, .set_up = set_up_polled_ring),
	CALL("uring-read", call_uring_read, O_RDONLY | O_DIRECT, .run_pieces = call_uring_pieces,
	     .set_up = set_up_ring),
	CALL("uring-write", call_uring_write, O_RDWR | O_DIRECT, .run_pieces = call_uring_pieces,
	     .set_up = set_up_ring),
	CALL("uring-pass-poll", call_uring_pass, O_RDONLY, .run_pieces = call_uring_pass_pieces,
	     .set_up = set_up_polled_pass),
	CALL("uring-pass-write-poll", call_uring_pass, O_RDWR, .run_pieces = call_uring_pass_pieces,
	     .set_up = set_up_polled_pass),
	CALL("uring-pass", call_uring_pass, O_RDONLY, .run_pieces = call_uring_pass_pieces,
	     .set_up = set_up_pass),
	CALL("uring-pass-write", call_uring_pass, O_RDWR, .run_pieces = call_uring_pass_pieces,
	     .set_up = set_up_pass),
	CALL("uring-pass-batch", call_uring_pass_batch, O_RDONLY, .set_up = set_up_polled_pass),
	CALL("uring-transfer-poll", call_uring_transfer, O_RDONLY, .set_up = set_up_uring_transfer),
	CALL("uring-transfer-batch", call_uring_transfer_batch, O_RDONLY,
	     .set_up = set_up_uring_transfer),
	CALL("transfer", call_transfer, O_RDONLY, .set_up = set_up_transfer),
	CALL("transfer-pool", call_transfer, O_RDONLY, .set_up = set_up_pool),
	CALL("transfer-window", call_transfer, O_RDONLY, .set_up = set_up_window),
	CALL("transfer-dmabuf", call_transfer, O_RDONLY, .set_up = set_up_dmabuf),
	CALL("transfer-own", call_transfer, O_RDONLY, .set_up = set_up_own_queue),
	CALL("transfer-own-rival", call_transfer, O_RDONLY, .set_up = set_up_own_rival,
	     .before = start_rival, .after = end_rival),
	CALL("transfer-rival", call_transfer, O_RDONLY, .set_up = set_up_shared_rival,
	     .before = start_rival, .after = end_rival),
	CALL("pread-timeline", call_pread, O_RDONLY | O_DIRECT, .set_up = set_up_timeline),
	CALL("transfer-timeline", call_transfer, O_RDONLY, .set_up = set_up_transfer_timeline),
	CALL("transfer-write", call_transfer, O_RDWR, .set_up = set_up_transfer),
	CALL("transfer-window-write", call_transfer, O_RDWR, .set_up = set_up_window),
	CALL("record", call_record, O_RDWR, .set_up = set_up_record),
	CALL("record-durable", call_record_durable, O_RDWR, .set_up = set_up_record),
	{ .name = NULL },
};
