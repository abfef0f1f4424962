/* SPDX-License-Identifier: LGPL-2.1-or-later OR MIT */
/*
 * A copy: the bytes of a file into an area, all of them or those that differ, or the bytes of
 * an area into a file.
 *
 * A file is any descriptor that read(2) and write(2) take: a plain file, a pipe, a socket,
 * a disk.  Some buffers go round, so that the disk works on some while the file fills or
 * takes another one; the bytes lie in the memory that the drive reads or writes, and
 * nowhere else.
 *
 *	struct chario_copy copy = { .size = sizeof(copy), .bytes = bytes };
 *
 *	err = chario_copy_in(area, fd, &copy);
 *	if (!err)
 *		err = chario_area_sync(area);
 *
 * The library handles no signal.  A write to a pipe or a socket that nobody reads any more
 * raises SIGPIPE, and one behind the limit of the length of files SIGXFSZ: a program that
 * wants the errors -EPIPE and -EFBIG ignores these signals.
 *
 * A signal whose handler was installed without SA_RESTART wakes a copy that waits for a file;
 * the copy then asks @progress whether to go on.
 */
#ifndef CHARIO_COPY_H
#define CHARIO_COPY_H

#include <stdint.h>

#include <chario/area.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Flags of &struct chario_copy. */
#define CHARIO_COPY_SAME_OFFSET (1U << 0) /* the file is read at the offset of the area */

/**
 * enum chario_copy_step - the step of a copy that has failed
 * @CHARIO_COPY_DONE: none
 * @CHARIO_COPY_START: look at the arguments, get memory and a queue
 * @CHARIO_COPY_FILE: read or write the file
 * @CHARIO_COPY_END: find more in the file, which has ended before all bytes were there
 * @CHARIO_COPY_READ: read the area
 * @CHARIO_COPY_WRITE: write the area
 */
enum chario_copy_step {
	CHARIO_COPY_DONE,
	CHARIO_COPY_START,
	CHARIO_COPY_FILE,
	CHARIO_COPY_END,
	CHARIO_COPY_READ,
	CHARIO_COPY_WRITE,
};

/**
 * struct chario_copy - a copy, and how far it came
 * @size: sizeof(struct chario_copy)
 * @flags: CHARIO_COPY_* bits
 * @offset: of the first byte in the area, a multiple of CHARIO_STORE_BLOCK
 * @bytes: to be copied, all of them inside the area
 * @progress: is told how many of @bytes have been written, at least once each 4 MiB, after
 *	each read and write of the file that gave or took less than it was asked for, and
 *	after each signal; it may end the copy, and is not called again then; or NULL
 * @data: is handed to @progress
 * @step: is filled in: &enum chario_copy_step that has failed
 * @reserved: zero
 * @read_bytes: is filled in: bytes that have been read
 * @written_bytes: is filled in: bytes that have been written, from @offset on without a gap;
 *	of an update bytes that are now as in the file
 * @changed_bytes: is filled in: bytes of the blocks that an update has written, also where
 *	an error is returned
 */
struct chario_copy {
	uint32_t size;
	uint32_t flags;
	uint64_t offset;
	uint64_t bytes;
	chario_store_progress *progress;
	void *data;
	uint32_t step;
	uint32_t reserved;
	uint64_t read_bytes;
	uint64_t written_bytes;
	uint64_t changed_bytes;
};

/**
 * chario_copy_in() - copy from a file into an area
 * @area: an area that is open for writing
 * @fd: open for reading, and blocking; stays the caller's.  It is read from where it
 *	stands, or with CHARIO_COPY_SAME_OFFSET from @offset of @copy on by pread(2)
 * @copy: what to copy; @bytes are whole blocks, unless they end where the area ends
 *
 * The area is written in pieces of up to 4 MiB, and a piece when the file has given all of it:
 * where the copy ends before, the file may have been read further than the area was
 * written.  Pieces that have been begun are written in any case.  What has been written is
 * durable after chario_area_sync().
 *
 * Context: may sleep; several threads may copy into one area at once, also while others
 * use it otherwise.
 * Return: 0; what @progress returned; or a negative errno, of which @step of @copy says
 * what it is about: -ENODATA with CHARIO_COPY_END; -EINVAL where a member of @copy is out of its
 * range; -EROFS where the area is open for reading; -EPERM in a child of fork(2);
 * -ENOMEM, -EMFILE; and the errors of read(2) and chario_area_write_buffer().
 */
int chario_copy_in(struct chario_area *area, int fd, struct chario_copy *copy);

/**
 * chario_copy_out() - copy from an area into a file
 * @area: an open area
 * @fd: open for writing, and blocking; stays the caller's.  It is written to from where it
 *	stands
 * @copy: what to copy; without flags
 *
 * Reads up to four pieces of 4 MiB ahead of the file.
 *
 * Context: may sleep; several threads may copy from one area at once, also while others
 * use it otherwise.
 * Return: as chario_copy_in(), with the errors of write(2) and chario_area_read_buffer().
 */
int chario_copy_out(struct chario_area *area, int fd, struct chario_copy *copy);

/**
 * chario_copy_update() - write the blocks of an area that differ from a file
 * @area: an area that is open for writing
 * @fd: as for chario_copy_in()
 * @copy: what to compare, as for chario_copy_in()
 *
 * Goes on in parts of up to 4 MiB: one is read from the file, loaded as a view, and the blocks
 * that differ are written.  Wherever an update ends, each block is the old or the new one.
 * Nobody else has a view of these parts, nor writes to them; what has been written is durable
 * after chario_area_sync().
 *
 * Context: may sleep; several threads may update parts of one area that have no block in
 * common.
 * Return: as chario_copy_in(); and the errors of chario_view_load(), with CHARIO_COPY_READ.
 */
int chario_copy_update(struct chario_area *area, int fd, struct chario_copy *copy);

#ifdef __cplusplus
}
#endif

#endif /* CHARIO_COPY_H */
