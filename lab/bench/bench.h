/* SPDX-License-Identifier: MIT */
/*
 * What the parts of chario-bench share.
 */
#ifndef BENCH_H
#define BENCH_H

#include <liburing.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include <chario/buffer.h>

struct bench {
	const char *path;
	int fd;
	bool writes;
	size_t span_bytes; /* the part of the device that is used */
	off_t skew_bytes; /* where it begins */
	long warm_up; /* calls that come before */
	bool in_order; /* one call behind the other; else anywhere */
	size_t nr_calls; /* that were in order */
	void *buffer;
	size_t bytes;
	const char *pages; /* what the buffer is made of */
	uint64_t random;
	struct io_uring ring;
	struct chario_device *device;
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
	/* Around each operation; not counted. */
	void (*before)(struct bench *b);
	void (*after)(struct bench *b);
};

/* bench.c: says what has failed, and errno, and ends. */
_Noreturn void fail(const char *what);

/* calls.c: all calls; the last has no name. */
extern const struct call calls[];

/* rings.c */
call_fn call_uring_read, call_uring_write, call_uring_pass, call_uring_pass_batch;
call_fn call_uring_transfer, call_uring_transfer_batch;
void set_up_ring(struct bench *b);
void set_up_polled_ring(struct bench *b);
void set_up_pass(struct bench *b);
void set_up_polled_pass(struct bench *b);
void set_up_uring_transfer(struct bench *b);

/* transfers.c */
call_fn call_transfer;
void open_for_transfer(struct bench *b);
void use_buffer(struct bench *b, const struct chario_buffer *buffer);
void set_up_transfer(struct bench *b);
void set_up_timeline(struct bench *b);
void set_up_transfer_timeline(struct bench *b);

/* kinds.c */
void set_up_pool(struct bench *b);
void set_up_window(struct bench *b);
void set_up_dmabuf(struct bench *b);

/* rival.c */
void set_up_own_queue(struct bench *b);
void set_up_shared_rival(struct bench *b);
void set_up_own_rival(struct bench *b);
void start_rival(struct bench *b);
void end_rival(struct bench *b);

/* record.c */
void set_up_record(struct bench *b);
ssize_t call_record(struct bench *b, off_t offset);

/* memory.c */
int map_buffer(struct bench *b, const char *pages);
size_t buffer_neighbours(const struct bench *b);

#endif /* BENCH_H */
