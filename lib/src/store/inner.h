/* SPDX-License-Identifier: LGPL-2.1-or-later OR MIT */
/*
 * A store from the inside.
 *
 * store/layout.c	the header: making a store, finding one, upgrading one
 * store/remains.c	finding one whose header is damaged
 * store/block.c	blocks: checksums, both copies, reading and writing
 * store/note.c		the note of the last changes, and its log
 * store/changes.c	what other processes have changed; changing entries
 * store/index.c	the areas in memory: by name, by place, by slot
 * store/lock.c		who may do what at one time
 * store/fence.c	waiting until no write of a process that has died follows
 * store/store.c		open, close, look up
 * store/areas.c	create, rename, replace, exchange, remove
 * store/attributes.c	the user's own keys and values
 * store/move.c		move an area
 * store/resize.c, store/defrag.c
 * store/check.c, store/check-table.c
 *			damage
 * store/area.c, store/area-io.c	an open area
 */
#ifndef CHARIO_STORE_INNER_H
#define CHARIO_STORE_INNER_H

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include <chario/buffer.h>
#include <chario/check.h>
#include <chario/store.h>

#include "device/pool.h"
#include "store/format.h"

/* Bytes of the buffer of a store: how much of the table is read at a time. */
#define STORE_BUFFER (512U << 10)

/* The first blocks of a copy of the table, of which one says whose a store without a header is. */
#define STORE_TELLING_BLOCKS 128

/**
 * struct store_item - an area in memory
 * @slot: number of its entry in the table
 * @fields: as in the table
 * @name: as in the table, and the attributes behind it; then an empty text
 */
struct store_item {
	uint64_t slot;
	struct store_fields fields;
	char name[];
};

/**
 * struct store_place - a piece of the disk that is taken
 * @offset: of its first byte
 * @bytes: length
 * @item: whose it is
 */
struct store_place {
	uint64_t offset;
	uint64_t bytes;
	struct store_item *item;
};

/**
 * struct store_index - the areas of a store in memory
 * @slots: items by slot, NULL where there is none
 * @nr_slots: of @slots
 * @first_free: no slot below is free
 * @names: a tree of tsearch(3), by name
 * @places: in the order of their offsets
 * @nr_places: of @places
 * @max_places: that there is memory for
 * @nr_items: areas
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
 * struct store_change - what an entry of the table is to be
 * @slot: of the entry
 * @entry: its new content; NULL for none
 */
struct store_change {
	uint64_t slot;
	const struct store_entry *entry;
};

/**
 * struct chario_store - an open store
 * @device: that it is on; its own
 * @writable: opened with O_RDWR
 * @lock_fd: holds the locks of the store, but for the fences
 * @changing: held by the thread that changes the table, around @mutex
 * @mutex: protects all below, and the buffer
 * @pool: memory for blocks
 * @header: as on the disk
 * @index: of the table as it was at @seen
 * @seen: sequence number of the note of changes; 0 for never
 * @nr_logged: entries of @log
 * @log: what the note of changes says that entries are, whatever their blocks say
 * @nr_damaged: blocks that are lost, entries that contradict others
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
	uint64_t nr_damaged;
};

/* Whether the store is of the present format, or of that of the first release. */
static inline bool chario_store_has_log(const struct chario_store *store)
{
	return store->header.read_features & STORE_FEATURE_LOG;
}

/* To a power of two: a division for each area would be most of a search for a hole. */
static inline uint64_t chario_store_round_up(uint64_t number, uint64_t unit)
{
	return (number + unit - 1) & ~(unit - 1);
}

/* What an area of a length has on the disk; one of no bytes has a place, too. */
static inline uint64_t chario_store_extent(uint64_t bytes)
{
	return bytes ? chario_store_round_up(bytes, CHARIO_STORE_BLOCK) : CHARIO_STORE_BLOCK;
}

/* store/block.c */

/* Compute the checksum of a block and put it there. */
void chario_block_seal(void *block);

/* Whether a block has this magic, number and checksum, and is of this store. */
bool chario_block_is_good(const void *block, uint64_t magic, const uint8_t uuid[16],
			  uint64_t number);

/*
 * An error of writing; -EDQUOT where the file system of the file of the store is full:
 * callers would take -ENOSPC for a want of room in the store.
 */
int chario_store_blame(ssize_t err);

/*
 * Move blocks between the disk and the buffer of the store.  Offsets and lengths are
 * multiples of a block.  Return 0 or a negative errno; -EIO for less than asked, and for
 * any error of the place that is read.
 */
int chario_store_pull(struct chario_store *store, uint64_t buffer_offset, uint64_t disk_offset,
		      size_t bytes);
int chario_store_push(struct chario_store *store, uint64_t buffer_offset, uint64_t disk_offset,
		      size_t bytes, unsigned int flags);

/* Have all that has been written to the disk durable. */
int chario_store_sync(const struct chario_store *store);

/* Where a block of the table is: in the first copy, or in the second. */
uint64_t chario_table_offset(const struct store_header *header, uint64_t number, unsigned int copy);

/* Make a sealed block of the table, without entries. */
void chario_table_make_empty(const struct store_header *header, uint64_t number, uint64_t sequence,
			     void *block);

/* The good copy of two, the newer one where both are; NULL where none is. */
const struct store_table *chario_table_choose(const struct store_header *header, uint64_t number,
					      const void *first, const void *second);

/*
 * Read blocks of both copies of the table: the first to the start of the buffer, the
 * second to @second_at in it.  0; -EIO where of some blocks neither is good and one cannot
 * be read, which is all zero then, and the others are there; or an error of the disk.
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
 * Have both copies of a block be the better of them, which chario_table_read() has
 * found.
 */
int chario_table_mend(struct chario_store *store, uint64_t number, const struct store_table *table);

/*
 * Write a block of the table: the first copy, then the second, each durably.  A copy
 * that is damaged or behind is made good before the other one is touched: at no
 * moment is there less than one good copy.  @table is the new content, with a
 * higher sequence number, sealed; @old is what chario_table_read() found.  Where a
 * copy cannot be written, the change is taken back; where that fails too, what is on
 * the disk is the old or the new content.
 */
int chario_table_write(struct chario_store *store, uint64_t number, const struct store_table *table,
		       const struct store_table *old);

/* store/layout.c */

/* Read the header of the store of a device: 0, or as chario_store_open(). */
int chario_layout_read(struct chario_store *store);

/* Whether what a header says can be. */
bool chario_layout_is_sane(const struct store_header *header);

/*
 * 0, or -EPROTO where a header that is good is of a later format.  What else it says is
 * to be looked at only then: it may mean something else there.
 */
int chario_layout_is_known(const struct store_header *header, bool to_write);

/* The header in a block: 0, -ENOMEDIUM, -EUCLEAN, -EPROTO, or an error of reading. */
int chario_layout_read_at(struct chario_store *store, uint64_t offset, struct store_header *header);

/* chario_store_format() on a device that is open, and stays the caller's. */
int chario_store_format_device(struct chario_device *device,
			       const struct chario_store_layout *layout);

/* chario_store_upgrade() of the same. */
int chario_store_upgrade_device(struct chario_device *device);

/* store/remains.c */

/*
 * The header of a store whose first one is damaged: the second one, or what the table says.
 * @why is what reading the first one gave.  0; -EUCLEAN where what there is does not belong
 * together; -ESTALE where the store ends behind the disk; -ENOMEDIUM or @why where there is
 * nothing of a store; -EPROTO; or an error of reading.
 */
int chario_remains_find(struct chario_store *store, uint64_t capacity, int why,
			struct store_header *header);

/* Have a block of the table say what the header says, before it is sealed. */
void chario_remains_leave(const struct store_header *header, struct store_table *table);

/* store/index.c */

int chario_index_init(struct store_index *index, uint64_t nr_slots);
void chario_index_deinit(struct store_index *index);

/*
 * Take up an entry of the table.  Returns 0; -EEXIST for a second area of one name,
 * which is taken up all the same but is not found by name; -ENOMEM.
 */
int chario_index_add(struct store_index *index, uint64_t slot, const struct store_entry *entry);

/* Forget the entry of a slot, if there is one. */
void chario_index_remove(struct store_index *index, uint64_t slot);

/* The area of a name; NULL where there is none. */
struct store_item *chario_index_find(const struct store_index *index, const char *name);

/* The lowest free slot; @nr_slots where there is none. */
uint64_t chario_index_free_slot(struct store_index *index);

/* Areas that have bytes in common: how many pairs of neighbours do. */
uint64_t chario_index_count_overlaps(const struct store_index *index);

/**
 * struct store_hole - a piece of the disk that is free
 * @offset: of its first byte that an area can begin at
 * @bytes: from there
 */
struct store_hole {
	uint64_t offset;
	uint64_t bytes;
};

/*
 * The next hole at or behind a place.  @cursor is the place to begin with, first 0,
 * and is moved on.  Returns false behind the last.
 */
struct store_cursor {
	size_t place;
	uint64_t end;
};
bool chario_index_next_hole(const struct store_index *index, const struct store_header *header,
			    struct store_cursor *cursor, struct store_hole *hole);

/* The smallest hole of so many bytes: 0 or -ENOSPC. */
int chario_index_find_hole(const struct store_index *index, const struct store_header *header,
			   uint64_t bytes, uint64_t *offset);

/* Whether an entry of the table can be: NULL, or what is wrong. */
const char *chario_entry_fault(const struct store_header *header, const struct store_entry *entry);

/* store/attributes.c */

/* Bytes of the name and of the attributes in the field of an entry, each with its NUL. */
size_t chario_label_bytes(const char *label);

/* The attributes alone, and how many bytes they have; an empty text is behind the last. */
size_t chario_label_attributes(const char *label, char attributes[CHARIO_STORE_NAME_MAX + 1]);

/*
 * A name, the attributes @old, and what chario_store_set_attributes() is asked to change in
 * them.  0; -E2BIG where they do not fit; -EINVAL for a change of no key.
 */
int chario_label_make(char *label, const char *name, const char *old, const char *changes);

/* store/note.c */

/*
 * Read the note of the last changes, and take up its log: 0; -EUCLEAN where it is damaged
 * or cannot be read, which only costs time; or an error of the disk.  The functions below are
 * about the note that was read last.  It lies in the fourth block of the buffer: it outlives
 * chario_table_read() and chario_table_write(), and no reading of more than three blocks.
 */
int chario_note_read(struct chario_store *store);

/* Make one in the place of one that is damaged, with a number that nobody can have seen. */
void chario_note_make(struct chario_store *store);

uint64_t chario_note_sequence(struct chario_store *store);

/* Number of the first change that has not ended: that is under way, or the next one. */
uint64_t chario_note_first(struct chario_store *store);

/* The block of a change, and of how many changes it is known. */
uint64_t chario_note_block(struct chario_store *store, uint64_t change);
uint64_t chario_note_kept(const struct chario_store *store);

/* What a note of this store begins with. */
uint64_t chario_note_magic(const struct chario_store *store);

/* Whether a block is one of those of the log. */
bool chario_note_is_logged(const struct chario_store *store, uint64_t number);

/* Have a block say what the log says. */
void chario_note_overlay(const struct chario_store *store, uint64_t number,
			 struct store_table *table);

/*
 * Say durably that a change begins; where it is one of several blocks it has happened then.
 * @changes are in the order of their slots.
 */
int chario_note_begin(struct chario_store *store, const struct store_change *changes,
		      unsigned int nr_changes);

/* Say that it has ended; that others are slow to see it is no failure. */
void chario_note_end(struct chario_store *store);

/* store/changes.c */

/*
 * Take @mutex, to look something up, and have the index be what the table is: 0; or an
 * error, and then @mutex is not taken.  -EPERM in a child of fork(2), where a thread that
 * held it at that moment holds it for ever.
 */
int chario_store_enter(struct chario_store *store);

/* The same, for the first time. */
int chario_store_load(struct chario_store *store);

/*
 * Begin to change the table: locks out other threads and processes, refreshes the
 * index.  Returns 0, with @changing, @mutex and the lock of the table held, or a
 * negative errno and none of them.
 */
int chario_change_begin(struct chario_store *store);
void chario_change_end(struct chario_store *store);

/*
 * Have an entry be this from now on; NULL for none.  Once, between begin and end: where
 * there is no memory for it the index is behind until it is refreshed.
 */
int chario_change_entry(struct chario_store *store, uint64_t slot, const struct store_entry *entry);

/*
 * The same for several entries, STORE_LOGGED_MAX at most: all of them, or none, whatever
 * happens.  -EOPNOTSUPP where they are of several blocks, and the store is of the first
 * release.
 */
int chario_change_entries(struct chario_store *store, const struct store_change *changes,
			  unsigned int nr_changes);

/*
 * Finish a change that was interrupted; after chario_note_read(), and before the next
 * change.
 */
int chario_change_finish(struct chario_store *store);

/* The entry of an item, to be edited. */
void chario_change_copy(const struct store_item *item, struct store_entry *entry);

/* store/lock.c */

enum store_lock {
	STORE_LOCK_QUEUE, /* is the next to have the lock of the table */
	STORE_LOCK_TABLE, /* exclusive: changes the table; shared: checks it; a fence */
	STORE_LOCK_OPEN,  /* shared: has the store open; exclusive: makes a new one */
	STORE_LOCK_AREAS, /* two bytes for each slot */
};

/* Fences of what STORE_LOCK_OPEN is for, and of the areas: a byte for each slot. */
#define STORE_FENCE_OPEN  (1ULL << 32)
#define STORE_FENCE_AREAS (STORE_FENCE_OPEN + 1)

/* Bytes of an area: its writer has the first, all who have it open the second. */
static inline uint64_t chario_lock_writer(uint64_t slot)
{
	return STORE_LOCK_AREAS + 2 * slot;
}

static inline uint64_t chario_lock_users(uint64_t slot)
{
	return STORE_LOCK_AREAS + 2 * slot + 1;
}

/* Open the file of a device once more, for locks: a descriptor or -errno, such as -ESTALE. */
int chario_lock_open(const struct chario_device *device, bool writable);

/* Take a lock or -EBUSY, at once. */
int chario_lock_try(int fd, uint64_t byte, bool exclusive);

/* The same, and wait so long for it. */
int chario_lock_wait(int fd, uint64_t byte, bool exclusive, int64_t ns);
void chario_lock_drop(int fd, uint64_t byte);

/* Close a descriptor, if it is one, and drop all its locks first, unless they are a parent's. */
void chario_lock_close(int fd, bool drop);

/* Whether somebody else has a lock exclusively. */
bool chario_lock_is_held(int fd, uint64_t byte);

/* store/fence.c */

/*
 * Take a fence or -EBUSY: at once; or wait until nothing of a process that has died follows,
 * as long as that can take.
 */
int chario_fence_try(const struct chario_device *device, uint64_t byte, bool exclusive);
int chario_fence_take(const struct chario_device *device, uint64_t byte, bool exclusive);
void chario_fence_drop(const struct chario_device *device, uint64_t byte);

/* Whether somebody else has it, who may be dead. */
bool chario_fence_is_held(const struct chario_device *device, uint64_t byte);

/*
 * Drop a fence once nothing that was written behind it follows.  Where the drive does not let
 * go of that for too long, the fence goes with the last of it.
 */
void chario_fence_lower(const struct chario_device *device, uint64_t byte);

/*
 * Take the lock of the table in turn, or -EBUSY: where it was not one's turn for 10 s,
 * and then somebody has held the lock for longer than the writes of a process that has
 * died can be on their way, and for 10 s at least.
 */
int chario_fence_take_table(const struct chario_device *device, int lock_fd, bool exclusive);

/* store/store.c */

/* @label: the name, and the attributes behind it. */
void chario_store_fill_info(const struct store_fields *fields, const char *label,
			    struct chario_area_info *info);
uint64_t chario_store_now(void);

/* store/areas.c */

/* Whether an area may have a name: 0, -EINVAL or -ENAMETOOLONG. */
int chario_store_check_name(const char *name);

/*
 * The entry of an item that gets another name, and keeps its attributes; without any, it gets
 * those of @old.  0, or -E2BIG.
 */
int chario_store_give_name(const struct store_item *item, const char *name,
			   const struct store_item *old, struct store_entry *entry);

/* store/check.c */

/* chario_store_check() of a device that is open, and stays the caller's. */
int chario_store_check_device(struct chario_device *device, unsigned int flags,
			      chario_finding_visit *visit, void *data);

/* store/move.c */

/**
 * struct store_move - an area that is being moved
 * @store: whose
 * @slot: of the area, which nobody has open
 * @progress: is told, or NULL
 * @data: is handed to it
 * @done_bytes: that have been copied
 * @total_bytes: that are to be
 */
struct store_move {
	struct chario_store *store;
	uint64_t slot;
	chario_store_progress *progress;
	void *data;
	uint64_t done_bytes;
	uint64_t total_bytes;
};

/* Say in the table that an area lies at @offset, nothing of it yet.  Between begin and end. */
int chario_move_begin(struct chario_store *store, uint64_t slot, uint64_t offset);

/* Copy until all of it does; also goes on with a move that was interrupted. */
int chario_move_run(struct store_move *move);

#endif /* CHARIO_STORE_INNER_H */
