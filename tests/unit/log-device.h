/* SPDX-License-Identifier: MIT */
/*
 * A disk in memory that remembers every write and flush, holds writes back, and fails:
 *
 *	log-device.c	the disk, the devices on it, and what it remembers
 *	log-buffers.c	memory of their buffers
 *	log-faults.c	what fails, and what waits
 *	log-cuts.h	the disk as a power cut at any moment could have left it
 *
 * Several devices may be open on one disk, each as a process of its own would
 * have it: the locks of a store are those of an empty file that stands for the
 * disk.  A read sees all writes that have ended before it.
 */
#ifndef CHARIO_LOG_DEVICE_H
#define CHARIO_LOG_DEVICE_H

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <chario/device.h>

/**
 * struct log_entry - a write or a flush that has ended
 * @offset: of the first byte that was written
 * @bytes: that were written; 0 for a flush
 * @durable: the write was durable before it was reported as done
 * @begun: entries that there were when it began: what a flush covers
 * @data: what was written, NULL for a flush
 */
struct log_entry {
	uint64_t offset;
	size_t bytes;
	bool durable;
	size_t begun;
	unsigned char *data;
};

/* What fails from some time on fails always. */
#define LOG_FOR_EVER UINT64_MAX

/**
 * struct log_fault - transfers of a kind that fail
 * @after: that go well before
 * @times: that fail then; 0 for none, LOG_FOR_EVER for all
 */
struct log_fault {
	uint64_t after;
	uint64_t times;
};

/**
 * enum log_reach - what of a write that fails has reached the disk all the same
 * @LOG_REACH_NONE: nothing
 * @LOG_REACH_PART: of the blocks that it changes the first half; nothing of one block,
 *	which is never torn
 * @LOG_REACH_ALL: all of it
 */
enum log_reach {
	LOG_REACH_NONE,
	LOG_REACH_PART,
	LOG_REACH_ALL,
};

/* Places that are bad at a time. */
#define LOG_BAD_PLACES 4

/**
 * struct log_place - bytes of a disk that cannot be read until they are written
 * @offset: of the first
 * @bytes: how many; 0 for none
 */
struct log_place {
	uint64_t offset;
	size_t bytes;
};

/**
 * struct log_faults - what fails
 * @read: reads
 * @write: writes and flushes, counted together
 * @flush: flushes, besides
 * @use: uses of a device, counted together: what it is asked, memory made or handed over,
 *	and transfers
 * @one_in: transfers of which one fails, whichever; 0 for none
 * @random: says whichever
 * @reach: what a write that fails leaves
 * @bad: what cannot be read
 * @error: what a transfer that fails gives
 */
struct log_faults {
	struct log_fault read;
	struct log_fault write;
	struct log_fault flush;
	struct log_fault use;
	uint64_t one_in;
	uint64_t random;
	enum log_reach reach;
	struct log_place bad[LOG_BAD_PLACES];
	int error;
};

struct log_spare;

/**
 * struct log_disk - a disk
 * @mutex: protects all below
 * @changed: of the mutex: writes are held back, or no longer
 * @image: its bytes as a read sees them
 * @bytes: how many
 * @block_bytes: of a logical block, which is never torn
 * @alignment_bytes: of memory
 * @uncached: a write that is done is durable
 * @incoherent: memory is handed over between processor and device
 * @nr_failed: uses that have failed because of &log_faults.use
 * @path: of the file that stands for it
 * @recording: writes and flushes are remembered
 * @before: its bytes when the recording began
 * @entries: what was recorded
 * @nr_entries: how many
 * @max_entries: that there is room for
 * @nr_reads: transfers, flushes apart
 * @most_reads: more end the program, which hangs; 0 for no limit
 * @nr_writes: transfers
 * @nr_flushes: and writes that were durable
 * @faults: what fails
 * @hold_from: writes that begin here or behind it wait
 * @hold_to: up to here
 * @nr_held: that do
 * @slow_one_in: writes and flushes of which one, by @slow_random, lets others pass; 0 for
 *	none
 * @slow_random: says which
 * @most_locked: bytes of buffers that may be there at a time; 0 for no limit
 * @locked: bytes of buffers that are there
 * @has_spare: memory of buffers that are freed is kept for the next
 * @spare: that memory
 */
struct log_disk {
	pthread_mutex_t mutex;
	pthread_cond_t changed;
	unsigned char *image;
	uint64_t bytes;
	uint32_t block_bytes;
	uint32_t alignment_bytes;
	bool uncached;
	bool incoherent;
	uint64_t nr_failed;
	char path[64];
	bool recording;
	unsigned char *before;
	struct log_entry *entries;
	size_t nr_entries;
	size_t max_entries;
	uint64_t nr_reads;
	uint64_t most_reads;
	uint64_t nr_writes;
	uint64_t nr_flushes;
	struct log_faults faults;
	uint64_t hold_from;
	uint64_t hold_to;
	unsigned int nr_held;
	uint64_t slow_one_in;
	uint64_t slow_random;
	uint64_t most_locked;
	uint64_t locked;
	bool has_spare;
	struct log_spare *spare;
};

/* A disk of zeroes; NULL, and errno, where there is none to be had. */
struct log_disk *log_disk_create(uint64_t bytes, uint32_t block_bytes);
void log_disk_destroy(struct log_disk *disk);

/* A device on it, opened O_RDONLY or O_RDWR; the disk outlives it. */
struct chario_device *log_disk_open(struct log_disk *disk, int access);

/* Forget what was recorded, and record from here on. */
void log_disk_record(struct log_disk *disk);

/* Entries that there are by now, while others may be writing. */
size_t log_disk_nr_entries(struct log_disk *disk);

/* No more failures. */
void log_disk_heal(struct log_disk *disk);

/* Hold writes that begin in a range back, none where it is empty; and wait for some. */
void log_disk_hold(struct log_disk *disk, uint64_t from, uint64_t to);
void log_disk_wait_held(struct log_disk *disk, unsigned int held);

/* The next number of a sequence that its first state decides; never of the time. */
uint64_t log_random(uint64_t *state);

/* A number below @limit, which is not 0. */
uint64_t log_below(uint64_t *state, uint64_t limit);

#endif /* CHARIO_LOG_DEVICE_H */
