/* SPDX-License-Identifier: MIT */
/*
 * What the parts of chario-bench share.
 */
#ifndef BENCH_H
#define BENCH_H

#include <chario/buffer.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <liburing.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/uio.h>
#include <time.h>
#include <unistd.h>

#define MAX_CPUS 64

struct bench {
	const char *path;
	int fd;
	bool writes;
	bool durable; /* when a write returns: O_SYNC and what stands for it */
	size_t piece_bytes; /* of a call that is cut; 0: it is not */
	size_t span_bytes; /* the part of the device that is used */
	off_t skew_bytes; /* where it begins */
	long warm_up; /* calls that come before */
	const char *disk; /* whose commands are counted; NULL: nobody's */
	int gate_fd; /* of a tracer; -1: there is none */
	int ack_fd; /* by which perf answers; -1: the gate is not perf's */
	int flags; /* of open() */
	bool reopen;
	long period_us;
	int priority;
	bool timed;         /* each call, for its latency */
	const char *beside; /* a block device that others use meanwhile; NULL: none is looked at */
	uint64_t beside_bytes; /* that they have moved */
	bool finish; /* what is written is durable in the end */
	ssize_t (*last_run)(struct bench *b, off_t offset);
	bool fresh; /* each call has memory of its own */
	bool in_order; /* one call behind the other; else anywhere */
	size_t nr_calls; /* that were in order */
	void *buffer;
	size_t bytes;
	const char *pages; /* what the buffer is made of */
	uint64_t seed, random;
	struct io_uring ring;
	struct chario_device *device;
	struct chario_transfer transfer; /* on the registered buffer */
	unsigned int nsid; /* of an NVMe generic device */
	unsigned int block_shift;
	uint8_t pass_opcode; /* of the commands that are passed through */
	uint32_t pass_flags; /* in their dword 12 */
};

/* One synchronous call at @offset. Return: bytes moved, or -1 / -errno. */
typedef ssize_t call_fn(struct bench *b, off_t offset);

/* What comes before calls or after them, and is not counted. */
typedef void step_fn(struct bench *b);

struct call {
	const char *name;
	call_fn *run;
	call_fn *run_pieces; /* the same where the call is cut into pieces */
	int flags; /* of open() */
	step_fn *set_up;
	step_fn *before, *after; /* around each operation */
};

/* bench.c: says what has failed, and errno, and ends; and the same unless @err, 0 or a negative errno, is 0. */
_Noreturn void fail(const char *what);
void must(int err, const char *what);
int must_open(const char *path, int flags);

/* calls.c: all calls; the last has no name. */
extern const struct call calls[];

/* rings.c */
call_fn call_uring_read, call_uring_write, call_uring_pass, call_uring_pass_batch;
call_fn call_uring_pieces, call_uring_pass_pieces;
call_fn call_uring_transfer, call_uring_transfer_batch;
step_fn set_up_ring, set_up_polled_ring, set_up_pass, set_up_polled_pass, set_up_uring_transfer;

/* transfers.c */
call_fn call_transfer;
step_fn open_for_transfer, set_up_transfer, set_up_urgent, set_up_timeline,
	set_up_transfer_timeline;
void use_buffer(struct bench *b, const struct chario_buffer *buffer);

/* kinds.c */
step_fn set_up_pool, set_up_window, set_up_dmabuf;

/* rival.c */
step_fn set_up_own_queue, set_up_shared_rival, set_up_own_rival, start_rival, end_rival;

/* record.c */
step_fn set_up_record;
call_fn call_record, call_record_durable;

/* commands.c */
void watch_commands(const char *disk);
void begin_commands(void);
void begin_call(void);
void end_call(void);
void print_commands(void);

/* latency.c: the call that is to be made in place of @run; warm calls come before begin_latency(). */
call_fn *watch_latency(call_fn *run, long operations);
void begin_latency(void);
void print_latency(void);

/* beside.c: bytes that were read from a block device and written to it until now. */
uint64_t read_beside(const char *name);

/* times.c */
struct times {
	uint64_t now_us;
	uint64_t cached_kib; /* of files and of block devices, in memory */
	unsigned int nr_cpus;
	/* In ticks of the kernel's clock for processes. */
	uint64_t user[MAX_CPUS];
	uint64_t kernel[MAX_CPUS]; /* with interrupts */
	uint64_t idle[MAX_CPUS]; /* with waiting for a device */
	uint64_t interrupts; /* of the whole machine */
	uint64_t switches;
};

/* What the kernel knows; and the time alone, which is read nearest to the calls. */
void read_times(struct times *times);
void read_clock(struct times *times);
void print_times(const struct times *begin, const struct times *end);

/* memory.c */
int map_buffer(struct bench *b, const char *pages);
void renew_buffer(struct bench *b);
size_t buffer_neighbours(const struct bench *b);

#endif /* BENCH_H */
