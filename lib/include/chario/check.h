/* SPDX-License-Identifier: LGPL-2.1-or-later OR MIT */
/*
 * A check of a store: finds and names every kind of damage of its table.
 *
 * The content of areas is not looked at: recordings have checksums of their own.
 */
#ifndef CHARIO_CHECK_H
#define CHARIO_CHECK_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/**
 * enum chario_damage - a kind of damage
 * @CHARIO_DAMAGE_HEADER: one copy of the header of the store is damaged
 * @CHARIO_DAMAGE_HEADERS: both are, or the second one is of another store, and the
 *	table does not say what they said: the store cannot be opened
 * @CHARIO_DAMAGE_BLOCK: one copy of a block of the table is damaged
 * @CHARIO_DAMAGE_BLOCKS: both copies of a block are: its areas are lost
 * @CHARIO_DAMAGE_BEHIND: the second copy of a block is older than the first, as a
 *	power cut in the middle of a change leaves it
 * @CHARIO_DAMAGE_CHANGES: the note of the last changes is damaged
 * @CHARIO_DAMAGE_ENTRY: an entry has a value that none can have
 * @CHARIO_DAMAGE_RANGE: an area lies, or is moved from, outside the space for areas, or
 *	does not begin at a multiple of 4096
 * @CHARIO_DAMAGE_OVERLAP: two areas have the same bytes of the disk
 * @CHARIO_DAMAGE_NAME: two areas have the same name
 * @CHARIO_DAMAGE_MOVE: a move of an area was interrupted; a fact rather than damage
 * @CHARIO_DAMAGE_GAP: a block is used, and one before it says that neither it nor any
 *	behind it ever was: its areas are not found
 * @CHARIO_DAMAGE_NEWER: an entry has flags of a later release, or the header has bits
 *	of what only a later release writes; no damage that is known
 */
enum chario_damage {
	CHARIO_DAMAGE_HEADER = 1,
	CHARIO_DAMAGE_HEADERS,
	CHARIO_DAMAGE_BLOCK,
	CHARIO_DAMAGE_BLOCKS,
	CHARIO_DAMAGE_BEHIND,
	CHARIO_DAMAGE_CHANGES,
	CHARIO_DAMAGE_ENTRY,
	CHARIO_DAMAGE_RANGE,
	CHARIO_DAMAGE_OVERLAP,
	CHARIO_DAMAGE_NAME,
	CHARIO_DAMAGE_MOVE,
	CHARIO_DAMAGE_GAP,
	CHARIO_DAMAGE_NEWER,
};

/**
 * enum chario_severity - how bad it is
 * @CHARIO_SEVERITY_NOTE: nothing is wrong; the next change puts it right
 * @CHARIO_SEVERITY_REPAIRABLE: nothing is lost, but it would be at the next damage
 * @CHARIO_SEVERITY_LOSS: something is lost, or two areas contradict each other
 * @CHARIO_SEVERITY_UNKNOWN: only a later release can say
 */
enum chario_severity {
	CHARIO_SEVERITY_NOTE = 1,
	CHARIO_SEVERITY_REPAIRABLE,
	CHARIO_SEVERITY_LOSS,
	CHARIO_SEVERITY_UNKNOWN,
};

/**
 * struct chario_finding - a damage that has been found
 * @size: sizeof(struct chario_finding)
 * @damage: &enum chario_damage
 * @severity: &enum chario_severity
 * @copy: 1 or 2: which copy; 0 where that means nothing
 * @block: number of the block of the table; 0 where that means nothing
 * @offset: on the disk, of the damaged block, or of the area
 * @repaired: 1 when it has been put right
 * @reserved: zero
 * @name: of the area, else empty; ends with a NUL
 * @other: name of the other area, else empty; ends with a NUL
 * @text: what is wrong, one sentence; ends with a NUL
 */
struct chario_finding {
	uint32_t size;
	uint32_t damage;
	uint32_t severity;
	uint32_t copy;
	uint64_t block;
	uint64_t offset;
	uint32_t repaired;
	uint32_t reserved;
	char name[256];
	char other[256];
	char text[256];
};

/**
 * chario_finding_visit - is called for a damage
 * @finding: valid during the call
 * @data: as given
 *
 * Return: 0 to go on; anything else ends the check and is its result.
 */
typedef int chario_finding_visit(const struct chario_finding *finding, void *data);

/* Flags of chario_store_check(). */
#define CHARIO_CHECK_REPAIR (1U << 0) /* put right what is safe to put right */
#define CHARIO_CHECK_FORGET (1U << 1) /* give up the areas of blocks that are lost */

/**
 * chario_store_check() - look for damage
 * @name: of a disk, a block device or a file, as for chario_store_open()
 * @flags: CHARIO_CHECK_* bits, or 0
 * @visit: is called for each damage
 * @data: is handed to it
 *
 * With CHARIO_CHECK_REPAIR a damaged or older copy is written anew from the good
 * one, a header of which both copies are damaged from what the table says, and a block
 * that counts as never used counts as used where one behind it is; a change that was
 * interrupted is finished.  Where both copies of a block are damaged, or areas contradict
 * each other, nothing is touched: which one is right is not for a program to say.  With
 * CHARIO_CHECK_FORGET
 * too, a block of which both copies are damaged becomes empty, and what its areas
 * had is free; where both are good and differ, the first is what remains.  Nothing is
 * written to a store that has an entry of a later release.
 *
 * Context: may sleep.
 * Return: how many damages are left that are more than a note: 0 where all is
 * well; what @visit returned; -ENOMEDIUM where there is no trace of a store; -EBUSY
 * where CHARIO_CHECK_REPAIR is set and the store is open, where it is being made or
 * repaired, or where the lock of the table was not to be had, as for
 * chario_store_create(); -ESTALE where the disk is
 * smaller than the store; -EPROTO where the format is newer than the library, or it is
 * to be repaired and has what only a newer one can write; -EINVAL where @flags has
 * other bits;
 * -EOPNOTSUPP where the logical block of the disk is longer than 4096; -ENOMEM; -EROFS;
 * and the errors of chario_device_open_any(), pread(2) and pwrite(2).
 */
int chario_store_check(const char *name, unsigned int flags, chario_finding_visit *visit,
		       void *data);

/**
 * chario_damage_name() - the word for a kind of damage
 * @damage: &enum chario_damage
 *
 * Return: "block" and so on, NULL for one that is not known.
 */
const char *chario_damage_name(uint32_t damage);

#ifdef __cplusplus
}
#endif

#endif /* CHARIO_CHECK_H */
