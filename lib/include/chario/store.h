/* SPDX-License-Identifier: LGPL-2.1-or-later OR MIT */
/*
 * A store: named, contiguous areas on a disk, a block device or a plain file.
 *
 * A store has a table of its areas and nothing else: no directories, no
 * allocation while data are written, no cache.  The table stands twice on the
 * disk, in blocks of 4096 bytes that each carry a sequence number and a
 * checksum.  A change rewrites one of them in the first copy, durably, and only
 * then in the second: at any power cut the store opens with the old or with the
 * new table.  docs/store-format.md describes every byte.
 *
 * Who may do what at one time
 *
 * - Any number of processes and threads may have a store open.  A struct
 *   chario_store may be used by several threads at once.
 * - Changes of the table are serialised by a lock that the kernel takes back when
 *   its holder has died and nothing that it has begun to write follows.  Who looks up,
 *   lists or reads waits for nobody.  A process waits at most 10 s for its turn, and then
 *   for the lock as long as writes of one that has died can take, 10 s at least; threads
 *   that share a store have it one after the other, and each waits as long when its turn
 *   has come.
 * - What a process has begun to write may be on its way to the disk when it has died.  Who
 *   takes over what it wrote to waits until none of that follows: who opens an area for
 *   writing, moves, shrinks, replaces or removes one, opens a store for writing, or formats,
 *   upgrades or repairs it.  That takes the deadline and the bound of recovery of the disk
 *   at most, and 60 s where it is a file or a block device; then it is -EBUSY.  See
 *   chario_store_on_wait().
 * - A store is of the process that has opened it, as are its areas, and what has been
 *   opened in them.  A child of fork(2) opens its own: with those of its parent, calls
 *   that look something up, change, read, write or record give -EPERM, and so does
 *   closing a recording or unloading a view; closing a store or an area takes nothing
 *   away from the parent.
 * - An area has one writer, see chario_area_open(), and any number of readers.
 *   It cannot be moved, shrunk or removed by others while anybody has it open.
 * - The locks are those of fcntl(2), F_OFD_SETLK, on the file that the store was
 *   opened by: processes see each other when they open the same file, by
 *   whatever path; two device nodes of one disk are two files, and so are the two disks
 *   that two controllers of one drive show.  That file is opened
 *   once more for each area, by /proc/self/fd, so its path may change; without /proc
 *   the path must still lead to it, else the calls give -ESTALE.
 * - Such a lock lasts until it is dropped, as the functions that close do, or all
 *   descriptors of its open file are closed.  So a child of fork(2) keeps those of a
 *   parent that has died, until it ends or calls execve(2), which closes what the
 *   library has opened.
 */
#ifndef CHARIO_STORE_H
#define CHARIO_STORE_H

#include <stddef.h>
#include <stdint.h>

#include <chario/device.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Bytes that a name has at most, without its NUL. */
#define CHARIO_STORE_NAME_MAX 255

/* Bytes of a block of the table; areas begin and end at multiples of it. */
#define CHARIO_STORE_BLOCK 4096

/** struct chario_store - an open store; its members are private */
struct chario_store;

/* Flags of &struct chario_store_layout. */
#define CHARIO_LAYOUT_REPLACE (1U << 0) /* although there is a store already */

/**
 * struct chario_store_layout - how a new store is laid out
 * @size: sizeof(struct chario_store_layout)
 * @flags: CHARIO_LAYOUT_* bits
 * @max_areas: areas that it can have, up to 1,048,576; 0 for a number that
 *	suits the size of the disk: one for each 16 MiB, 1,000 at least where
 *	they take less than a hundredth of it, 100,000 at most
 * @alignment_bytes: areas begin at multiples of this, a power of two from 4096
 *	to 1 GiB; 0 for what the disk prefers
 */
struct chario_store_layout {
	uint32_t size;
	uint32_t flags;
	uint64_t max_areas;
	uint64_t alignment_bytes;
};

/**
 * struct chario_store_info - what a store is and how full it is
 * @size: sizeof(struct chario_store_info)
 * @version: of the format
 * @uuid: of the store, made when it was formatted
 * @created_ns: when, nanoseconds since 1970 (CLOCK_REALTIME)
 * @capacity_bytes: of the disk, when it was formatted
 * @data_offset: on the disk, of the first byte that areas can have
 * @data_bytes: that areas can have, together
 * @table_bytes: of both copies of the table
 * @used_bytes: that areas have
 * @free_bytes: that they do not have
 * @largest_hole_bytes: longest contiguous piece of the free bytes that an area
 *	can be put in
 * @nr_holes: pieces of the free bytes
 * @alignment_bytes: areas begin at multiples of this
 * @nr_areas: areas that there are
 * @max_areas: areas that there can be
 */
struct chario_store_info {
	uint32_t size;
	uint32_t version;
	uint8_t uuid[16];
	uint64_t created_ns;
	uint64_t capacity_bytes;
	uint64_t data_offset;
	uint64_t data_bytes;
	uint64_t table_bytes;
	uint64_t used_bytes;
	uint64_t free_bytes;
	uint64_t largest_hole_bytes;
	uint64_t nr_holes;
	uint64_t alignment_bytes;
	uint64_t nr_areas;
	uint64_t max_areas;
};

/* What &struct chario_area_info.flags says. */
#define CHARIO_AREA_STREAM  (1U << 0) /* holds a recording, see chario/stream.h */
#define CHARIO_AREA_FILLING (1U << 1) /* not all of its content is there yet */
#define CHARIO_AREA_MOVING  (1U << 2) /* lies in two pieces until a move is ended */

/**
 * struct chario_area_info - an area
 * @size: sizeof(struct chario_area_info)
 * @flags: CHARIO_AREA_* bits
 * @id: of the area: stays when it is renamed, is never given again
 * @offset: on the disk, of its first byte
 * @bytes: its length, as it was asked for
 * @allocated_bytes: that it has on the disk, a multiple of CHARIO_STORE_BLOCK
 * @created_ns: when, nanoseconds since 1970 (CLOCK_REALTIME)
 * @changed_ns: when its entry of the table was changed last
 * @filled_bytes: with CHARIO_AREA_FILLING: that are there, durably
 * @fill_tag: with CHARIO_AREA_FILLING: what the filler calls its source
 * @name: UTF-8 by custom, any bytes but NUL and '/'; ends with a NUL
 * @attributes: the user's own keys and values, texts "key=value" that each end with a NUL;
 *	an empty text is behind the last
 */
struct chario_area_info {
	uint32_t size;
	uint32_t flags;
	uint64_t id;
	uint64_t offset;
	uint64_t bytes;
	uint64_t allocated_bytes;
	uint64_t created_ns;
	uint64_t changed_ns;
	uint64_t filled_bytes;
	uint64_t fill_tag;
	char name[CHARIO_STORE_NAME_MAX + 1];
	char attributes[CHARIO_STORE_NAME_MAX + 1];
};

/**
 * chario_store_format() - make an empty store
 * @name: of a disk, a block device or a plain file, as for
 *	chario_device_open_any()
 * @layout: how, or NULL for the usual
 *
 * Writes both copies of an empty table; data are not touched, and what areas
 * of the same place held can be read in areas that are created there.  Marks of file
 * systems that lie where areas will stay, too: chario format --force wipes them.
 *
 * Context: may sleep.
 * Return: 0; -EEXIST where there is a store, or a header or a part of a table is left
 * of one, and CHARIO_LAYOUT_REPLACE is not set; -EBUSY where a store on it is open;
 * -ENOSPC where the disk is too small; -EOPNOTSUPP where its logical block is longer
 * than 4096; -ENOMEM; -EINVAL where a member of @layout is out
 * of its range; -EROFS; and the errors of chario_device_open_any() and of
 * pwrite(2).
 */
int chario_store_format(const char *name, const struct chario_store_layout *layout);

/**
 * chario_store_upgrade() - have a store be of the present format
 * @name: as for chario_store_format()
 *
 * A store of the first release is read and written as it is.  What it refuses with
 * -EOPNOTSUPP needs the present format: a change of several blocks of the table
 * (chario_store_replace(), chario_store_exchange(), chario_area_publish()), attributes, and
 * areas of no bytes.  Programs of the first release cannot read it any more afterwards.  What
 * the store holds stays, whatever happens meanwhile.
 *
 * Context: may sleep.
 * Return: 0, also for one that is of the present format; -EBUSY where the store is open;
 * -EUCLEAN where it is damaged; and the errors of chario_store_open() with O_RDWR.
 */
int chario_store_upgrade(const char *name);

/**
 * chario_store_open() - open a store
 * @name: as for chario_store_format()
 * @flags: O_RDONLY, or O_RDWR for whoever changes the table or writes to an area
 * @store: where the store is put; the caller gives it to chario_store_close()
 *
 * Reads both copies of the part of the table that is in use.  Writes nothing,
 * whatever is damaged.
 *
 * Context: may sleep.
 * Return: 0; -ENOMEDIUM where there is no store; -EUCLEAN where the header is damaged and
 * what else is left does not belong together, and with O_RDWR where both copies of a block
 * of the table are damaged or cannot be read, areas contradict each other, or one is of a
 * later release: chario_store_check() says what, and O_RDONLY gives what is left of the
 * table; -EIO where nothing
 * of the header or of the table can be read; -EPROTO where the
 * format is newer than the library, or has with O_RDWR what only a newer one can
 * write; -ESTALE with O_RDWR where the disk is smaller than the store, of which O_RDONLY
 * gives what lies before the end; -EBUSY where a new one is being made, or this one
 * upgraded or repaired, or writes of one that did so, and has died, follow; -EOPNOTSUPP where the logical block of the disk is
 * longer than 4096; -ENOMEM, -EMFILE; -EINVAL where @flags are of another kind;
 * and the errors of chario_device_open_any() and of pread(2).
 */
int chario_store_open(const char *name, int flags, struct chario_store **store);

/**
 * chario_store_open_device() - open a store on a device that is open
 * @device: opened by chario_device_open_any(), for reading at least
 * @flags: O_RDONLY or O_RDWR; O_RDWR needs @device to be open for both
 * @store: where the store is put; owns @device from then on, unless an error
 *	is returned
 *
 * For whoever has set options of the device, such as a deadline or a queue of
 * its own.
 *
 * Context: may sleep.
 * Return: as chario_store_open().
 */
int chario_store_open_device(struct chario_device *device, int flags, struct chario_store **store);

/**
 * chario_store_close() - close a store
 * @store: the store, or NULL, which is let pass; its areas have been closed
 *
 * Context: may sleep.
 */
void chario_store_close(struct chario_store *store);

/**
 * chario_store_device() - the device of a store
 * @store: an open store, which goes on to own the device
 *
 * Buffers for areas of the store are made on this device.
 *
 * Return: the device.
 */
struct chario_device *chario_store_device(const struct chario_store *store);

/**
 * chario_store_get_info() - what a store is and how full it is
 * @store: an open store
 * @info: is filled in; members that the library does not know read as zero
 * @size: sizeof(*@info)
 *
 * Context: may sleep.
 * Return: 0; -EINVAL when @size is smaller than the first version of the
 * struct; -EUCLEAN, -ENOMEM, and the errors of pread(2).
 */
int chario_store_get_info(struct chario_store *store, struct chario_store_info *info, size_t size);

/**
 * chario_store_waiting - is told that a function of a store waits
 * @patience_ns: for how long at most, from the beginning of the wait
 * @data: as given
 *
 * Writes of a process that has died may still be on their way to the disk: who takes
 * over what it wrote to waits until none follows.  A process that was stopped while it
 * changed the table is waited for, too.
 *
 * Return: 0 to wait; anything else to give up at once, with -EBUSY.
 */
typedef int chario_store_waiting(uint64_t patience_ns, void *data);

/**
 * chario_store_on_wait() - be told when a function of a store waits
 * @visit: is called half a second after the wait has begun, and each half a second from
 *	then on, by the thread that waits; NULL for nobody, as at first
 * @data: is handed to it
 *
 * For all stores of the process.  @visit calls no function of the store that waits.
 *
 * Context: does not sleep; not while another thread uses a store.
 */
void chario_store_on_wait(chario_store_waiting *visit, void *data);

/**
 * chario_area_visit - is called for an area
 * @area: valid during the call
 * @data: as given
 *
 * It is called without a lock, and may change the store; what it is shown stays as
 * it was when the visit began.
 *
 * Return: 0 to go on; anything else ends the visit and is its result.
 */
typedef int chario_area_visit(const struct chario_area_info *area, void *data);

/**
 * chario_store_each() - visit all areas, in the order of their place on the disk
 * @store: an open store
 * @visit: is called for each
 * @data: is handed to it
 *
 * Context: may sleep.
 * Return: 0, what @visit returned, -EUCLEAN, -ENOMEM, or an error of pread(2).
 */
int chario_store_each(struct chario_store *store, chario_area_visit *visit, void *data);

/**
 * chario_store_find() - look for an area
 * @store: an open store
 * @name: of the area
 * @info: is filled in; members that the library does not know read as zero
 * @size: sizeof(*@info)
 *
 * Context: may sleep.
 * Return: 0; -ENOENT where there is no such area; -EINVAL when @size is smaller
 * than the first version of the struct; -EUCLEAN, -ENOMEM, or an error of pread(2).
 */
int chario_store_find(struct chario_store *store, const char *name, struct chario_area_info *info,
		      size_t size);

/* Flags of chario_store_create(). */
#define CHARIO_CREATE_FILLING (1U << 0) /* it counts as filled once that is said */

/**
 * chario_store_create() - create an area
 * @store: a store that is open for writing
 * @name: 1 to CHARIO_STORE_NAME_MAX bytes without '/', not "." or ".."
 * @bytes: its length, which may be 0
 * @flags: CHARIO_CREATE_* bits, or 0
 *
 * Takes the smallest hole that is long enough.  The area holds what its place on
 * the disk held.  When the function returns 0, the area is there after a power cut.  An
 * error of the disk means that the change has not been made, unless the disk has also
 * refused to write what takes it back: then the store says which of both it is.
 *
 * Context: may sleep.
 * Return: 0; -EEXIST where there is one of this name; -ENOSPC where no hole is
 * long enough; -EMFILE where the table is full; -EDQUOT where the file system of the
 * file of the store has no room for the table; -ENAMETOOLONG; -EINVAL where
 * the name or a flag is not allowed; -EOPNOTSUPP where @bytes are 0 and the store is of the
 * format of the first release; -EROFS where the store was opened for reading; -EBUSY where
 * another process has held the lock of the table for as long as writes of one that has died
 * can take, see the top; -EUCLEAN, -ENOMEM, and the errors of pread(2) and pwrite(2).
 */
int chario_store_create(struct chario_store *store, const char *name, uint64_t bytes,
			unsigned int flags);

/**
 * chario_store_rename() - give an area another name
 * @store: a store that is open for writing
 * @name: of the area, which may be open
 * @new_name: as for chario_store_create()
 *
 * Context: may sleep.
 * Return: 0, also where both names are the same; -ENOENT; -EEXIST where another
 * area has @new_name; -E2BIG where its attributes do not fit behind @new_name; and the
 * errors of chario_store_create().
 */
int chario_store_rename(struct chario_store *store, const char *name, const char *new_name);

/**
 * chario_store_replace() - give an area the name of another, which goes
 * @store: a store that is open for writing
 * @name: of the area
 * @new_name: of the area that is replaced; where there is none, as
 *	chario_store_rename()
 *
 * One change: whatever happens, @new_name is the old area or the new one.  The new one keeps
 * its attributes; without any, it gets those of the old one.
 *
 * Context: may sleep, also until what a process that has died has begun to write to the
 * old area has ended.
 * Return: 0, also where both names are the same; -ENOENT; -EBUSY where somebody has
 * the area open that is replaced, or such writes have not ended; -EOPNOTSUPP where the store is of the first release and
 * both stand in different blocks of the table, see chario_store_upgrade(); -E2BIG as
 * chario_store_rename(); and the errors of chario_store_create().
 */
int chario_store_replace(struct chario_store *store, const char *name, const char *new_name);

/**
 * chario_store_exchange() - give two areas the name of the other
 * @store: a store that is open for writing
 * @name: of one
 * @other: of the other
 *
 * One change: whatever happens, both have their old names or their new ones.  Who has
 * one of them open keeps it.
 *
 * Context: may sleep.
 * Return: 0; -ENOENT; -EOPNOTSUPP as chario_store_replace(); -E2BIG as
 * chario_store_rename(); and the errors of chario_store_create().
 */
int chario_store_exchange(struct chario_store *store, const char *name, const char *other);

/**
 * chario_store_set_attributes() - change the attributes of an area
 * @store: a store that is open for writing
 * @name: of the area, which may be open
 * @changes: texts that each end with a NUL, and an empty one behind the last, such as
 *	"lens=35mm\0operator\0", where C adds the empty one: "key=value" gives a key its
 *	value, "key" takes it away.
 *	A key has one byte at least and no '='.  Of what is said of a key twice, the last
 *	counts.
 *
 * Attributes are the user's own: nothing here looks at them.  They stay with the area when
 * it is renamed, moved, resized or recorded to.  The name and all attributes together have
 * CHARIO_STORE_NAME_MAX + 1 bytes at most, each with its NUL.  One change: whatever happens,
 * all of @changes is done or nothing.
 *
 * Context: may sleep.
 * Return: 0; -ENOENT; -E2BIG where they do not fit; -EINVAL where a key is empty;
 * -EOPNOTSUPP where the store is of the first release, see chario_store_upgrade(); and the
 * errors of chario_store_create().
 */
int chario_store_set_attributes(struct chario_store *store, const char *name, const char *changes);

/**
 * chario_area_attribute() - the value of a key
 * @info: of the area, from chario_store_find(), chario_store_each() or
 *	chario_area_get_info()
 * @key: a text
 *
 * Return: its value, in @info; NULL where the area has no such key.
 */
const char *chario_area_attribute(const struct chario_area_info *info, const char *key);

/**
 * chario_store_resize() - change the length of an area
 * @store: a store that is open for writing
 * @name: of the area, which is not open
 * @bytes: its new length, which may be 0
 *
 * Grows where it is when the space behind it is free; else it is moved to a hole
 * that is long enough, as chario_store_defrag() moves areas.  The content stays
 * up to the smaller of both lengths; what is new holds what its place held.
 *
 * Context: may sleep; for as long as a copy takes.
 * Return: 0; -ENOENT; -EBUSY as chario_store_remove(); -ENOSPC where no hole is long
 * enough; -EDQUOT where the file system has no room for what is moved, too; -EINVAL
 * where it holds a recording; and the errors of
 * chario_store_create(), pread(2) and pwrite(2).
 */
int chario_store_resize(struct chario_store *store, const char *name, uint64_t bytes);

/**
 * chario_store_remove() - remove an area
 * @store: a store that is open for writing
 * @name: of the area, which is not open
 *
 * Its bytes are not overwritten.
 *
 * Context: may sleep.
 * Return: 0; -ENOENT; -EBUSY where it is open, or writes of a process that has died follow;
 * and the errors of chario_store_create().
 */
int chario_store_remove(struct chario_store *store, const char *name);

/**
 * chario_store_progress - is told how far long work is
 * @done_bytes: of the work
 * @total_bytes: of the work, as far as known
 * @data: as given
 *
 * Return: 0 to go on; anything else ends the work at a place where it can be
 * taken up again, and is its result.
 */
typedef int chario_store_progress(uint64_t done_bytes, uint64_t total_bytes, void *data);

/**
 * chario_store_defrag() - put all free space into one hole
 * @store: a store that is open for writing
 * @progress: is called now and then, or NULL
 * @data: is handed to it
 *
 * Moves areas towards the start of the disk, one after the other; an area that is
 * open stays where it is, and what lies behind it is moved up to it.  May be ended
 * at any moment, by a power cut too: an area then lies in two pieces, is read and
 * written as before, and the next call goes on where this one stopped.
 *
 * Context: may sleep; for as long as copying takes.
 * Return: 0; what @progress returned; -EBUSY where the lock of the table is held;
 * -EROFS; -EUCLEAN; -EDQUOT where the file system of the file of the store has no room
 * for what is moved or for the table; -ENOMEM; and the errors of pread(2) and pwrite(2).
 */
int chario_store_defrag(struct chario_store *store, chario_store_progress *progress, void *data);

#ifdef __cplusplus
}
#endif

#endif /* CHARIO_STORE_H */
