/* SPDX-License-Identifier: MIT */
/*
 * What tests of recordings share: a store with one area, and records whose content
 * follows from their number.
 */
#ifndef CHARIO_TAPE_LAB_H
#define CHARIO_TAPE_LAB_H

#include <chario/reader.h>
#include <chario/store.h>
#include <chario/stream.h>

#include "log-device.h"
#include "store/inner.h"
#include "tap.h"

#define LAB_AREA   "camera"
#define LAB_SECTOR 512U

static char lab_path[] = "/tmp/chario-tape-XXXXXX";

static const struct chario_store_layout lab_layout = { .size = sizeof(lab_layout),
						       .max_areas = 10 };

/* What a store with one area needs besides the area. */
#define LAB_STORE_BYTES ((uint64_t)64 << 10)

static inline void lab_make_area(struct chario_store *store, uint64_t area_bytes)
{
	tap_need(!chario_store_create(store, LAB_AREA, area_bytes, 0), "no area");
	chario_store_close(store);
}

/* Make a file with a store and an area of so many bytes; its path. */
static inline const char *lab_make_file(uint64_t area_bytes)
{
	struct chario_store *store;
	int fd;

	strcpy(lab_path, "/tmp/chario-tape-XXXXXX");
	fd = mkstemp(lab_path);
	tap_need(fd >= 0 && !ftruncate(fd, (off_t)(area_bytes + LAB_STORE_BYTES)),
		 "no file in /tmp");
	close(fd);
	tap_need(!chario_store_format(lab_path, &lab_layout), "no store");
	tap_need(!chario_store_open(lab_path, O_RDWR, &store), "the store does not open");
	lab_make_area(store, area_bytes);
	return lab_path;
}

static inline void lab_remove_file(void)
{
	unlink(lab_path);
}

/* Where the area begins on the disk. */
static inline uint64_t lab_area_offset(struct chario_store *store)
{
	struct chario_area_info info = { 0 };

	tap_need(!chario_store_find(store, LAB_AREA, &info, sizeof(info)), "the area is gone");
	return info.offset;
}

/* Open the store of a disk in memory. */
static inline struct chario_store *lab_open_store(struct log_disk *disk)
{
	struct chario_store *store = NULL;

	tap_need(!chario_store_open_device(log_disk_open(disk, O_RDWR), O_RDWR, &store),
		 "no store in memory");
	return store;
}

/* A disk in memory with such a store, with or without a volatile cache. */
static inline struct log_disk *lab_make_disk(uint64_t area_bytes, bool cached)
{
	struct log_disk *disk = log_disk_create(area_bytes + LAB_STORE_BYTES, LAB_SECTOR);
	struct chario_device *device;

	tap_need(disk, "no disk in memory");
	disk->alignment_bytes = 64;
	disk->uncached = !cached;
	/* A record that is read after its buffer has gone is to be met. */
	disk->has_spare = false;
	device = log_disk_open(disk, O_RDWR);
	tap_need(!chario_store_format_device(device, &lab_layout), "no store");
	chario_device_close(device);
	lab_make_area(lab_open_store(disk), area_bytes);
	return disk;
}

/* A number that depends on nothing but @x, as one of log_random() on its state. */
static inline uint64_t lab_mix(uint64_t x)
{
	return log_random(&x);
}

/* Fill memory with the content of a record, or see whether it has that. */
static inline void lab_fill(void *memory, size_t bytes, uint64_t sequence)
{
	uint64_t word = lab_mix(sequence);
	unsigned char *to = memory;

	for (size_t i = 0; i < bytes; i++, word = word * 5 + 1)
		to[i] = (unsigned char)(word >> 56);
}

static inline bool lab_is(const void *memory, size_t bytes, uint64_t sequence)
{
	uint64_t word = lab_mix(sequence);
	const unsigned char *is = memory;

	for (size_t i = 0; i < bytes; i++, word = word * 5 + 1)
		if (is[i] != (unsigned char)(word >> 56))
			return false;
	return true;
}

/* Record the record of a number; 0 or the error. */
static inline int lab_write(struct chario_stream *stream, uint64_t sequence, size_t bytes)
{
	unsigned char *memory = malloc(bytes);
	int err;

	lab_fill(memory, bytes, sequence);
	err = chario_stream_write(stream, memory, bytes, sequence + 1, 0, -1);
	free(memory);
	return err;
}

#endif /* CHARIO_TAPE_LAB_H */
