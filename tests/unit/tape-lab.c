// SPDX-License-Identifier: MIT
#include "tape-lab.h"

#include "store/inner.h"
#include "tap.h"

static char path[] = "/tmp/chario-tape-XXXXXX";

static const struct chario_store_layout layout = { .size = sizeof(layout), .max_areas = 10 };

/* What a store with one area needs besides the area. */
#define STORE_BYTES ((uint64_t)64 << 10)

static void make_area(struct chario_store *store, uint64_t area_bytes)
{
	tap_need(!chario_store_create(store, LAB_AREA, area_bytes, 0), "no area");
	chario_store_close(store);
}

const char *lab_make_file(uint64_t area_bytes)
{
	struct chario_store *store;
	int fd;

	strcpy(path, "/tmp/chario-tape-XXXXXX");
	fd = mkstemp(path);
	tap_need(fd >= 0 && !ftruncate(fd, (off_t)(area_bytes + STORE_BYTES)), "no file in /tmp");
	close(fd);
	tap_need(!chario_store_format(path, &layout), "no store");
	tap_need(!chario_store_open(path, O_RDWR, &store), "the store does not open");
	make_area(store, area_bytes);
	return path;
}

void lab_remove_file(void)
{
	unlink(path);
}

uint64_t lab_area_offset(struct chario_store *store)
{
	struct chario_area_info info = { 0 };

	tap_need(!chario_store_find(store, LAB_AREA, &info, sizeof(info)), "the area is gone");
	return info.offset;
}

struct log_disk *lab_make_disk(uint64_t area_bytes, bool cached)
{
	struct log_disk *disk = log_disk_create(area_bytes + STORE_BYTES, LAB_SECTOR);
	struct chario_device *device;

	tap_need(disk, "no disk in memory");
	disk->alignment_bytes = 64;
	disk->uncached = !cached;
	/* A record that is read after its buffer has gone is to be met. */
	disk->has_spare = false;
	device = log_disk_open(disk, O_RDWR);
	tap_need(!chario_store_format_device(device, &layout), "no store");
	chario_device_close(device);
	make_area(lab_open_store(disk), area_bytes);
	return disk;
}

struct chario_store *lab_open_store(struct log_disk *disk)
{
	struct chario_store *store = NULL;

	tap_need(!chario_store_open_device(log_disk_open(disk, O_RDWR), O_RDWR, &store),
		 "no store in memory");
	return store;
}

uint64_t lab_mix(uint64_t x)
{
	return log_random(&x);
}

void lab_fill(void *memory, size_t bytes, uint64_t sequence)
{
	uint64_t word = lab_mix(sequence);
	unsigned char *to = memory;

	for (size_t i = 0; i < bytes; i++, word = word * 5 + 1)
		to[i] = (unsigned char)(word >> 56);
}

bool lab_is(const void *memory, size_t bytes, uint64_t sequence)
{
	uint64_t word = lab_mix(sequence);
	const unsigned char *is = memory;

	for (size_t i = 0; i < bytes; i++, word = word * 5 + 1)
		if (is[i] != (unsigned char)(word >> 56))
			return false;
	return true;
}

int lab_write(struct chario_stream *stream, uint64_t sequence, size_t bytes)
{
	unsigned char *memory = malloc(bytes);
	int err;

	lab_fill(memory, bytes, sequence);
	err = chario_stream_write(stream, memory, bytes, sequence + 1, 0, -1);
	free(memory);
	return err;
}
