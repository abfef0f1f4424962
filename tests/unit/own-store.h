/* SPDX-License-Identifier: MIT */
/*
 * The store of a test, on a disk in memory.
 */
#ifndef CHARIO_OWN_STORE_H
#define CHARIO_OWN_STORE_H

#include "store-rig.h"

static struct log_disk *disk;
static struct chario_store *store;

static inline void make_own_store(uint64_t bytes, uint32_t block_bytes, uint32_t max_areas)
{
	const struct chario_store_layout layout = { .size = sizeof(layout),
						    .max_areas = max_areas };

	disk = rig_begin(bytes, block_bytes, &layout, &store);
}

static inline void drop_own_store(void)
{
	chario_store_close(store);
	store = NULL;
	log_disk_destroy(disk);
}

#endif /* CHARIO_OWN_STORE_H */
