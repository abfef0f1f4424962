// SPDX-License-Identifier: MIT
#include "tape-lab.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static char path[] = "/tmp/chario-tape-XXXXXX";

static void must(bool condition, const char *what)
{
	if (condition)
		return;
	printf("Bail out! %s\n", what);
	exit(1);
}

const char *lab_make_file(uint64_t area_bytes)
{
	const struct chario_store_layout layout = { .size = sizeof(layout), .max_areas = 10 };
	struct chario_store *store;
	int fd;

	strcpy(path, "/tmp/chario-tape-XXXXXX");
	fd = mkstemp(path);
	must(fd >= 0 && !ftruncate(fd, (off_t)(area_bytes + (64 << 10))), "no file in /tmp");
	close(fd);
	must(!chario_store_format(path, &layout), "no store");
	must(!chario_store_open(path, O_RDWR, &store), "the store does not open");
	must(!chario_store_create(store, LAB_AREA, area_bytes, 0), "no area");
	chario_store_close(store);
	return path;
}

void lab_remove_file(void)
{
	unlink(path);
}

uint64_t lab_area_offset(struct chario_store *store)
{
	struct chario_area_info info = { 0 };

	must(!chario_store_find(store, LAB_AREA, &info, sizeof(info)), "the area is gone");
	return info.offset;
}

struct chario_store *lab_open_store(struct ram_disk *disk)
{
	struct chario_store *store = NULL;

	must(!chario_store_open_device(ram_open(disk, path), O_RDWR, &store), "no store in memory");
	return store;
}

uint64_t lab_mix(uint64_t x)
{
	x += 0x9e3779b97f4a7c15;
	x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9;
	x = (x ^ (x >> 27)) * 0x94d049bb133111eb;
	return x ^ (x >> 31);
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
