/* SPDX-License-Identifier: MIT */
/*
 * What the parts of chario-bench share.
 */
#ifndef BENCH_H
#define BENCH_H

#include <liburing.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include <chario/buffer.h>

#define SPAN_BYTES (64ul << 20) /* the part of the device that is used */

struct bench {
	int fd;
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

void open_for_transfer(struct bench *b);
void use_buffer(struct bench *b, const struct chario_buffer *buffer);
void set_up_transfer(struct bench *b);

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
