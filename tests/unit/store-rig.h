/* SPDX-License-Identifier: MIT */
/*
 * Stores on disks in memory: making, opening and checking them in a test.
 */
#ifndef CHARIO_STORE_RIG_H
#define CHARIO_STORE_RIG_H

#include <stdbool.h>

#include <chario/check.h>
#include <chario/store.h>

#include "log-device.h"

int rig_format(struct log_disk *disk, const struct chario_store_layout *layout);
int rig_open(struct log_disk *disk, int flags, struct chario_store **store);

/* A store on a new disk, open for writing; ends the program where that cannot be had. */
struct log_disk *rig_begin(uint64_t bytes, uint32_t block_bytes,
			   const struct chario_store_layout *layout, struct chario_store **store);

/* What a store says of an area; all zero where it has none of that name. */
struct chario_area_info rig_info(struct chario_store *store, const char *name);

/* Areas that a store has, or a negative errno. */
int rig_count_areas(struct chario_store *store);

/* Make so many areas of one length: "area-0", "area-1" and so on. */
int rig_create_areas(struct chario_store *store, int count, uint64_t bytes);

/* Write to an area with O_RDWR, or read from it with O_RDONLY; -EIO where not all is moved. */
int rig_move(struct chario_store *store, const char *name, int flags, void *memory, size_t bytes,
	     uint64_t offset);

/**
 * struct rig_findings - what a check has found
 * @bad: that is more than a note and was not put right
 * @repaired: that was put right
 * @notes: that are not
 * @last: the last of them
 * @is_said: they are printed, but for notes
 */
struct rig_findings {
	unsigned int bad;
	unsigned int repaired;
	unsigned int notes;
	struct chario_finding last;
	bool is_said;
};

/* What chario_store_check() gives; @findings may be NULL. */
int rig_check(struct log_disk *disk, unsigned int flags, struct rig_findings *findings);

/* Whether a check finds nothing but notes, or not even these; it prints what it finds. */
bool rig_is_clean(struct log_disk *disk);
bool rig_is_finished(struct log_disk *disk);

/* A change that leaves all as it was: of a new area, or of what there is. */
int rig_change(struct chario_store *store);

#endif /* CHARIO_STORE_RIG_H */
