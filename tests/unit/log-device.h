/* SPDX-License-Identifier: MIT */
/*
 * A disk in memory that remembers every write, so that a test can have the
 * disk as a power cut at any moment could have left it.
 *
 * Several devices may be open on one disk, each as a process of its own would
 * have it: the locks of a store are those of an empty file that stands for the
 * disk.  A read sees all writes before it.
 */
#ifndef CHARIO_LOG_DEVICE_H
#define CHARIO_LOG_DEVICE_H

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <chario/device.h>

/**
 * struct log_entry - a write or a flush
 * @offset: of the first byte that was written
 * @bytes: that were written; 0 for a flush
 * @durable: the write was durable before it was reported as done
 * @data: what was written, NULL for a flush
 */
struct log_entry {
	uint64_t offset;
	size_t bytes;
	bool durable;
	unsigned char *data;
};

struct log_spare;

/**
 * struct log_disk - a disk in memory
 * @mutex: protects all below
 * @image: its bytes as a read sees them
 * @bytes: how many
 * @block_bytes: of a logical block, which is never torn
 * @path: of the file that stands for it
 * @recording: writes are remembered
 * @before: its bytes when the recording began
 * @entries: what was recorded
 * @nr_entries: how many
 * @max_entries: that there is room for
 * @nr_reads: transfers, flushes apart
 * @nr_writes: transfers
 * @nr_flushes: and writes that were durable
 * @fail_write: writes until one fails; -1 for never
 * @fail_read: reads until one fails; -1 for never
 * @fail_for_ever: all behind that one fail too
 * @fail_one_in: transfers of which one fails, whichever; 0 for none
 * @random: says whichever
 * @fail_torn: a write that fails has reached the disk in part
 * @spare: memory of buffers that were freed, for the next
 */
struct log_disk {
	pthread_mutex_t mutex;
	unsigned char *image;
	uint64_t bytes;
	uint32_t block_bytes;
	char path[64];
	bool recording;
	unsigned char *before;
	struct log_entry *entries;
	size_t nr_entries;
	size_t max_entries;
	uint64_t nr_reads;
	uint64_t nr_writes;
	uint64_t nr_flushes;
	int64_t fail_write;
	int64_t fail_read;
	bool fail_for_ever;
	uint64_t fail_one_in;
	uint64_t random;
	bool fail_torn;
	struct log_spare *spare;
};

/* A disk of zeroes; NULL, and errno, where there is none to be had. */
struct log_disk *log_disk_create(uint64_t bytes, uint32_t block_bytes);
void log_disk_destroy(struct log_disk *disk);

/* A device on it, opened O_RDONLY or O_RDWR; the disk outlives it. */
struct chario_device *log_disk_open(struct log_disk *disk, int access);

/* Forget what was recorded, and record from here on. */
void log_disk_record(struct log_disk *disk);

/* No more failures. */
void log_disk_heal(struct log_disk *disk);

/**
 * enum log_cut - what a power cut leaves of the writes that were not durable
 * @LOG_CUT_ALL: all that had been reported as done
 * @LOG_CUT_NONE: nothing
 * @LOG_CUT_SOME: each write is there or not
 * @LOG_CUT_TORN: the same, and one of them is there in part: its first blocks, its
 *	last, or some
 * @LOG_CUT_MIXED: each block is as any of the writes left it
 */
enum log_cut {
	LOG_CUT_ALL,
	LOG_CUT_NONE,
	LOG_CUT_SOME,
	LOG_CUT_TORN,
	LOG_CUT_MIXED,
	LOG_CUTS,
};

/**
 * struct log_replay - the disk at one moment after another
 * @disk: whose recording
 * @at: entries that have been reported as done
 * @durable_at: of those, up to the last flush
 * @durable: the disk as the last flush left it
 */
struct log_replay {
	const struct log_disk *disk;
	size_t at;
	size_t durable_at;
	unsigned char *durable;
};

void log_replay_init(struct log_replay *replay, const struct log_disk *disk);
void log_replay_deinit(struct log_replay *replay);

/* One entry more has been reported as done. */
void log_replay_advance(struct log_replay *replay);

/*
 * Have an image be what a cut at this moment leaves; the entry behind is under
 * way.  Whatever @random gives, writes that were durable, or followed by a
 * flush, are there.
 */
void log_replay_cut(const struct log_replay *replay, enum log_cut cut, uint64_t *random,
		    unsigned char *image);

/* The next number of a sequence that its first state decides; never of the time. */
uint64_t log_random(uint64_t *state);

/* A number below @limit, which is not 0. */
uint64_t log_below(uint64_t *state, uint64_t limit);

#endif /* CHARIO_LOG_DEVICE_H */
