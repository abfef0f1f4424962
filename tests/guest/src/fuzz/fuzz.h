/* SPDX-License-Identifier: MIT */
/*
 * What the files of the fuzzer share: what is attacked, by whom, and how it is
 * counted.
 */
#ifndef FUZZ_FUZZ_H
#define FUZZ_FUZZ_H

#include <liburing.h>

#include "../common.h"

#define DISKS     4
#define FILES     6
#define HINTS     8
#define DMABUFS   4
#define TIMELINES 2
#define MAPPINGS  4
#define REGIONS   3
#define THREADS   8
#define ERRORS    134

#define PAGE        4096ul
#define ARGS_BYTES  (2 * PAGE)
/* A piece for each buffer that there may be. */
#define PIECE_BYTES (64ul << 10)
#define ARENA_BYTES (FILES * HINTS * PIECE_BYTES)
/* Memory of a thread for reads, a slot for each that may be in flight; half of it is used. */
#define SLOT_BYTES  (32ul << 10)
#define MOVE_BYTES  (SLOT_BYTES / 2)
#define SLOTS       128

/* What is counted together. */
enum kind {
	KIND_INFO,
	KIND_STATS,
	KIND_GET_FILE,
	KIND_SET_FILE,
	KIND_BUFFER_CREATE,
	KIND_BUFFER_DESTROY,
	KIND_BUFFER_SYNC,
	KIND_BUFFER_EXPORT,
	KIND_TRANSFER,
	KIND_SETTLE,
	KIND_QUEUE_CREATE,
	KIND_GET_PIN,
	KIND_SET_PIN,
	KIND_HEALTH,
	KIND_TIMELINE_OPEN,
	KIND_TIMELINE_CONTROL,
	KIND_SET_REGIONS,
	KIND_CONFINE,
	KIND_BLOCK,
	KIND_GARBAGE,
	KIND_URING_64,
	KIND_URING_128,
	KIND_URING_POLLED_64,
	KIND_URING_POLLED_128,
	KIND_URING_GARBAGE,
	/* From here on they are no commands, and do not count as such. */
	KIND_URING_FILE,
	KIND_READ,
	KIND_WRITE,
	KIND_MMAP,
	KIND_MUNMAP,
	KIND_FSYNC,
	KIND_LSEEK,
	KIND_POLL,
	KIND_OPEN,
	KIND_DUP,
	KINDS,
};

#define KIND_COMMANDS KIND_URING_FILE

/**
 * struct tally - what has been issued, shared by all processes
 * @commands: ioctls and commands of io_uring that have been answered
 * @killed: processes that have ended by SIGKILL, in the middle of it
 * @counts: of each kind, by errno; 0: accepted; the last: an errno that user
 *	space must never see
 */
struct tally {
	uint64_t commands;
	uint64_t killed;
	uint64_t counts[KINDS][ERRORS];
};

/**
 * struct disk - a disk that is attacked
 * @path: its node
 * @info: what it says of itself
 */
struct disk {
	const char *path;
	struct chario_info info;
};

/**
 * struct hint - a buffer that a file had a moment ago
 * @id: its name
 * @kind: &enum chario_buffer_kind
 * @bytes: its length
 * @mmap_offset: as the kernel has said
 * @address: as it was given
 */
struct hint {
	uint32_t id;
	uint32_t kind;
	uint64_t bytes;
	uint64_t mmap_offset;
	uint64_t address;
};

/**
 * struct open_file - an open disk, used by all threads of a process
 * @fd: always the same number: another file takes it over by dup3()
 * @disk: of which disk
 * @hints: buffers, some of them gone
 */
struct open_file {
	int fd;
	const struct disk *disk;
	struct hint hints[HINTS];
};

/**
 * struct world - what the threads of a process share, without any lock
 * @tally: of all processes
 * @disks: that there are
 * @nr_disks: so many
 * @window: physical address of a range that may be open; 0: none
 * @files: open disks
 * @dmabufs: descriptors
 * @timelines: descriptors
 * @arena: memory that is registered
 * @mappings: where buffers and timelines are mapped, each ARENA_BYTES long
 * @args: of each thread, for the others to spoil
 * @targets: memory of each thread for ordinary reads
 * @nr_threads: so many
 * @limit: of commands, all together
 */
struct world {
	struct tally *tally;
	const struct disk *disks;
	unsigned int nr_disks;
	uint64_t window;
	struct open_file files[FILES];
	int dmabufs[DMABUFS];
	int timelines[TIMELINES];
	char *arena;
	char *mappings[MAPPINGS];
	char *args[THREADS];
	char *targets[THREADS];
	unsigned int nr_threads;
	uint64_t limit;
};

/**
 * struct fuzzer - a thread
 * @world: of its process
 * @random: state of its random numbers
 * @args: memory for the struct of a call; behind it lies none
 * @target: memory to read into, no part of it twice at a time: DMA-API debug
 *	takes that for a mistake
 * @slot: of @target, the next one
 * @ring: its ring of io_uring
 * @ring_flags: IORING_SETUP_* flags of it
 * @in_flight: commands that have not been reaped
 * @has_ring: there is one
 * @careful: it spoils no command on purpose
 */
struct fuzzer {
	struct world *world;
	uint64_t random;
	char *args;
	char *target;
	unsigned int slot;
	struct io_uring ring;
	unsigned int ring_flags;
	unsigned int in_flight;
	bool has_ring;
	bool careful;
};

/* values.c */
bool chance(struct fuzzer *f, uint64_t of);
uint64_t below(struct fuzzer *f, uint64_t limit);
uint64_t edge(struct fuzzer *f, const struct disk *disk, uint64_t size);
void mutate(struct fuzzer *f, const struct disk *disk, void *args, size_t size);
struct open_file *some_file(struct fuzzer *f);
struct hint *some_buffer(struct fuzzer *f, struct open_file *file);
char *some_memory(struct fuzzer *f);
char *own_memory(struct fuzzer *f);
uint64_t some_blocks(struct fuzzer *f, const struct disk *disk, uint64_t most);
uint64_t some_place(struct fuzzer *f, const struct disk *disk);
void note(struct fuzzer *f, enum kind kind, long result);
void note_call(struct fuzzer *f, enum kind kind, long result);

/* ioctls.c */
void build_transfer(struct fuzzer *f, struct open_file *file, struct chario_transfer *t);
void issue_ioctl(struct fuzzer *f);
void issue_every_ioctl(struct fuzzer *f);

/* files.c */
void open_some(struct fuzzer *f, struct open_file *file);
void use_file(struct fuzzer *f);
void make_every_call(struct fuzzer *f);

/* rings.c */
void use_ring(struct fuzzer *f);
void use_every_ring(struct fuzzer *f);
void end_ring(struct fuzzer *f);

#endif /* FUZZ_FUZZ_H */
