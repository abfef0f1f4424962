/* SPDX-License-Identifier: MIT */
/*
 * What store-model.c and store-model-changes.c share.
 */
#ifndef CHARIO_STORE_MODEL_INNER_H
#define CHARIO_STORE_MODEL_INNER_H

#include "store-model.h"

#define MODEL_BYTES (MODEL_SECTORS * MODEL_SECTOR)

/* Say what is wrong, and be -EPROTO. */
int model_wrong(const char *format, ...) __attribute__((__format__(__printf__, 1, 2)));

/* Sectors of an area that are whole. */
static inline size_t model_sectors(const struct model_area *area)
{
	return (size_t)(area->info.bytes / MODEL_SECTOR);
}

/* What a sector holds after a write. */
void model_fill_sector(uint64_t *words, uint32_t tag, size_t sector, uint16_t number);

#endif /* CHARIO_STORE_MODEL_INNER_H */
