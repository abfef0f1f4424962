/* SPDX-License-Identifier: MIT */
/*
 * What tests of recordings share: a store with one area, and records whose content
 * follows from their number.
 */
#ifndef CHARIO_TAPE_LAB_H
#define CHARIO_TAPE_LAB_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <chario/reader.h>
#include <chario/store.h>
#include <chario/stream.h>

#include "log-device.h"

#define LAB_AREA   "camera"
#define LAB_SECTOR 512U

/* Make a file with a store and an area of so many bytes; its path. */
const char *lab_make_file(uint64_t area_bytes);
void lab_remove_file(void);

/* A disk in memory with such a store, with or without a volatile cache. */
struct log_disk *lab_make_disk(uint64_t area_bytes, bool cached);

/* Where the area begins on the disk. */
uint64_t lab_area_offset(struct chario_store *store);

/* Open the store of a disk in memory. */
struct chario_store *lab_open_store(struct log_disk *disk);

/* A number that depends on nothing but @x, as one of log_random() on its state. */
uint64_t lab_mix(uint64_t x);

/* Fill memory with the content of a record, or see whether it has that. */
void lab_fill(void *memory, size_t bytes, uint64_t sequence);
bool lab_is(const void *memory, size_t bytes, uint64_t sequence);

/* Record the record of a number; 0 or the error. */
int lab_write(struct chario_stream *stream, uint64_t sequence, size_t bytes);

#endif /* CHARIO_TAPE_LAB_H */
