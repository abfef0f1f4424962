/* SPDX-License-Identifier: LGPL-2.1-or-later OR MIT */
/*
 * A copy between an area and a file: all bytes of a file, or only the blocks that differ, go
 * into an area; or bytes of an area go into a file.
 *
 * A file is any descriptor that read(2) and write(2) take: a plain file, a pipe, a socket,
 * a disk.  A copy uses several buffers in turn, so that the disk works on some while the
 * file fills or takes another one.  The drive reads or writes these buffers itself; there is
 * no other copy of the bytes in memory.
 *
 *	struct chario_copy copy = { .size = sizeof(copy), .bytes = bytes };
 *
 *	err = chario_copy_in(area, fd, &copy);
 *	if (!err)
 *		err = chario_area_sync(area);
 *
 * The library handles no signal.  A write to a pipe or a socket that nobody reads any more
 * raises SIGPIPE, and a write behind the limit of the length of files raises SIGXFSZ: a
 * program that wants the errors -EPIPE and -EFBIG ignores these signals.
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
 * @CHARIO_COPY_START: check of the arguments, or allocation of memory and a queue
 * @CHARIO_COPY_FILE: read or write of the file
 * @CHARIO_COPY_END: end of the file before all bytes were there
 * @CHARIO_COPY_READ: read of the area
 * @CHARIO_COPY_WRITE: write to the area
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
 * struct chario_copy - a copy and its result
 * @size: sizeof(struct chario_copy)
 * @flags: CHARIO_COPY_* bits
 * @offset: offset of the first byte in the area, a multiple of CHARIO_STORE_BLOCK
 * @bytes: number of bytes to copy, all of them inside the area
 * @progress: function that is told how many of @bytes have been written, or NULL; it is
 *	called at least once each 4 MiB, after each read or write of the file that moved
 *	less than was asked for, and after each signal; it may end the copy, and is not
 *	called again then
 * @data: argument of @progress
 * @step: &enum chario_copy_step that has failed
 * @reserved: zero
 * @read_bytes: number of bytes that have been read
 * @written_bytes: number of bytes that have been written, from @offset on without a gap; of
 *	an update, number of bytes that are now equal to the file
 * @changed_bytes: number of bytes of the blocks that an update has written, also if it
 *	returns an error
 *
 * The caller sets the members up to @data, the library those from @step on.
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
 * @fd: descriptor of the file, open for reading and blocking; it stays the caller's, and is
 *	read from its present position, or with CHARIO_COPY_SAME_OFFSET from @copy->offset
 *	by pread(2); of a pipe whose writer has set O_DIRECT all packets are read whole, unless
 *	the copy ends within one
 * @copy: the copy; its @bytes are whole blocks, unless they end where the area ends
 *
 * The area is written in pieces of up to 4 MiB.  The write of a piece begins when the file
 * has given all of it: if the copy ends before, more has been read from the file than written
 * to the area.  Pieces whose write has begun are written in any case.  Written data are
 * durable after chario_area_sync().
 *
 * Context: may sleep; several threads may copy into one area at once, also while others
 * use it otherwise.
 * Return: 0; the result of @progress; or a negative errno of the step in @copy->step:
 * -ENODATA with CHARIO_COPY_END; -EINVAL if a member of @copy is out of its range; -EROFS if
 * the area is open for reading; -EPROTOTYPE if the file is a socket that keeps the boundaries of
 * messages, which chario_recorder_run() makes records of; -EPERM in a child of fork(2); -ENOMEM,
 * -EMFILE; and the errors of read(2) and chario_area_write_buffer().
 */
int chario_copy_in(struct chario_area *area, int fd, struct chario_copy *copy);

/**
 * chario_copy_out() - copy from an area into a file
 * @area: an open area
 * @fd: descriptor of the file, open for writing and blocking; it stays the caller's, and is
 *	written from its present position
 * @copy: the copy, without flags
 *
 * The area is read up to four pieces of 4 MiB ahead of the file.
 *
 * Context: may sleep; several threads may copy from one area at once, also while others
 * use it otherwise.
 * Return: see chario_copy_in(); with the errors of write(2) and chario_area_read_buffer()
 * instead of its last ones.
 */
int chario_copy_out(struct chario_area *area, int fd, struct chario_copy *copy);

/**
 * chario_copy_update() - write the blocks of an area that differ from a file
 * @area: an area that is open for writing
 * @fd: see chario_copy_in()
 * @copy: see chario_copy_in()
 *
 * The update goes on in parts of up to 4 MiB: it reads a part of the file, loads the same
 * part of the area as a view, and writes the blocks that differ.  Wherever an update ends,
 * each block is the old or the new one.  Nobody else may have a view of these parts or write
 * to them.  Written data are durable after chario_area_sync().
 *
 * Context: may sleep; several threads may update parts of one area that have no block in
 * common.
 * Return: see chario_copy_in(); or an error of chario_view_load(), with CHARIO_COPY_READ.
 */
int chario_copy_update(struct chario_area *area, int fd, struct chario_copy *copy);

#ifdef __cplusplus
}
#endif

#endif /* CHARIO_COPY_H */
