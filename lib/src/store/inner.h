/* SPDX-License-Identifier: LGPL-2.1-or-later OR MIT */
/*
 * The internals of a store.
 *
 * store/layout.c	the header: making a store, finding one, upgrading one
 * store/remains.c	finding a store whose header is damaged
 * store/block.c	blocks: checksums, both copies, reading and writing
 * store/note.c		the note of the last changes, and its log
 * store/changes.c	changes of other processes; changing entries
 * store/index.c	the areas in memory: by name, by place, by slot
 * store/lock.c		locks
 * store/fence.c	waiting for the last write of a dead process
 * store/store.c		open, close, look up
 * store/areas.c	create, rename, replace, exchange, remove
 * store/attributes.c	the user's own keys and values
 * store/move.c		move an area, see store/move.h
 * store/resize.c, store/defrag.c
 * store/check.c, store/check-table.c
 *			damage
 * store/area.c, store/area-io.c	an open area
 */
#ifndef CHARIO_STORE_INNER_H
#define CHARIO_STORE_INNER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/param.h>
#include <sys/types.h>

#include <chario/buffer.h>
#include <chario/check.h>
#include <chario/store.h>

#include "device/pool.h"
#include "store/format.h"
#include "system/scope.h"

/* Bytes of a store's buffer, which is also the part of the table that is read at a time. */
#define STORE_BUFFER (512U << 10)

/*
 * Number of first blocks in a copy of the table, one of which identifies a store without a
 * header.
 */
#define STORE_TELLING_BLOCKS 128

/**
 * struct store_item - an area in memory
 * @slot: number of the entry in the table
 * @fields: fields of the entry
 * @name: name, the attributes behind it, and an empty text
 */
struct store_item {
	uint64_t slot;
	struct store_fields fields;
	char name[];
};

/**
 * struct store_place - a used piece of the disk
 * @offset: offset of its first byte
 * @bytes: length in bytes
 * @item: area that uses it
 */
struct store_place {
	uint64_t offset;
	uint64_t bytes;
	struct store_item *item;
};

/**
 * struct store_index - the areas of a store in memory
 * @slots: items by slot, NULL for a free slot
 * @nr_slots: number of @slots
 * @first_free: number below which no slot is free
 * @names: a tree of tsearch(3), by name
 * @places: used places in the order of their offsets
 * @nr_places: number of @places
 * @max_places: number of places that there is memory for
 * @nr_items: number of areas
 */
struct store_index {
	struct store_item **slots;
	uint64_t nr_slots;
	uint64_t first_free;
	void *names;
	struct store_place *places;
	size_t nr_places;
	size_t max_places;
	uint64_t nr_items;
};

/**
 * struct store_change - the new content of an entry of the table
 * @slot: number of the entry
 * @entry: new content; NULL to remove the entry
 */
struct store_change {
	uint64_t slot;
	const struct store_entry *entry;
};

/**
 * struct chario_store - an open store
 * @device: device of the store, owned by it
 * @writable: true if opened with O_RDWR
 * @lock_fd: descriptor that holds the locks of the store, except the fences
 * @changing: lock of the thread that changes the table, taken before @mutex
 * @mutex: lock of all members below and of the buffer
 * @pool: memory for blocks
 * @header: header as on the disk
 * @index: index of the table as it was at @seen
 * @seen: sequence number of the note at the last look; 0 before the first
 * @nr_logged: number of entries in @log
 * @log: entries in the note of changes, which override those in the blocks
 * @unfinished: true if a change was under way when the note was read last, or had been
 *	interrupted
 * @nr_damaged: number of lost blocks and of entries that contradict others
 */
struct chario_store {
	struct chario_device *device;
	bool writable;
	int lock_fd;
	pthread_mutex_t changing;
	pthread_mutex_t mutex;
	struct chario_pool pool;
	struct store_header header;
	struct store_index index;
	uint64_t seen;
	unsigned int nr_logged;
	struct store_logged log[STORE_LOGGED_MAX];
	bool unfinished;
	uint64_t nr_damaged;
};

/* Returns whether the store has the present format, not that of the first release. */
static inline bool chario_store_has_log(const struct chario_store *store)
{
	return store->header.read_features & STORE_FEATURE_LOG;
}

/* Units are powers of two: divisions would take most of the time of a search for a hole. */
static inline uint64_t chario_store_round_up(uint64_t number, uint64_t unit)
{
	return (number + unit - 1) & ~(unit - 1);
}

/* Returns the space of an area on the disk in bytes; an area of no bytes has a place, too. */
static inline uint64_t chario_store_extent(uint64_t bytes)
{
	return bytes ? chario_store_round_up(bytes, CHARIO_STORE_BLOCK) : CHARIO_STORE_BLOCK;
}

/* store/block.c */

/* Compute the checksum of a block and store it in the block. */
void chario_block_seal(void *block);

/*
 * Returns whether a block has this magic and number, a good checksum, and belongs to this
 * store.
 */
bool chario_block_is_good(const void *block, uint64_t magic, const uint8_t uuid[16],
			  uint64_t number);

/*
 * Translate an error of writing.  -EDQUOT stands for a full file system under the store's
 * file: callers would take -ENOSPC for a full store.
 */
int chario_store_blame(ssize_t err);

/*
 * Move blocks between the disk and the buffer of the store.  Offsets and lengths are
 * multiples of a block.  Return 0 or a negative errno; -EIO for fewer bytes than asked and
 * for any error of the place that is read.
 */
int chario_store_pull(struct chario_store *store, uint64_t buffer_offset, uint64_t disk_offset,
		      size_t bytes);
int chario_store_push(struct chario_store *store, uint64_t buffer_offset, uint64_t disk_offset,
		      size_t bytes, unsigned int flags);

/* Write a block durably, by way of the end of the buffer. */
int chario_block_put(struct chario_store *store, uint64_t offset, const void *block);

/* Make all written data durable. */
int chario_store_sync(const struct chario_store *store);

/* Returns the offset of a block of the table on the disk, in the first or the second copy. */
uint64_t chario_table_offset(const struct store_header *header, uint64_t number, unsigned int copy);

/* Make a sealed block of the table, without entries. */
void chario_table_make_empty(const struct store_header *header, uint64_t number, uint64_t sequence,
			     void *block);

/* The good copy of two, the newer one where both are; NULL where none is. */
const struct store_table *chario_table_choose(const struct store_header *header, uint64_t number,
					      const void *first, const void *second);

/*
 * Read blocks of both copies of the table: the first to the start of the buffer, the second
 * to @second_at in it.  Returns 0 or an error of the disk.  -EIO means that of some blocks
 * neither copy is good and one cannot be read; such a copy is all zero then, and the other
 * blocks are valid.
 */
int chario_table_pull(struct chario_store *store, uint64_t number, uint64_t nr_blocks,
		      uint64_t second_at);

/*
 * Read a block of the table.  Afterwards its copies are in the buffer at 0 and
 * CHARIO_STORE_BLOCK.  Returns 0, -EUCLEAN, or an error of reading.
 */
int chario_table_read(struct chario_store *store, uint64_t number,
		      const struct store_table **table);

/*
 * Read a block whose change has been interrupted, so that one copy may be newer.  Like
 * chario_table_read(), but a copy that cannot be read is tried several times.
 */
int chario_table_read_interrupted(struct chario_store *store, uint64_t number,
				  const struct store_table **table);

/*
 * Write the better copy of a block, which chario_table_read() or chario_table_read_interrupted()
 * has found, over the other one if they differ.
 */
int chario_table_mend(struct chario_store *store, uint64_t number, const struct store_table *table);

/*
 * Write a block of the table: the first copy, then the second, each durably.  A copy that
 * is damaged or behind is made good before the other one is touched: so at least one copy
 * is good at all times.  @table is the new content, with a higher sequence number, sealed;
 * @old is what chario_table_read() found.  If a copy cannot be written, the change is
 * taken back; if that fails too, the disk has the old or the new content.
 */
int chario_table_write(struct chario_store *store, uint64_t number, const struct store_table *table,
		       const struct store_table *old);

/* store/layout.c */

/*
 * Get the info of a device that has a store or is to get one, its capacity in whole blocks.
 * Returns 0, an error of the device, or -EOPNOTSUPP if its logical blocks are too long.
 */
int chario_layout_measure(const struct chario_store *store, struct chario_info *info);

/* Read the header of the store of a device.  Returns 0 or the errors of chario_store_open(). */
int chario_layout_read(struct chario_store *store);

/*
 * Make the header of a store for a device; @layout is NULL for the usual one.  Returns 0,
 * -EINVAL if the layout is not possible, -ENOSPC if the device is too small, or -EIO.
 */
int chario_layout_plan(struct store_header *header, const struct chario_store_layout *layout,
		       const struct chario_info *info);

/* Returns whether the values of a header are possible. */
bool chario_layout_is_sane(const struct store_header *header);

/*
 * Returns 0, or -EPROTO if a good header has a later format.  Call this before reading
 * other fields, whose meaning may differ in a later format.
 */
int chario_layout_is_known(const struct store_header *header, bool to_write);

/*
 * Read the header in a block.  Returns 0, -ENOMEDIUM, -EUCLEAN, -EPROTO, or an error of
 * reading.
 */
int chario_layout_read_at(struct chario_store *store, uint64_t offset, struct store_header *header);

/* Does chario_store_format() on an open device, which stays the caller's. */
int chario_store_format_device(struct chario_device *device,
			       const struct chario_store_layout *layout);

/* Does chario_store_upgrade() on an open device, which stays the caller's. */
int chario_store_upgrade_device(struct chario_device *device);

/* store/remains.c */

/*
 * Find the header of a store whose first header is damaged: the second one, or one rebuilt
 * from the table.  @why is the error of reading the first one.  Returns 0; -EUCLEAN if the
 * remains do not belong together; -ESTALE if the store ends behind the disk; -ENOMEDIUM or
 * @why if there are no remains of a store; -EPROTO; or an error of reading.
 */
int chario_remains_find(struct chario_store *store, uint64_t capacity, int why,
			struct store_header *header);

/* Copy the data of the header into a block of the table, before it is sealed. */
void chario_remains_leave(const struct store_header *header, struct store_table *table);

/* store/index.c */

int chario_index_init(struct store_index *index, uint64_t nr_slots);
void chario_index_deinit(struct store_index *index);

/*
 * Add an entry of the table.  Returns 0; -ENOMEM; or -EEXIST for a second area of the same
 * name, which is added all the same but is not found by name.
 */
int chario_index_add(struct store_index *index, uint64_t slot, const struct store_entry *entry);

/* Remove the entry of a slot, if there is one. */
void chario_index_remove(struct store_index *index, uint64_t slot);

/* Find an area by name.  Returns NULL if there is none. */
struct store_item *chario_index_find(const struct store_index *index, const char *name);

/* Returns the lowest free slot; @nr_slots if none is free. */
uint64_t chario_index_free_slot(struct store_index *index);

/*
 * Visit the neighbours on the disk that have bytes in common.  Returns 0, or the first other
 * result of the visitor.
 */
typedef int store_overlap_visit(const struct store_place *one, const struct store_place *other,
				void *data);
int chario_index_each_overlap(const struct store_index *index, store_overlap_visit *visit,
			      void *data);

/**
 * struct store_hole - a free piece of the disk
 * @offset: offset of the first byte that an area can begin at
 * @bytes: bytes from @offset on
 */
struct store_hole {
	uint64_t offset;
	uint64_t bytes;
};

/*
 * Find the next hole.  @cursor is the place to search from, zero at first, and is advanced.
 * Returns false behind the last hole.
 */
struct store_cursor {
	size_t place;
	uint64_t end;
};
bool chario_index_next_hole(const struct store_index *index, const struct store_header *header,
			    struct store_cursor *cursor, struct store_hole *hole);

/* Find the smallest hole of at least @bytes.  Returns 0 or -ENOSPC. */
int chario_index_find_hole(const struct store_index *index, const struct store_header *header,
			   uint64_t bytes, uint64_t *offset);

/* Returns a text that says what is wrong with an entry of the table; NULL if nothing is. */
const char *chario_entry_fault(const struct store_header *header, const struct store_entry *entry);

/* store/attributes.c */

/*
 * Returns the bytes of the name and of the attributes in the field of an entry, each with
 * its NUL.
 */
size_t chario_label_bytes(const char *label);

/* Copy the attributes alone, with an empty text behind the last.  Returns their bytes. */
size_t chario_label_attributes(const char *label, char attributes[CHARIO_STORE_NAME_MAX + 1]);

/*
 * Make a label of a name and of the attributes @old after @changes, see
 * chario_store_set_attributes().  Returns 0; -E2BIG if the attributes do not fit; -EINVAL
 * for a change without a key.
 */
int chario_label_make(char *label, const char *name, const char *old, const char *changes);

/* store/note.c */

/*
 * Read the note of the last changes and keep its log.  Returns 0; -EUCLEAN if the note is
 * damaged, which only costs time; or an error of the disk, after which the log of the last
 * reading stays.  The functions below work on the note that was read last.  The note lies in the fourth block of the
 * buffer: it survives chario_table_read() and chario_table_write(), but no reading of more
 * than three blocks.
 */
int chario_note_read(struct chario_store *store);

/* Make an empty note with an even sequence number, such as one that nobody has seen. */
void chario_note_make(struct chario_store *store, uint64_t sequence);

/*
 * Write the note of a new store durably, which also flushes the disk.  Its sequence number is
 * 2, because zero stands for a note that has never been read.
 */
int chario_note_renew(struct chario_store *store);

uint64_t chario_note_sequence(struct chario_store *store);

/*
 * Returns the number of the first change that has not ended: the one under way, or the next
 * one.
 */
uint64_t chario_note_first(struct chario_store *store);

/*
 * Returns the block of a change; chario_note_kept() returns the number of changes whose
 * block is known.
 */
uint64_t chario_note_block(struct chario_store *store, uint64_t change);
uint64_t chario_note_kept(const struct chario_store *store);

/* Returns whether the log has entries of a block. */
bool chario_note_is_logged(const struct chario_store *store, uint64_t number);

/* Replace the entries of a block by those of the log. */
void chario_note_overlay(const struct chario_store *store, uint64_t number,
			 struct store_table *table);

/*
 * Record durably that a change begins.  A change of several blocks has happened from then
 * on.  @changes are in the order of their slots.
 */
int chario_note_begin(struct chario_store *store, const struct store_change *changes,
		      unsigned int nr_changes);

/* Record that the change has ended.  A failure only makes other processes read more. */
void chario_note_end(struct chario_store *store);

/* store/changes.c */

/*
 * Take @mutex for a lookup, and refresh the index from the table.  Returns 0 and holds
 * @mutex, or returns a negative errno and does not.  In a child of fork(2) the error is
 * -EPERM: a thread that held @mutex at the fork would hold it for ever.
 */
int chario_store_enter(struct chario_store *store);

/* Build the index from the whole table.  The caller holds @mutex, or opens the store. */
int chario_store_load(struct chario_store *store);

/*
 * Begin to change the table: lock out other threads and processes, finish a change that was
 * interrupted, and refresh the index.  Returns 0 and holds @changing, @mutex and the lock of the table, or returns a negative
 * errno and holds none.
 */
int chario_change_begin(struct chario_store *store);
void chario_change_end(struct chario_store *store);

static inline void chario_change_leave(struct chario_store **store)
{
	chario_change_end(*store);
}

/* End a change, which has begun, at the end of the scope. */
#define STORE_CHANGED(store) \
	struct chario_store *changed_ CHARIO_SCOPED(chario_change_leave) = (store)

/*
 * Write an entry; NULL removes it.  Call this once between begin and end: if memory runs
 * out, the index stays behind the table until it is refreshed.
 */
int chario_change_entry(struct chario_store *store, uint64_t slot, const struct store_entry *entry);

/*
 * Write an entry or two of different slots: all or none, whatever happens.  Returns
 * -EOPNOTSUPP if they are in several blocks of a store of the first release.
 */
int chario_change_entries(struct chario_store *store, const struct store_change *changes,
			  unsigned int nr_changes);

/*
 * Finish a change that was interrupted.  Call this after chario_note_read() and before the
 * next change.  An error leaves the change as it is.
 */
int chario_change_finish(struct chario_store *store);

/* Make an entry of an item, to be edited. */
void chario_change_copy(const struct store_item *item, struct store_entry *entry);

/* store/lock.c */

enum store_lock {
	STORE_LOCK_QUEUE, /* held by the next to get the lock of the table */
	STORE_LOCK_TABLE, /* exclusive: changes the table; shared: checks it; a fence */
	STORE_LOCK_OPEN,  /* exclusive: makes a new store; shared: has the store open */
	STORE_LOCK_AREAS, /* two bytes for each slot */
};

/* Fences for STORE_LOCK_OPEN and for the areas, with a byte for each slot. */
#define STORE_FENCE_OPEN  (1ULL << 32)
#define STORE_FENCE_AREAS (STORE_FENCE_OPEN + 1)

/* Bytes of an area: its writer locks the first, all who have it open lock the second. */
static inline uint64_t chario_lock_writer(uint64_t slot)
{
	return STORE_LOCK_AREAS + 2 * slot;
}

static inline uint64_t chario_lock_users(uint64_t slot)
{
	return STORE_LOCK_AREAS + 2 * slot + 1;
}

/*
 * Open the file of a device once more, for locks.  Returns a descriptor or a negative
 * errno, such as -ESTALE.
 */
int chario_lock_open(const struct chario_device *device, bool writable);

/* Take a lock without waiting.  Returns -EBUSY if others hold it. */
int chario_lock_try(int fd, uint64_t byte, bool exclusive);

/* Take a lock; wait up to @ns nanoseconds. */
int chario_lock_wait(int fd, uint64_t byte, bool exclusive, int64_t ns);
void chario_lock_drop(int fd, uint64_t byte);

/*
 * Close a descriptor, unless it is negative.  Drop all its locks first if @drop, which is
 * false for a parent's locks.
 */
void chario_lock_close(int fd, bool drop);

/* Returns whether another open file has a lock exclusively. */
bool chario_lock_is_held(int fd, uint64_t byte);

/* store/fence.c */

/*
 * Take a fence.  chario_fence_try() returns -EBUSY if others hold it; chario_fence_take()
 * waits for the writes of a dead process as long as these can take, then returns -EBUSY.
 */
int chario_fence_try(const struct chario_device *device, uint64_t byte, bool exclusive);
int chario_fence_take(const struct chario_device *device, uint64_t byte, bool exclusive);
void chario_fence_drop(const struct chario_device *device, uint64_t byte);

/* Returns whether another open file has the fence exclusively; its process may be dead. */
bool chario_fence_is_held(const struct chario_device *device, uint64_t byte);

/*
 * Drop a fence once no write made behind it can follow.  If the drive holds on to writes
 * for too long, the fence stays until the last of them ends.
 */
void chario_fence_lower(const struct chario_device *device, uint64_t byte);

/*
 * Take the lock of the table in turn.  Returns -EBUSY after waiting 10 s for the turn, and
 * then for the lock for as long as writes of a dead process can be under way, and at least
 * 10 s.
 */
int chario_fence_take_table(const struct chario_device *device, int lock_fd, bool exclusive);

/* store/store.c */

/*
 * Lock a store, alone or with others, take its fence if asked to, and make its buffer.  After
 * an error the caller gives back what it has got all the same.
 */
int chario_store_take(struct chario_store *store, bool alone, bool fenced);

/* Fill in the info of an area.  @label is its name and the attributes behind it. */
void chario_store_fill_info(const struct store_fields *fields, const char *label,
			    struct chario_area_info *info);
uint64_t chario_store_now(void);

/* store/areas.c */

/* Check a name for an area.  Returns 0, -EINVAL or -ENAMETOOLONG. */
int chario_store_check_name(const char *name);

/*
 * Make the entry of an item that gets another name.  The item keeps its attributes; if it
 * has none, it gets those of @old.  Returns 0 or -E2BIG.
 */
int chario_store_give_name(const struct store_item *item, const char *name,
			   const struct store_item *old, struct store_entry *entry);

/* store/check.c */

/* Does chario_store_check() on an open device, which stays the caller's. */
int chario_store_check_device(struct chario_device *device, unsigned int flags,
			      chario_finding_visit *visit, void *data);

#endif /* CHARIO_STORE_INNER_H */
