/* SPDX-License-Identifier: LGPL-2.1-or-later OR MIT */
/*
 * A store: named, contiguous areas on a disk, a block device or a plain file.
 *
 * A store has a table of its areas and nothing else: no directories, no allocation while
 * data are written, no cache.  The table is on the disk twice, in blocks of 4096 bytes that
 * each carry a sequence number and a checksum.  A change rewrites a block in the first copy,
 * durably, and only then in the second: after a power cut at any moment the store opens with
 * the old or with the new table.  docs/store-format.md describes every byte.
 *
 * Sharing a store
 *
 * - Any number of processes and threads may have a store open.  Several threads may use a
 *   struct chario_store at once.
 * - A lock serialises changes of the table.  When its holder has died and none of its writes
 *   can follow, the kernel releases the lock.  Look-ups, lists and reads never wait.  A
 *   process waits at most 10 s for its turn, and then for the lock as long as writes of a
 *   dead process can take, at least 10 s.  Threads that share a store take turns, and each
 *   waits as long when its turn has come.
 * - When a process dies, its writes may still be on their way to the disk.  A process that
 *   takes over their place waits until none of them can follow.  This concerns opening an
 *   area for writing, moving, shrinking, replacing or removing an area, opening a store for
 *   writing, and formatting, upgrading or repairing a store.  The wait takes at most the
 *   deadline and the recovery bound of the disk, or 60 s for a file or a block device; then
 *   the call returns -EBUSY.  See chario_store_on_wait().
 * - A store belongs to the process that opened it, and so do its areas and everything
 *   opened in them.  A child of fork(2) opens its own.  With a store of its parent, calls
 *   that look something up, change, read, write or record return -EPERM, and so does closing
 *   a recording or unloading a view; closing a store or an area takes nothing away from the
 *   parent.
 * - An area has one writer, see chario_area_open(), and any number of readers.  Others
 *   cannot move, shrink or remove an open area.
 * - The locks are those of fcntl(2), F_OFD_SETLK, on the file that the store was opened by.
 *   Processes see each other when they open the same file, by whatever path.  Two device
 *   nodes of one disk are two files, and so are the two disks that two controllers of one
 *   drive show.  That file is opened once more for each area, by /proc/self/fd, so its path
 *   may change; without /proc the path must still lead to it, or the calls return -ESTALE.
 * - Such a lock lasts until a closing function drops it, or until all descriptors of its
 *   open file are closed.  So a child of fork(2) keeps the locks of a parent that has died,
 *   until it ends or calls execve(2), which closes the files that the library has opened.
 */
#ifndef CHARIO_STORE_H
#define CHARIO_STORE_H

#include <stddef.h>
#include <stdint.h>

#include <chario/device.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Largest length of a name in bytes, without its NUL. */
#define CHARIO_STORE_NAME_MAX 255

/* Bytes of a block of the table; areas begin and end at multiples of it. */
#define CHARIO_STORE_BLOCK 4096

/** struct chario_store - an open store; its members are private */
struct chario_store;

/* Flags of &struct chario_store_layout. */
#define CHARIO_LAYOUT_REPLACE (1U << 0) /* replace a store that is already there */

/**
 * struct chario_store_layout - the layout of a new store
 * @size: sizeof(struct chario_store_layout)
 * @flags: CHARIO_LAYOUT_* bits
 * @max_areas: largest number of areas, up to 1,048,576; 0 for a number that suits the
 *	size of the disk: one for each 16 MiB, at least 1,000 if they take less than a
 *	hundredth of the disk, at most 100,000
 * @alignment_bytes: alignment of the beginning of areas in bytes, a power of two from
 *	4096 to 1 GiB; 0 for the value that the disk prefers
 */
struct chario_store_layout {
	uint32_t size;
	uint32_t flags;
	uint64_t max_areas;
	uint64_t alignment_bytes;
};

/**
 * struct chario_store_info - the properties of a store and its free space
 * @size: sizeof(struct chario_store_info)
 * @version: version of the format
 * @uuid: UUID of the store, made when it was formatted
 * @created_ns: time of formatting, nanoseconds since 1970 (CLOCK_REALTIME)
 * @capacity_bytes: size of the disk at that time in bytes
 * @data_offset: offset on the disk of the space for areas, in bytes
 * @data_bytes: size of the space for areas in bytes
 * @table_bytes: size of both copies of the table in bytes
 * @used_bytes: bytes that areas occupy
 * @free_bytes: bytes that are free for areas
 * @largest_hole_bytes: longest contiguous piece of free space that an area can be put
 *	in, in bytes
 * @nr_holes: number of pieces of free space
 * @alignment_bytes: alignment of the beginning of areas in bytes
 * @nr_areas: number of areas
 * @max_areas: largest number of areas
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

/* Bits of &struct chario_area_info.flags. */
#define CHARIO_AREA_STREAM  (1U << 0) /* the area holds a recording, see chario/stream.h */
#define CHARIO_AREA_FILLING (1U << 1) /* not all of its content is there yet */
#define CHARIO_AREA_MOVING  (1U << 2) /* the area lies in two pieces until its move is completed */

/**
 * struct chario_area_info - the description of an area
 * @size: sizeof(struct chario_area_info)
 * @flags: CHARIO_AREA_* bits
 * @id: number of the area, which a change of name keeps and no other area ever gets
 * @offset: offset of its first byte on the disk
 * @bytes: length in bytes, as asked for
 * @allocated_bytes: space on the disk in bytes, a multiple of CHARIO_STORE_BLOCK
 * @created_ns: time of creation, nanoseconds since 1970 (CLOCK_REALTIME)
 * @changed_ns: time of the last change of its entry in the table
 * @filled_bytes: with CHARIO_AREA_FILLING: number of bytes that are durably there; without: not 0
 *	if the area was filled to its end, and no recording was begun in it since
 * @fill_tag: with CHARIO_AREA_FILLING: number by which the filler recognises its
 *	source
 * @name: name, UTF-8 by custom, any bytes but NUL and '/'; ends with a NUL
 * @attributes: the user's own keys and values, texts "key=value" that each end with a
 *	NUL; an empty text follows the last
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
 * @name: name of a disk, a block device or a plain file, see chario_device_open_any()
 * @layout: layout of the store, or NULL for the default
 *
 * The call writes both copies of an empty table.  Data are not touched: areas created later
 * have the old content of their place.  Marks of file systems at the place of areas stay,
 * too; chario format --force wipes them.
 *
 * Context: may sleep.
 * Return: 0; -EEXIST if there is a store, or the header or a part of the table of an old
 * one, and CHARIO_LAYOUT_REPLACE is not set; -EBUSY if a store on the disk is open; -ENOSPC
 * if the disk is too small; -EOPNOTSUPP if its logical block is longer than 4096; -ENOMEM;
 * -EINVAL if a member of @layout is out of its range; -EROFS; and the errors of
 * chario_device_open_any() and of pwrite(2).
 */
int chario_store_format(const char *name, const struct chario_store_layout *layout);

/**
 * chario_store_upgrade() - convert a store to the present format
 * @name: see chario_store_format()
 *
 * A store of the first release can be read and written without an upgrade.  Operations that
 * it refuses with -EOPNOTSUPP need the present format: a change of several blocks of the
 * table (chario_store_replace(), chario_store_exchange(), chario_area_publish()),
 * attributes, and areas of no bytes.  Programs of the first release can no longer read the
 * store afterwards.  The content of the store stays, whatever happens meanwhile.
 *
 * Context: may sleep.
 * Return: 0, also for a store of the present format; -EBUSY if the store is open; -EUCLEAN
 * if it is damaged; and the errors of chario_store_open() with O_RDWR.
 */
int chario_store_upgrade(const char *name);

/**
 * chario_store_open() - open a store
 * @name: see chario_store_format()
 * @flags: O_RDONLY, or O_RDWR to change the table or write to an area
 * @store: the new store; the caller gives it to chario_store_close()
 *
 * The call reads both copies of the used part of the table.  It writes nothing, whatever is
 * damaged, except that O_RDWR finishes a change of the table that was interrupted.
 *
 * Context: may sleep; with O_RDWR also until a change that is under way has ended.
 * Return: 0; -ENOMEDIUM if there is no store; -EUCLEAN if the header is damaged and the
 * other remains do not belong together, and with O_RDWR also if both copies of a block of
 * the table are damaged or unreadable, if areas contradict each other, or if an area is of
 * a later release (chario_store_check() gives details, and O_RDONLY opens the intact rest
 * of the table); -EIO if nothing of the header or of the table can be read, and with O_RDWR
 * also if the note of the last changes cannot (CHARIO_CHECK_REPAIR gives it up); -EPROTO if
 * the format is newer than the library, or with O_RDWR if only a newer library can write it; -ESTALE
 * with O_RDWR if the disk is smaller than the store, of which O_RDONLY opens the part
 * before the end; -EBUSY if a new store is being made, or this one is being upgraded or
 * repaired, or a dead process that did so still has writes on their way, or if the lock of
 * the table could not be had, see chario_store_create(); -EOPNOTSUPP if the logical block
 * of the disk is longer than 4096; -ENOMEM, -EMFILE; -EINVAL if @flags has another value;
 * and the errors of chario_device_open_any() and of pread(2).
 */
int chario_store_open(const char *name, int flags, struct chario_store **store);

/**
 * chario_store_open_device() - open a store on an open device
 * @device: device from chario_device_open_any(), open for reading at least
 * @flags: O_RDONLY or O_RDWR; O_RDWR needs @device to be open for both
 * @store: the new store, which owns @device from then on, unless an error is returned
 *
 * A caller can set options of the device first, such as a deadline or a private queue.
 *
 * Context: may sleep.
 * Return: the results of chario_store_open().
 */
int chario_store_open_device(struct chario_device *device, int flags, struct chario_store **store);

/**
 * chario_store_close() - close a store
 * @store: the store, or NULL, which does nothing; its areas must have been closed
 *
 * Context: may sleep.
 */
void chario_store_close(struct chario_store *store);

/**
 * chario_store_device() - the device of a store
 * @store: an open store, which keeps owning the device
 *
 * Buffers for areas of the store are made on this device.
 *
 * Return: the device.
 */
struct chario_device *chario_store_device(const struct chario_store *store);

/**
 * chario_store_get_info() - the properties of a store and its free space
 * @store: an open store
 * @info: struct to fill in; members that the library does not know read as zero
 * @size: sizeof(*@info)
 *
 * Context: may sleep.
 * Return: 0; -EINVAL when @size is smaller than the first version of the
 * struct; -EUCLEAN, -ENOMEM, and the errors of pread(2).
 */
int chario_store_get_info(struct chario_store *store, struct chario_store_info *info, size_t size);

/**
 * chario_store_waiting - function called while a function of a store waits
 * @patience_ns: longest duration of the wait from its beginning, in nanoseconds
 * @data: the caller's argument
 *
 * Writes of a process that has died may still be on their way to the disk: a process that
 * takes over their place waits until none follows.  The wait also covers a process that was
 * stopped while it changed the table.
 *
 * Return: 0 to wait; anything else to give up at once, with -EBUSY.
 */
typedef int chario_store_waiting(uint64_t patience_ns, void *data);

/**
 * chario_store_on_wait() - set the function called while a function of a store waits
 * @visit: function called half a second after the beginning of the wait, and each half
 *	a second from then on, by the waiting thread; NULL for none, which is the default
 * @data: argument of @visit
 *
 * The function is set for all stores of the process.  @visit must not call functions of the
 * store that waits.
 *
 * Context: does not sleep; no other thread may be using a store.
 */
void chario_store_on_wait(chario_store_waiting *visit, void *data);

/**
 * chario_area_visit - function called for each area
 * @area: the area, valid during the call
 * @data: the caller's argument
 *
 * The function is called without a lock, and may change the store; the visit continues with
 * the areas as they were when it began.
 *
 * Return: 0 to go on; anything else ends the visit and is its result.
 */
typedef int chario_area_visit(const struct chario_area_info *area, void *data);

/**
 * chario_store_each() - visit all areas, in the order of their place on the disk
 * @store: an open store
 * @visit: function called for each
 * @data: argument of @visit
 *
 * Context: may sleep.
 * Return: 0, the result of @visit, -EUCLEAN, -ENOMEM, or an error of pread(2).
 */
int chario_store_each(struct chario_store *store, chario_area_visit *visit, void *data);

/**
 * chario_store_find() - look for an area
 * @store: an open store
 * @name: name of the area
 * @info: struct to fill in; members that the library does not know read as zero
 * @size: sizeof(*@info)
 *
 * Context: may sleep.
 * Return: 0; -ENOENT if there is no such area; -EINVAL when @size is smaller
 * than the first version of the struct; -EUCLEAN, -ENOMEM, or an error of pread(2).
 */
int chario_store_find(struct chario_store *store, const char *name, struct chario_area_info *info,
		      size_t size);

/* Flags of chario_store_create(). */
#define CHARIO_CREATE_FILLING (1U << 0) /* chario_area_set_filled() ends its filling */

/**
 * chario_store_create() - create an area
 * @store: a store that is open for writing
 * @name: name of 1 to CHARIO_STORE_NAME_MAX bytes without '/', not "." or ".."
 * @bytes: length in bytes, which may be 0
 * @flags: CHARIO_CREATE_* bits, or 0
 *
 * The area takes the smallest hole that is long enough, and has the old content of that
 * place.  When the function returns 0, the area is there after a power cut.  An error of
 * the disk means that the change has not been made, unless the disk also refused the write
 * that takes it back: then the store shows which of the two is true.
 *
 * Context: may sleep.
 * Return: 0; -EEXIST if there is an area of this name; -ENOSPC if no hole is long enough;
 * -EMFILE if the table is full; -EDQUOT if the file system that has the store's file has no
 * room for the table; -ENAMETOOLONG; -EINVAL if the name or a flag is not allowed;
 * -EOPNOTSUPP if @bytes are 0 and the store is of the first release; -EROFS if the store
 * was opened for reading; -EBUSY if another process held the lock of the table for as long
 * as writes of a dead process can take, see the top; -EUCLEAN, -ENOMEM, and the errors of
 * pread(2) and pwrite(2).
 */
int chario_store_create(struct chario_store *store, const char *name, uint64_t bytes,
			unsigned int flags);

/**
 * chario_store_rename() - give an area another name
 * @store: a store that is open for writing
 * @name: name of the area, which may be open
 * @new_name: see chario_store_create()
 *
 * Context: may sleep.
 * Return: 0, also if both names are the same; -ENOENT; -EEXIST if another area has
 * @new_name; -E2BIG if the area's attributes do not fit behind @new_name; and the errors of
 * chario_store_create().
 */
int chario_store_rename(struct chario_store *store, const char *name, const char *new_name);

/**
 * chario_store_replace() - give an area the name of another, which is removed
 * @store: a store that is open for writing
 * @name: name of the area
 * @new_name: name of the area to replace; if there is none, the call is
 *	chario_store_rename()
 *
 * The call is one change: whatever happens, @new_name is the old area or the new one.  The
 * new one keeps its attributes; if it has none, it gets those of the old one.
 *
 * Context: may sleep, also until writes of a dead process to the old area have ended.
 * Return: 0, also if both names are the same; -ENOENT; -EBUSY if the old area is open, or
 * writes of a dead process to it have not ended; -EOPNOTSUPP if the store is of the first
 * release and the two are in different blocks of the table, see chario_store_upgrade();
 * -E2BIG, see chario_store_rename(); and the errors of chario_store_create().
 */
int chario_store_replace(struct chario_store *store, const char *name, const char *new_name);

/**
 * chario_store_exchange() - exchange the names of two areas
 * @store: a store that is open for writing
 * @name: name of the first area
 * @other: name of the second area
 *
 * The call is one change: whatever happens, both have their old names or their new ones.
 * Open areas stay open.
 *
 * Context: may sleep.
 * Return: 0; -ENOENT; -EOPNOTSUPP, see chario_store_replace(); -E2BIG, see
 * chario_store_rename(); and the errors of chario_store_create().
 */
int chario_store_exchange(struct chario_store *store, const char *name, const char *other);

/**
 * chario_store_set_attributes() - change the attributes of an area
 * @store: a store that is open for writing
 * @name: name of the area, which may be open
 * @changes: texts that each end with a NUL, and an empty text behind the last, such as
 *	"lens=35mm\0operator\0", where C adds the empty text: "key=value" sets the value of
 *	a key, "key" removes it.  A key has at least one byte and no '='. If a key occurs
 *	twice, the last text counts
 *
 * Attributes are the user's own: the library does not interpret them.  They stay with the
 * area when it is renamed, moved, resized or recorded to.  The name and all attributes
 * together have at most CHARIO_STORE_NAME_MAX + 1 bytes, each with its NUL.  The call is
 * one change: whatever happens, all of @changes is done or nothing.
 *
 * Context: may sleep.
 * Return: 0; -ENOENT; -E2BIG if the attributes do not fit; -EINVAL if a key is empty;
 * -EOPNOTSUPP if the store is of the first release, see chario_store_upgrade(); and the
 * errors of chario_store_create().
 */
int chario_store_set_attributes(struct chario_store *store, const char *name, const char *changes);

/**
 * chario_area_attribute() - the value of a key
 * @info: area, from chario_store_find(), chario_store_each() or chario_area_get_info()
 * @key: a text
 *
 * Return: its value, inside @info; NULL if the area has no such key.
 */
const char *chario_area_attribute(const struct chario_area_info *info, const char *key);

/**
 * chario_store_resize() - change the length of an area
 * @store: a store that is open for writing
 * @name: name of the area, which is not open
 * @bytes: new length in bytes, which may be 0
 *
 * The area grows in its place if the space behind it is free.  Otherwise it is moved to a
 * hole that is long enough, as by chario_store_defrag().  The content stays up to the
 * smaller of both lengths; added space has the old content of its place.
 *
 * Context: may sleep; for as long as a copy takes.
 * Return: 0; -ENOENT; -EBUSY, see chario_store_remove(); -ENOSPC if no hole is long enough;
 * -EIO if a block cannot be copied to the hole: the area stays as chario_store_defrag() says;
 * -EDQUOT if the file system that has the store's file has no room for the moved data;
 * -EINVAL if the area holds a recording; and the errors of chario_store_create(), pread(2)
 * and pwrite(2).
 */
int chario_store_resize(struct chario_store *store, const char *name, uint64_t bytes);

/**
 * chario_store_remove() - remove an area
 * @store: a store that is open for writing
 * @name: name of the area, which is not open
 *
 * The bytes of the area are not overwritten.
 *
 * Context: may sleep.
 * Return: 0; -ENOENT; -EBUSY if the area is open, or a dead process still has writes to it
 * on their way; and the errors of chario_store_create().
 */
int chario_store_remove(struct chario_store *store, const char *name);

/**
 * chario_store_progress - function that is told of the progress of long work
 * @done_bytes: bytes done so far
 * @total_bytes: bytes to do, as far as known
 * @data: the caller's argument
 *
 * Return: 0 to go on; any other value ends the work where it can be resumed, and is its
 * result.
 */
typedef int chario_store_progress(uint64_t done_bytes, uint64_t total_bytes, void *data);

/**
 * chario_store_defrag() - gather all free space in one hole
 * @store: a store that is open for writing
 * @progress: function called from time to time, or NULL
 * @data: argument of @progress
 *
 * The call moves areas towards the start of the disk, one after the other; an open area
 * stays in its place, and the areas behind it are moved up to it.  The work may be ended at
 * any moment, even by a power cut: an area may then lie in two pieces, is read and written
 * as before, and the next call continues.
 *
 * If a block of an area cannot be read, or one of its new place cannot be written, what has
 * been moved of the area is copied back: the area stays in its old place, whole but for that
 * block, and the areas behind it are moved up to it.  If that cannot be copied back either,
 * because a block of the new place has gone bad meanwhile, the area stays in two pieces.
 *
 * Context: may sleep; for as long as copying takes.
 * Return: 0; the result of @progress; -EIO if the table cannot be read or written, and also, at the
 * end, if an area stays for such a block, although all others have been moved: see
 * chario_store_defrag_report(); -EBUSY if the lock of the table is held; -EROFS;
 * -EUCLEAN; -EDQUOT if the file system that has the store's file has no room for the moved
 * data or for the table; -ENOMEM; and the errors of pread(2) and pwrite(2).
 */
int chario_store_defrag(struct chario_store *store, chario_store_progress *progress, void *data);

/**
 * chario_store_defrag_report() - gather all free space, and tell which areas stay
 * @store: a store that is open for writing
 * @progress: function called from time to time, or NULL
 * @visit: function called for each area that stays because a block cannot be copied
 * @data: argument of @progress and @visit
 *
 * Context: may sleep; for as long as copying takes.
 * Return: as chario_store_defrag(), but 0 if areas stay of which @visit has been told; the
 * result of @visit, if not 0, which also ends the work.
 */
int chario_store_defrag_report(struct chario_store *store, chario_store_progress *progress,
			       chario_area_visit *visit, void *data);

#ifdef __cplusplus
}
#endif

#endif /* CHARIO_STORE_H */
