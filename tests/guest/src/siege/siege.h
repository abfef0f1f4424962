/* SPDX-License-Identifier: MIT */
/*
 * What the files of the siege share: seats, what their items hold, and how all is counted.
 */
#ifndef SIEGE_SIEGE_H
#define SIEGE_SIEGE_H

#include <liburing.h>
#include <linux/aio_abi.h>

#include "../common.h"

#define DISKS   2
#define WORKERS 4
#define THREADS 3
#define SEATS   (WORKERS * THREADS)

#define PAGE 4096ul
#define PLACE_BYTES \
	(1ul << 20) /* of the disk, for each seat: its area, and what it uses for copies */
#define AREA_BYTES   (PLACE_BYTES / 2)
#define MOST_BYTES   (256ul << 10) /* of one call */
#define MEMORY_BYTES (MOST_BYTES + 2 * PAGE)
#define ITEMS        1024
#define PIECES       8
#define ERRORS       134

/**
 * enum area - how an area is cut into items
 * @AREA_BLOCKS: an item is a logical block
 * @AREA_BYTES_ALONE: each block is cut into three items at odd places; the file is of any size
 * @AREA_BYTES_FIRST: two of the three; another process has the third
 * @AREA_BYTES_LAST: the third of an area of AREA_BYTES_FIRST
 */
enum area { AREA_BLOCKS, AREA_BYTES_ALONE, AREA_BYTES_FIRST, AREA_BYTES_LAST };

enum way {
	WAY_PLAIN,
	WAY_VECTOR,
	WAY_HIPRI,
	WAY_DSYNC,
	WAY_NOWAIT,
	WAY_AIO,
	WAY_RING,
	WAY_RING_FIXED,
	WAY_RING_POLLED,
	WAY_RING_POLLED_FIXED,
	WAY_TRANSFER,
	WAY_TRANSFER_POLLED,
	WAY_TRANSFER_FUA,
	WAY_COMMAND_128,
	WAY_COMMAND_64,
	WAY_COMMAND_POLLED_128,
	WAY_COMMAND_POLLED_64,
	WAY_PARTS,
	WAY_PARTS_DSYNC,
	WAY_PARTS_SHARED,
	WAY_FSYNC,
	WAYS,
};

enum kind {
	KIND_REGISTERED,
	KIND_SOURCE,
	KIND_POOL,
	KIND_WINDOW,
	KIND_DMABUF,
	KIND_INSIDE, /* controller memory of the drive */
	KIND_PEER,   /* that of the other drive */
	KINDS,
};

enum memory {
	MEMORY_HEAP,
	MEMORY_ODD,   /* begins anywhere in a page */
	MEMORY_SHARED,   /* of a memfd */
	MEMORY_UNTOUCHED, /* its pages are not there yet */
	MEMORY_FORKED,   /* a child has it too */
	MEMORY_LATE,   /* pages come when the handler lets them, or never */
	MEMORY_GUARDED,   /* its last page cannot be used */
	MEMORIES,
};

enum mode { MODE_IRQ, MODE_POLL, MODE_SPIN, MODE_OWN_QUEUE, MODE_OWN_POLLED, MODE_HURRIED, MODES };

enum event {
	EVENT_KILLED,
	EVENT_ENDED,
	EVENT_REOPENED,
	EVENT_GONE,
	EVENT_FAULT,
	EVENT_LATE_PAGE,
	EVENT_NO_PAGE,
	EVENT_FORK,
	EVENT_UNCERTAIN,
	EVENT_NOT_LANDED,
	EVENT_UNDEFINED,
	EVENTS,
};

/**
 * struct item - what the disk holds of an item
 * @sure: generation that was written last, or read when nothing was on its way
 * @may: generation of a write that is on its way or whose end is not known, else @sure
 */
struct item {
	uint32_t sure;
	uint32_t may;
};

/** struct tally - successes of each way, kind of buffer, memory and mode; and what has happened */
struct tally {
	uint64_t ways[WAYS];
	uint64_t kinds[KINDS];
	uint64_t memories[MEMORIES];
	uint64_t modes[MODES];
	uint64_t events[EVENTS];
	uint64_t errors[ERRORS];
};

/** struct shared - what outlives a process */
struct shared {
	struct item items[SEATS][ITEMS];
	uint32_t generation[SEATS];
	uint64_t turns[WORKERS]; /* of the process that has the seats now */
	bool stop[WORKERS];  /* ask it to end by itself */
	struct tally tally;
};

struct buffer {
	uint32_t id; /* 0: there is none */
	char *memory;
	int fd; /* of the dma-buf; of the file whose memory it is */
};

struct op;

/**
 * struct seat - a thread, its area of a disk, and what it moves data with
 * @shown: what reads of this open file must give, where it has written and not synced
 */
struct seat {
	struct shared *shared;
	struct item *items;
	unsigned int number;
	unsigned int worker;
	enum area area;
	const char *address;
	const char *peer_address; /* of the first drive, where this is the other one */
	uint64_t window;
	uint64_t step; /* alignment of memory */
	uint64_t offset;
	uint32_t block;
	uint32_t nr_items;
	uint64_t random;

	const struct op *op; /* the last one */
	int fd;
	char node[64];
	enum mode mode;
	bool own_queue;
	uint32_t shown[ITEMS];

	char *memories[MEMORIES];
	char *late_source;
	char *check;
	char *fixed;
	struct io_uring rings[6];
	bool ring_made[6];
	aio_context_t aio;
	struct buffer buffers[KINDS];
	char peer_node[64];
	int peer; /* the other drive's disk, where KIND_PEER is of it */
	pid_t child;
};

/** struct piece - a run of items and what became of it */
struct piece {
	uint32_t first;
	uint32_t count;
	uint64_t disk_offset;
	uint32_t bytes;
	char *memory;
	long result;
};

/** struct op - one call, or several that are submitted together */
struct op {
	enum way way;
	enum memory memory;
	enum kind kind;
	bool write;
	bool is_undefined; /* nobody knows what memory inside a drive held */
	uint32_t nr;
	struct piece pieces[PIECES];
};

typedef void run_fn(struct seat *s, struct op *op);

extern struct shared *shared;
extern uint64_t window_address;
extern bool has_dmabufs, has_userfaultfd, has_peers;

_Noreturn __attribute__((format(printf, 2, 3))) void wrong(const struct seat *s, const char *format,
							   ...);
void count(uint64_t *counter);
bool chance(struct seat *s, uint64_t one_in);
uint64_t below(struct seat *s, uint64_t limit);

/* items.c */
void item_place(const struct seat *s, uint32_t item, uint64_t *offset, uint32_t *bytes);
void item_fill(const struct seat *s, uint32_t item, uint32_t generation, char *to);
void item_check(const struct seat *s, uint32_t item, const char *memory);
void item_adopt(struct seat *s, uint32_t item, const char *memory);
uint32_t item_begin_write(struct seat *s, uint32_t item);
void item_end_write(struct seat *s, uint32_t item);
void items_read(struct seat *s, uint32_t first, uint32_t last, const char *memory, bool adopt);

/* file.c */
bool is_mine_to_stop(const struct seat *s);
void file_open(struct seat *s);
void file_close_and_open(struct seat *s);
void file_set_mode(struct seat *s);
bool file_is_parts(const struct seat *s);
int file_sync(struct seat *s);
void file_recover(struct seat *s);
void file_check_all(struct seat *s);
int open_disk(const char *address, char node[64], int *error);

/* memory.c */
void memory_make(struct seat *s);
void memory_watch(struct seat *seats);
char *memory_prepare(struct seat *s, enum memory memory, size_t bytes);
char *memory_data(const struct seat *s, enum memory memory, char *at);
void memory_close(const struct seat *s, enum memory memory, bool write);
void memory_join(struct seat *s);

/* calls.c, rings.c, buffers.c */
void run_call(struct seat *s, struct op *op);
void run_aio(struct seat *s, struct op *op);
void run_ring(struct seat *s, struct op *op);
void run_command(struct seat *s, struct op *op);
void run_transfer(struct seat *s, struct op *op);
void transfer_of(const struct seat *s, const struct op *op, const struct piece *p,
		 struct chario_transfer *t);
bool buffer_have(struct seat *s, enum kind kind);
void buffer_drop(struct seat *s, enum kind kind);
void buffers_wait_idle(struct seat *s);
void buffers_forget(struct seat *s);
void buffer_copy(struct seat *s, struct op *op, run_fn *run);

/* turns.c */
void live(struct seat *s);

#endif /* SIEGE_SIEGE_H */
