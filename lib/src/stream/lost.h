/* SPDX-License-Identifier: LGPL-2.1-or-later OR MIT */
/* Records that the producer lost, as headers of batches and the table tell. */
#ifndef CHARIO_LOST_H
#define CHARIO_LOST_H

#include <stdint.h>

#include "stream/tape.h"

/* Returns the number of records lost in a batch.  Rooms that were given back have numbers as well. */
uint64_t chario_lost_in_batch(const struct chario_disk_batch *batch);

/* Returns the number of records that the producer had lost when a batch began. */
uint64_t chario_lost_before_batch(const struct chario_disk_batch *batch);

/*
 * Returns the number of records lost behind a place, up to the end in the table: numbers that no
 * record has.  A full area has no room for a batch that tells of them.  @sequence is the next
 * number at the place, and @records the number of records before it.
 */
uint64_t chario_lost_before_end(const struct store_end *end, uint64_t sequence, uint64_t records);

/* Returns the number of records lost before a recording goes on behind its head or its end. */
uint64_t chario_lost_before_head(const struct chario_head *head, const struct store_end *end);

#endif /* CHARIO_LOST_H */
