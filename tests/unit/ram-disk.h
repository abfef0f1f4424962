/* SPDX-License-Identifier: MIT */
/*
 * A disk in memory with a volatile write cache, for tests of what a power cut leaves.
 * It notes all writes and flushes, holds writes back, and fails.
 */
#ifndef CHARIO_RAM_DISK_H
#define CHARIO_RAM_DISK_H

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

#include <chario/device.h>

#define RAM_SECTOR 512U

/* struct ram_event - a write or a flush that has ended */
struct ram_event {
	bool flush;
	bool fua;
	uint64_t offset;
	uint32_t bytes;
	size_t begun; /* events that had ended when it began */
	unsigned char *data;
};

struct ram_disk {
	pthread_mutex_t lock;
	pthread_cond_t changed;
	unsigned char *image;
	size_t bytes;
	bool cached;
	bool noting;
	struct ram_event *events;
	size_t nr_events;
	size_t room;
	/* Writes that begin in this range wait until it is empty. */
	uint64_t hold_from;
	uint64_t hold_to;
	unsigned int held;
	/* The next writes, or flushes, to fail, and how. */
	unsigned int failing;
	unsigned int failing_flushes;
	int error;
	uint64_t reads;
	/* More reads than these end the program: it hangs.  0 for no limit. */
	uint64_t most_reads;
};

/* Make a disk of the content of a file; locks are taken on that file. */
void ram_init(struct ram_disk *disk, const char *path, bool cached);
void ram_deinit(struct ram_disk *disk);

/* Open it; the device does not own it. */
struct chario_device *ram_open(struct ram_disk *disk, const char *path);

/* Hold writes to a range back, nothing with two zeros; and wait for some. */
void ram_hold(struct ram_disk *disk, uint64_t from, uint64_t to);
void ram_wait_held(struct ram_disk *disk, unsigned int held);

size_t ram_nr_events(struct ram_disk *disk);

#endif /* CHARIO_RAM_DISK_H */
