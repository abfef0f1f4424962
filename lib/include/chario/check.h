/* SPDX-License-Identifier: LGPL-2.1-or-later OR MIT */
/*
 * A check of a store: finds and names every kind of damage of its table.
 *
 * The check does not read the content of areas: recordings have checksums of their own.
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
 * @CHARIO_DAMAGE_HEADERS: both copies of the header are damaged, or the second is that
 *	of another store, and the table cannot replace them: the store cannot be opened
 * @CHARIO_DAMAGE_BLOCK: one copy of a block of the table is damaged
 * @CHARIO_DAMAGE_BLOCKS: both copies of a block of the table are damaged: its areas
 *	are lost
 * @CHARIO_DAMAGE_BEHIND: the second copy of a block is older than the first, which a
 *	power cut in the middle of a change causes
 * @CHARIO_DAMAGE_CHANGES: the note of the last changes is damaged; if it cannot be read,
 *	this is more than a note, because a change in it may not be finished
 * @CHARIO_DAMAGE_ENTRY: an entry has an impossible value
 * @CHARIO_DAMAGE_RANGE: an area lies, or is moved from, outside the space for areas, or
 *	does not begin at a multiple of 4096
 * @CHARIO_DAMAGE_OVERLAP: two areas have the same bytes of the disk
 * @CHARIO_DAMAGE_NAME: two areas have the same name
 * @CHARIO_DAMAGE_MOVE: a move of an area was interrupted; this is a fact rather than
 *	damage
 * @CHARIO_DAMAGE_GAP: a block is used, but a block before it claims that neither it
 *	nor any block behind it was ever used: the areas of the used block are not found
 * @CHARIO_DAMAGE_NEWER: an entry has flags of a later release, or the header has bits
 *	that only a later release writes; this release cannot tell if anything is damaged
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
 * enum chario_severity - the severity of damage
 * @CHARIO_SEVERITY_NOTE: nothing is wrong; the next change of the table corrects it
 * @CHARIO_SEVERITY_REPAIRABLE: nothing is lost, but further damage would lose
 *	something
 * @CHARIO_SEVERITY_LOSS: something is lost, or two areas contradict each other
 * @CHARIO_SEVERITY_UNKNOWN: only a later release can tell
 */
enum chario_severity {
	CHARIO_SEVERITY_NOTE = 1,
	CHARIO_SEVERITY_REPAIRABLE,
	CHARIO_SEVERITY_LOSS,
	CHARIO_SEVERITY_UNKNOWN,
};

/**
 * struct chario_finding - damage that was found
 * @size: sizeof(struct chario_finding)
 * @damage: &enum chario_damage
 * @severity: &enum chario_severity
 * @copy: number of the copy, 1 or 2; 0 if not applicable
 * @block: number of the block of the table; 0 if not applicable
 * @offset: offset of the damaged block or of the area on the disk in bytes
 * @repaired: 1 if the damage has been repaired
 * @reserved: zero
 * @name: name of the area, or empty; ends with a NUL
 * @other: name of the other area, else empty; ends with a NUL
 * @text: description in one sentence; ends with a NUL
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
 * chario_finding_visit - function called for each damage
 * @finding: the damage, valid during the call
 * @data: the caller's argument
 *
 * Return: 0 to go on; anything else ends the check and is its result.
 */
typedef int chario_finding_visit(const struct chario_finding *finding, void *data);

/* Flags of chario_store_check(). */
#define CHARIO_CHECK_REPAIR (1U << 0) /* repair damage that can be repaired safely */
#define CHARIO_CHECK_FORGET (1U << 1) /* give up the areas of blocks that are lost */

/**
 * chario_store_check() - look for damage
 * @name: name of a disk, a block device or a file, see chario_store_open()
 * @flags: CHARIO_CHECK_* bits, or 0
 * @visit: function called for each damage
 * @data: argument of @visit
 *
 * CHARIO_CHECK_REPAIR overwrites a damaged or older copy with the good one, rebuilds the
 * header from the table if both copies are damaged, marks a block as used if a block behind
 * it is used, finishes an interrupted change, and replaces a note of the last changes that
 * cannot be read: if a change in it was not finished, it never will be.  If both copies of a block are damaged,
 * or areas contradict each other, nothing is changed, because a program cannot decide which
 * one is right.  CHARIO_CHECK_FORGET in addition empties a block of which both copies are
 * damaged, and the space of its areas becomes free; if both copies are good and differ, the
 * first remains.  Nothing is written to a store that has an entry of a later release.
 *
 * Context: may sleep.
 * Return: number of damages left that are more than a note, 0 if all is well; the result of
 * @visit; -ENOMEDIUM if there is no trace of a store; -EBUSY if CHARIO_CHECK_REPAIR is set
 * and the store is open, if the store is being made or repaired, or if the lock of the
 * table could not be had, see chario_store_create(); -ESTALE if the disk is smaller than
 * the store; -EPROTO if the format is newer than the library, or CHARIO_CHECK_REPAIR is set
 * and only a newer library can write the store; -EINVAL if @flags has other bits;
 * -EOPNOTSUPP if the logical block of the disk is longer than 4096; -ENOMEM; -EROFS; and
 * the errors of chario_device_open_any(), pread(2) and pwrite(2).
 */
int chario_store_check(const char *name, unsigned int flags, chario_finding_visit *visit,
		       void *data);

/**
 * chario_damage_name() - the name of a kind of damage
 * @damage: &enum chario_damage
 *
 * Return: "block" and so on; NULL if @damage is unknown.
 */
const char *chario_damage_name(uint32_t damage);

#ifdef __cplusplus
}
#endif

#endif /* CHARIO_CHECK_H */
