/* SPDX-License-Identifier: MIT */
/*
 * A store of some areas that is damaged: on a disk in memory, what it was before, and
 * where its metadata are.
 */
#ifndef CHARIO_STORE_WRECK_H
#define CHARIO_STORE_WRECK_H

#include <stddef.h>
#include <stdint.h>

#include "store/inner.h"
#include "store-rig.h"

#define WRECK_BYTES  (1U << 20)
#define WRECK_AREAS  25
#define WRECK_BLOCKS 5

/* Blocks of the table's copies, the note, the headers. */
#define WRECK_METADATA (2 * WRECK_BLOCKS + 3)

#define BLOCK CHARIO_STORE_BLOCK

/**
 * struct wreck - the store
 * @disk: that it is on
 * @whole: the disk without damage
 * @older: the disk before the last change of each block of the table
 * @seed: that @random began with, of the environment
 * @random: decides what is damaged
 * @findings: of the last check
 */
struct wreck {
	struct log_disk *disk;
	unsigned char *whole;
	unsigned char *older;
	uint64_t seed;
	uint64_t random;
	struct rig_findings findings;
};

extern struct wreck wreck;
extern const struct chario_store_layout wreck_layout;

/* Before and after each test. */
void wreck_begin(void);
void wreck_end(void);

/* Have the disk be whole again. */
void wreck_mend(void);

/* Repair as well what costs areas. */
#define WRECK_FORGET (CHARIO_CHECK_REPAIR | CHARIO_CHECK_FORGET)

int wreck_check(unsigned int flags);

/* Claim that a check finds so much, and this damage last. */
#define WRECK_FINDS(flags, number, kind, is_as_bad)             \
	do {                                                    \
		EQUAL(wreck_check(flags), number);              \
		EQUAL(wreck.findings.last.damage, kind);        \
		EQUAL(wreck.findings.last.severity, is_as_bad); \
	} while (0)

/* A number below @limit. */
uint64_t wreck_below(uint64_t limit);

/* Where a block of metadata is, and where its other copy is. */
uint64_t wreck_offset(size_t i);
uint64_t wreck_other_copy(uint64_t offset);

/* Areas that there are for who opens the store so, or a negative errno. */
int wreck_count_areas(int flags);

#endif /* CHARIO_STORE_WRECK_H */
