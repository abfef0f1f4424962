/* SPDX-License-Identifier: LGPL-2.1-or-later OR MIT */
/*
 * A stream: an area of a store as a recording of records of any size.
 *
 * The producer gets room in a buffer, fills it, and commits it.  The buffers are a ring of
 * memory that the drive reads directly (the pool of the module).  Each buffer is a segment
 * of the recording and is written with one transfer when it is full; several are in flight
 * at a time.  No metadata are written, and no transfer is split.  At the end, or after a
 * power cut, the head of the recording is found by a binary search.
 *
 *	err = chario_stream_open(store, "camera0", &options, &stream);
 *	while (!err && next_frame_bytes(&bytes)) {
 *		err = chario_stream_get(stream, bytes, timeout_ns, &room);
 *		if (err == -EAGAIN)
 *			err = chario_stream_lose(stream, 1, bytes);
 *		else if (!err)
 *			err = chario_stream_commit(stream, &room, grab(room.memory), 0, 0);
 *	}
 *	err = chario_stream_close(stream);
 *
 * The format is in docs/recording-format.md.
 */
#ifndef CHARIO_STREAM_H
#define CHARIO_STREAM_H

#include <stddef.h>
#include <stdint.h>
#include <sys/uio.h>

#include <chario/area.h>

#ifdef __cplusplus
extern "C" {
#endif

/** struct chario_stream - a recording that is being made; its members are private */
struct chario_stream;

/* Flags of &struct chario_stream_options. */
#define CHARIO_STREAM_RING   (1U << 0) /* overwrite the oldest records when the area is full */
#define CHARIO_STREAM_APPEND (1U << 1) /* continue a recording at its end */
#define CHARIO_STREAM_NO_CRC (1U << 2) /* leave out the checksum of records */
#define CHARIO_STREAM_DENSE  (1U << 3) /* rooms of less than 4096 bytes begin at multiples of 8 */

/* Where a recording begins: fail if the area has anything to lose, like O_EXCL. */
#define CHARIO_STREAM_EXCL (1U << 4)

/*
 * With CHARIO_STREAM_APPEND: begin a recording if the area has none; what else the area holds is lost
 * then, unless CHARIO_STREAM_EXCL is set.
 */
#define CHARIO_STREAM_BEGIN (1U << 5)

/*
 * A segment with a record that has no checksum is written in two steps: all but its first
 * block, with Force Unit Access if the disk has a volatile write cache, then that block.
 * So a reader still finds only whole segments.
 */

/**
 * enum chario_durability - the way records become durable
 * @CHARIO_DURABILITY_AUTO: the way that suits the disk: nothing to do if it has no
 *	volatile write cache (NVMe VWC), else FLUSH.  The part of a write that a power cut
 *	leaves whole (AWUPF) makes no difference: torn data have a wrong checksum
 * @CHARIO_DURABILITY_NONE: records become durable when the stream is closed, or waited
 *	for
 * @CHARIO_DURABILITY_FLUSH: the disk is flushed after a number of bytes or an
 *	interval, whichever comes first
 * @CHARIO_DURABILITY_FUA: each segment is written with Force Unit Access
 */
enum chario_durability {
	CHARIO_DURABILITY_AUTO = 0,
	CHARIO_DURABILITY_NONE = 1,
	CHARIO_DURABILITY_FLUSH = 2,
	CHARIO_DURABILITY_FUA = 3,
};

/**
 * struct chario_stream_options - the options of a recording
 * @size: sizeof(struct chario_stream_options)
 * @flags: CHARIO_STREAM_* bits; APPEND ignores RING and EXCL
 * @segment_bytes: length of a buffer and of a segment on the disk, a multiple of 4096
 *	from 8 KiB to 128 MiB; 0 for 4 MiB, or less if the area has fewer than 16 of them,
 *	or 64 for a ring, or the length that rooms of @record_bytes fill; with APPEND 0, or
 *	the value of the recording
 * @nr_buffers: number of segments held in memory, 2 to 64; 0 for 8, or for as many as
 *	take 64 MiB if that is less, at least 3 if the area has them
 * @durability: &enum chario_durability
 * @record_bytes: usual number of bytes asked of chario_stream_get().  A room lies in
 *	one segment, so if @segment_bytes is 0, segments become a multiple of it; 0 if
 *	unknown, or for chario_stream_write() only, whose records fill segments of any
 *	length
 * @flush_bytes: for FLUSH: bytes between flushes; 0 for 64 MiB; at most 128 segments,
 *	or a sixteenth of a ring
 * @flush_ns: nanoseconds after which committed records are written even if the segment
 *	is not full, and flushed with FLUSH; 0 for 1 s, up to INT64_MAX / 2
 * @late_ns: nanoseconds from submission to completion above which a segment counts as
 *	late; 0 for 100 ms
 */
struct chario_stream_options {
	uint32_t size;
	uint32_t flags;
	uint32_t segment_bytes;
	uint32_t nr_buffers;
	uint32_t durability;
	uint32_t record_bytes;
	uint64_t flush_bytes;
	uint64_t flush_ns;
	uint64_t late_ns;
};

/**
 * struct chario_stream_fit - the fit of a recording in an area
 * @size: sizeof(struct chario_stream_fit)
 * @segment_bytes: bytes of a segment
 * @nr_buffers: number of segments held in memory
 * @reserved: zero
 * @segments: number of segments in the area; a ring that has wrapped around has one
 *	whole segment less
 * @records: number of records of @record_bytes of the options that these hold, in
 *	rooms; 0 if that is 0
 * @bytes: bytes of data in these records; if there are none, of one record that fills
 *	all segments
 */
struct chario_stream_fit {
	uint32_t size;
	uint32_t segment_bytes;
	uint32_t nr_buffers;
	uint32_t reserved;
	uint64_t segments;
	uint64_t records;
	uint64_t bytes;
};

/**
 * chario_stream_get_fit() - compute the fit of a recording in an area
 * @area_bytes: length of the area, see &struct chario_area_info; it is rounded up to
 *	4096
 * @options: see chario_stream_open(), without CHARIO_STREAM_APPEND and _BEGIN; or NULL
 * @fit: struct to fill in; members that the library does not know read as zero
 * @size: sizeof(*@fit)
 *
 * The result does not count the overhead of records: 128 bytes a segment, 48 to 111 a
 * record, and 48 to 55 for a copy of less than 4096 bytes, or a room of less than that with
 * CHARIO_STREAM_DENSE.  Nor does it count segments written before they are full, because
 * @flush_ns has passed: each such write leaves up to 4 KiB empty.
 *
 * Context: does not sleep.
 * Return: 0; -ENOSPC if the area is shorter than two segments; -EINVAL if an option is out
 * of its range, or @size is smaller than the first version of the struct.
 */
int chario_stream_get_fit(uint64_t area_bytes, const struct chario_stream_options *options,
			  struct chario_stream_fit *fit, size_t size);

/**
 * struct chario_stream_status - the status of a recording
 * @size: sizeof(struct chario_stream_status)
 * @durability: &enum chario_durability in force, never AUTO
 * @records: number of committed records, including an earlier part
 * @bytes: bytes of their data
 * @durable_records: number of records, from the first on, that a power cut leaves
 *	intact
 * @durable_bytes: bytes of their data: the recording is durable up to this byte
 * @capacity_bytes: bytes of the area that segments use
 * @segments: number of segments begun, including an earlier part
 * @segment_bytes: bytes of a segment
 * @nr_buffers: number of segments held in memory
 * @free_buffers: number of these that wait to be filled; at 0 the next record that
 *	does not fit has to wait
 * @least_free_buffers: smallest number of free buffers so far
 * @in_flight: number of batches, usually segments, that are being written
 * @reduced: 1 if @nr_buffers or @segment_bytes are less than usual, because there was no
 *	memory for more, see chario_stream_open()
 * @late: number of segments that took longer than @late_ns of the options
 * @late_ns: total time beyond @late_ns in nanoseconds
 * @longest_ns: longest time of a segment in nanoseconds
 * @waits: number of calls of chario_stream_get() that had to wait
 * @wait_ns: total time of these waits in nanoseconds
 * @lost_records: number of records reported to chario_stream_lose(), including an earlier part
 * @lost_bytes: bytes of their data
 * @retries: number of writes that failed and were repeated
 * @flushes: number of flushes of the disk
 * @segment_ns: p50, p99 and p999 of the time of segments in nanoseconds; 0 if there
 *	are none
 */
struct chario_stream_status {
	uint32_t size;
	uint32_t durability;
	uint64_t records;
	uint64_t bytes;
	uint64_t durable_records;
	uint64_t durable_bytes;
	uint64_t capacity_bytes;
	uint64_t segments;
	uint32_t segment_bytes;
	uint32_t nr_buffers;
	uint32_t free_buffers;
	uint32_t least_free_buffers;
	uint32_t in_flight;
	uint32_t reduced;
	uint64_t late;
	uint64_t late_ns;
	uint64_t longest_ns;
	uint64_t waits;
	uint64_t wait_ns;
	uint64_t lost_records;
	uint64_t lost_bytes;
	uint64_t retries;
	uint64_t flushes;
	uint64_t segment_ns[3];
};

/**
 * struct chario_stream_room - room for a record
 * @memory: address of its first byte, a multiple of 64, or of 8 with
 *	CHARIO_STREAM_DENSE if it has less than 4096 bytes; the caller's until the commit
 * @bytes: length in bytes
 * @buffer: buffer that @memory lies in, for a device that fills it
 * @buffer_offset: offset of @memory in the buffer in bytes
 * @token: private
 */
struct chario_stream_room {
	void *memory;
	size_t bytes;
	const struct chario_buffer *buffer;
	uint64_t buffer_offset;
	uint64_t token;
};

/* Flags of chario_stream_commit(), chario_stream_write() and of a record. */
#define CHARIO_RECORD_META   (1U << 0) /* the record describes those that follow */
#define CHARIO_RECORD_NO_CRC (1U << 1) /* the record has no checksum */

/**
 * chario_stream_open() - begin a recording
 * @store: a store that is open for writing
 * @name: name of an area, which the stream opens as its writer
 * @options: options, or NULL for the defaults
 * @stream: the new stream; the caller gives it to chario_stream_close()
 *
 * Where a recording begins, the old content of the area is lost.  With CHARIO_STREAM_APPEND
 * the head of the recording in the area is found, and it continues after its last whole
 * record; with CHARIO_STREAM_BEGIN beside that, a recording begins if the area has none, as
 * for the first of a series of calls.  With CHARIO_STREAM_EXCL the call fails where it would
 * begin one and the area has a recording with records, or one that cannot be read, or a file
 * that chario_copy_in() puts or has put there.  It looks while it holds the area's lock: if
 * two programs begin at once, one of them gets -EBUSY or -EEXIST.  The call changes the table
 * once: a recording that was closed and is continued no longer counts as closed.  Where it
 * continues one that was interrupted it changes nothing there, but for a ring behind segments
 * that cannot be read; it writes batches of the last segments again that a failed flush may have
 * dropped, and flushes.  It allocates all memory that recording needs.  If RLIMIT_MEMLOCK does not
 * allow the usual buffers, it chooses fewer and, in a new recording, shorter ones, of 64 KiB at
 * least, unless the options have their number or length.
 *
 * Context: may sleep.  A stream is for one producer thread; other threads may call
 * chario_stream_service(), chario_stream_get_status(), chario_stream_wait() and
 * chario_stream_lose() at the same time.
 * Return: 0; -ENOENT if there is no such area; -ENOSPC if it is shorter than two segments;
 * -ENODATA with APPEND and without BEGIN if it has no recording; with EXCL, where a recording
 * would begin, -EEXIST if it has records, and -EALREADY if it has a file, or a part of one;
 * -EINVAL if an option is out of its range, BEGIN is there without APPEND, or the recording
 * that is to be continued has segments of another length than the options, or is no ring
 * although RING is set; -EBUSY if a move of the area was interrupted, which
 * chario_store_defrag() completes or takes back; -EIO with APPEND, also if segments can be read now
 * that could not be read before, as after a reset: try again; -EOPNOTSUPP if the logical block of
 * the disk is longer than 4096; -EUCLEAN if the table has impossible values; -ENOMEM, also if RLIMIT_MEMLOCK does not
 * allow two buffers; and the errors of chario_area_open().
 */
int chario_stream_open(struct chario_store *store, const char *name,
		       const struct chario_stream_options *options, struct chario_stream **stream);

/**
 * chario_stream_remove_unused() - remove an area that has nothing to lose
 * @store: a store that is open for writing
 * @name: name of the area, which is not open
 * @id: number of the area, see &struct chario_area_info
 *
 * It is for a program that has created an area and cannot record to it, or copy into it: the area
 * stays if another one has recorded to it, or has written down a part of a copy, or has created one
 * of this name, in the meantime.
 *
 * Context: may sleep.
 * Return: 0; -ENOENT if there is none of this name and number; -EEXIST and -EALREADY, see
 * chario_stream_open(); and the errors of chario_store_remove().
 */
int chario_stream_remove_unused(struct chario_store *store, const char *name, uint64_t id);

/**
 * chario_stream_close() - end a recording
 * @stream: the stream, or NULL, which does nothing
 *
 * The call writes the committed records, makes them durable, and marks the end.  Rooms that
 * have not been committed are given back.  It waits for the drive even after an error, so
 * no memory of the caller is in use afterwards.
 *
 * Context: may sleep.
 * Return: 0; -EPERM in a child of fork(2), where nothing is done and the stream stays the
 * parent's; else the error that ended the recording: records that were durable before stay
 * so.
 */
int chario_stream_close(struct chario_stream *stream);

/**
 * chario_stream_get() - get room for a record
 * @stream: the stream
 * @bytes: largest length of the record in bytes, 1 to chario_stream_room_bytes()
 * @timeout_ns: longest wait for a free buffer in nanoseconds: 0 does not wait, a
 *	negative value waits for ever
 * @room: struct to fill in
 *
 * Several rooms may be out at a time; records have the order in which their rooms were got.
 * A segment is written when all of its rooms have been committed.
 *
 * Context: may sleep if @timeout_ns is not 0.
 * Return: 0; -EAGAIN if no buffer has become free; -EMSGSIZE if @bytes are more than a
 * buffer has; -ENOSPC if the area is full and the stream is no ring; -EINVAL if @bytes are
 * 0; or the error of a failed write, which ends the recording.
 */
int chario_stream_get(struct chario_stream *stream, size_t bytes, int64_t timeout_ns,
		      struct chario_stream_room *room);

/**
 * chario_stream_commit() - commit a complete record
 * @stream: the stream
 * @room: room from chario_stream_get()
 * @bytes: length of the record in bytes, up to that of the room; 0 takes the record
 *	back
 * @time_ns: time of the record, nanoseconds since 1970; 0 for the present time
 * @flags: CHARIO_RECORD_* bits, or 0
 *
 * The call computes the checksum, unless a flag forbids it.
 *
 * Context: does not sleep; submits a write when the segment is full.
 * Return: 0; -EINVAL if @bytes are more than the room has, or @room is invalid; or the
 * error of a failed write.
 */
int chario_stream_commit(struct chario_stream *stream, const struct chario_stream_room *room,
			 size_t bytes, uint64_t time_ns, unsigned int flags);

/**
 * chario_stream_write() - record a copy
 * @stream: the stream
 * @memory: the record
 * @bytes: length of the record in bytes, not 0; a record that does not fit into a
 *	segment continues in the next, so that records of any length fill an area
 * @time_ns: see chario_stream_commit()
 * @flags: see chario_stream_commit()
 * @timeout_ns: timeout for the whole record, see chario_stream_get()
 *
 * Context: may sleep if @timeout_ns is not 0.
 * Return: 0 if all of it has been committed; -EAGAIN if nothing of it has, though a record
 * longer than chario_stream_room_bytes() may have used up room: use a longer @timeout_ns to
 * try again; -EMSGSIZE if it is longer than all segments of a ring but two; else the errors
 * of chario_stream_get().
 */
int chario_stream_write(struct chario_stream *stream, const void *memory, size_t bytes,
			uint64_t time_ns, unsigned int flags, int64_t timeout_ns);

/**
 * chario_stream_writev() - record a copy of several pieces
 * @stream: the stream
 * @pieces: pieces of the record in order
 * @nr_pieces: number of pieces
 * @time_ns: see chario_stream_commit()
 * @flags: see chario_stream_commit()
 * @timeout_ns: see chario_stream_write()
 *
 * Context: may sleep if @timeout_ns is not 0.
 * Return: the results of chario_stream_write().
 */
int chario_stream_writev(struct chario_stream *stream, const struct iovec *pieces, int nr_pieces,
			 uint64_t time_ns, unsigned int flags, int64_t timeout_ns);

/**
 * chario_stream_write_buffer() - record the content of a buffer without copying it
 * @stream: the stream
 * @buffer: buffer of the store's device: a window, a dma-buf, any kind
 * @buffer_offset: offset of the record in the buffer, a multiple of the DMA alignment
 * @bytes: length of the record in bytes, a multiple of the logical block of the disk,
 *	up to that of a segment less 4096
 * @time_ns: see chario_stream_commit()
 * @flags: CHARIO_RECORD_META or 0; CHARIO_RECORD_NO_CRC is implied
 * @timeout_ns: see chario_stream_get()
 * @released: flag that becomes 1, by an atomic store, when the drive no longer reads
 *	the memory, at the latest in chario_stream_close(); or NULL.  It must stay valid
 *	until then.  If the call fails, the flag stays unchanged, and the memory is the
 *	caller's
 *
 * The drive reads the bytes directly from the buffer and the CPU reads none of them, so
 * there is no checksum.  Instead, the header of the record is written only when its data
 * are durable: they are written with Force Unit Access if the disk has a volatile write
 * cache.
 *
 * A write that moved fewer bytes than asked may be late: it may still be with the drive,
 * for as long as recovery takes (see chario(4), TIME).  Nothing more is written, and the
 * memory is not released, until no transfer uses @buffer, including those of other callers.
 * After an error each call checks for that without waiting, and chario_stream_close() waits
 * for it.  @buffer may be freed when all data written from it have been released, or after
 * the recording has ended with an error: chario_buffer_free() waits for the drive.
 *
 * The memory must be filled before the call.  The descriptor of a dma-buf may be closed
 * once it is imported; if its exporter takes the memory back, the recording ends with
 * -EINVAL.
 *
 * Context: may sleep if @timeout_ns is not 0.
 * Return: the results of chario_stream_get(), but 0 also if the recording has ended after
 * the transfer had begun, which the next call reports; -EMSGSIZE if @bytes are too many;
 * -EINVAL if something is not aligned or not inside the buffer, or the buffer belongs to
 * another device.
 */
int chario_stream_write_buffer(struct chario_stream *stream, const struct chario_buffer *buffer,
			       uint64_t buffer_offset, size_t bytes, uint64_t time_ns,
			       unsigned int flags, int64_t timeout_ns, uint32_t *released);

/**
 * chario_stream_lose() - report records that were not recorded
 * @stream: the stream
 * @records: number of records
 * @bytes: bytes of their data, as far as known
 *
 * The sequence numbers of these records are left out, so that a reader of the recording
 * sees the gap in its place; the recording carries the totals.
 *
 * Context: does not sleep.
 * Return: 0; -EINVAL if no sequence numbers are left, of which there are 2^62.
 */
int chario_stream_lose(struct chario_stream *stream, uint64_t records, uint64_t bytes);

/**
 * chario_stream_service() - do the work of a recording that is due
 * @stream: the stream
 *
 * The call takes completions, and writes and flushes what is due by time.  The other calls
 * do this too; a producer that waits elsewhere calls it when chario_stream_fd() is
 * readable.
 *
 * Context: does not sleep; any thread, at the same time as the producer's calls.
 * Return: 0, or the error of a failed write.
 */
int chario_stream_service(struct chario_stream *stream);

/**
 * chario_stream_fd() - a file descriptor to poll
 * @stream: the stream
 *
 * Return: a descriptor for poll(2) that is readable when chario_stream_service() has work
 * to do; the stream keeps owning it.
 */
int chario_stream_fd(const struct chario_stream *stream);

/**
 * chario_stream_wait() - wait until bytes are durable
 * @stream: the stream
 * @bytes: byte up to which to wait, see @durable_bytes of &struct
 *	chario_stream_status; UINT64_MAX for all committed records
 * @timeout_ns: longest wait in nanoseconds: 0 does not wait, a negative value waits
 *	for ever
 *
 * The call writes and flushes the needed data at once, whatever the durability.  Records in
 * the same segment as a room that is out, or behind it, wait for the commit of that room.
 *
 * Context: may sleep.
 * Return: 0; -EAGAIN after the timeout; -EINVAL if @bytes have not been committed; or the
 * error of a failed write.
 */
int chario_stream_wait(struct chario_stream *stream, uint64_t bytes, int64_t timeout_ns);

/**
 * chario_stream_get_status() - get the status of a recording
 * @stream: the stream
 * @status: struct to fill in; members that the library does not know read as zero
 * @size: sizeof(*@status)
 *
 * Context: does not sleep.
 * Return: 0; -EINVAL when @size is smaller than the first version of the struct.
 */
int chario_stream_get_status(struct chario_stream *stream, struct chario_stream_status *status,
			     size_t size);

/**
 * chario_stream_room_bytes() - the longest record that chario_stream_get() can give room for
 * @stream: the stream
 *
 * Return: number of bytes.
 */
size_t chario_stream_room_bytes(const struct chario_stream *stream);

#ifdef __cplusplus
}
#endif

#endif /* CHARIO_STREAM_H */
