/* SPDX-License-Identifier: MIT */
/*
 * Everything that can be done with a store, done with whatever is on a disk.
 */
#ifndef CHARIO_STORE_EXERCISE_H
#define CHARIO_STORE_EXERCISE_H

#include <stdbool.h>
#include <stdint.h>

#include "log-device.h"

/*
 * Read, check, change, repair and change again.  Says what contradicts itself: a
 * store that a check finds nothing wrong with opens for writing, and what its
 * changes leave has nothing wrong either.
 */
bool exercise_disk(struct log_disk *disk, uint64_t *random);

/* Compute the checksums of all blocks that begin like blocks of a store. */
void exercise_seal(unsigned char *image, uint64_t bytes);

#endif /* CHARIO_STORE_EXERCISE_H */
