/* SPDX-License-Identifier: LGPL-2.1-or-later OR MIT */
/*
 * A stream: an area of a store as a recording of records of any size.
 *
 * The producer gets room in a buffer, fills it, commits it.  Buffers make a ring of
 * memory that the drive reads directly (the pool of the module); each is a segment
 * of the recording, is written with one transfer when it is full, and several are
 * in flight at a time.  Nothing else is written: no metadata, no split.  In the
 * end, or after a power cut, the head of the recording is found by a binary search.
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
#define CHARIO_STREAM_RING   (1U << 0) /* when the area is full the oldest goes */
#define CHARIO_STREAM_APPEND (1U << 1) /* go on where the recording ends */
#define CHARIO_STREAM_NO_CRC (1U << 2) /* leave the checksum of records out */
#define CHARIO_STREAM_DENSE  (1U << 3) /* rooms of less than 4096 bytes begin at multiples of 8 */

/*
 * A segment with a record that has no checksum is written in two steps: all but its
 * first block, with Force Unit Access where the disk has a volatile write cache, then
 * that block.  So what a reader finds is whole all the same.
 */

/**
 * enum chario_durability - when records become durable
 * @CHARIO_DURABILITY_AUTO: what suits the disk: nothing to do where it has no
 *	volatile write cache (NVMe VWC), FLUSH elsewhere.  How much of a write a power
 *	cut leaves whole (AWUPF) makes no difference: what is torn has a wrong checksum
 * @CHARIO_DURABILITY_NONE: when the stream is closed, or waited for
 * @CHARIO_DURABILITY_FLUSH: by a flush of the disk, each so many bytes or after so
 *	much time, whichever is first
 * @CHARIO_DURABILITY_FUA: each segment by itself, by Force Unit Access
 */
enum chario_durability {
	CHARIO_DURABILITY_AUTO = 0,
	CHARIO_DURABILITY_NONE = 1,
	CHARIO_DURABILITY_FLUSH = 2,
	CHARIO_DURABILITY_FUA = 3,
};

/**
 * struct chario_stream_options - how to record
 * @size: sizeof(struct chario_stream_options)
 * @flags: CHARIO_STREAM_* bits; with APPEND the recording stays a ring, or none
 * @segment_bytes: of a buffer and of a segment on the disk, a multiple of 4096 from
 *	8 KiB to 128 MiB; 0 for 4 MiB, or less where the area has fewer than 16 of them, or
 *	64 for a ring, or what @record_bytes fill; with APPEND 0, or what the recording has
 * @nr_buffers: segments that are held in memory, 2 to 64; 0 for 8, or for as many as take
 *	64 MiB where that is less, 3 at least where the area has them
 * @durability: &enum chario_durability
 * @record_bytes: of a room, as chario_stream_get() is going to be asked for it most of the
 *	time: one lies in a segment as a whole, so where @segment_bytes are 0 they become a
 *	multiple of it; 0 where nobody knows, or for chario_stream_write() only, whose
 *	records fill segments of any length
 * @flush_bytes: for FLUSH: bytes between flushes; 0 for 64 MiB; not more than 128
 *	segments, or a sixteenth of a ring
 * @flush_ns: time after which what has been committed is written, and flushed with
 *	FLUSH, full or not; 0 for 1 s, up to INT64_MAX / 2
 * @late_ns: a segment that takes longer from its submission to its completion
 *	counts as late; 0 for 100 ms
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
 * struct chario_stream_fit - how a recording lies in an area
 * @size: sizeof(struct chario_stream_fit)
 * @segment_bytes: of a segment
 * @nr_buffers: segments that are held in memory
 * @reserved: zero
 * @segments: in the area; a ring has one less that is whole, when it has come round
 * @records: of @record_bytes of the options that these hold, in rooms; 0 where it is 0
 * @bytes: of the data of these records; where there are none, of one record that fills
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
 * chario_stream_get_fit() - how a recording would lie in an area
 * @area_bytes: of the area, see &struct chario_area_info; rounded up to 4096
 * @options: as for chario_stream_open(), without CHARIO_STREAM_APPEND; or NULL
 * @fit: is filled in; members that the library does not know read as zero
 * @size: sizeof(*@fit)
 *
 * What records need beside their data is left out: 128 bytes a segment, 48 to 111 a
 * record, and 48 to 55 where it is a copy of less than 4096 bytes, or a room of less than
 * that with CHARIO_STREAM_DENSE.  So is what is written before a segment is full, because time is over: each
 * time up to 4 KiB stay empty.
 *
 * Context: does not sleep.
 * Return: 0; -ENOSPC where the area is shorter than two segments; -EINVAL where an option
 * is out of its range, or @size is smaller than the first version of the struct.
 */
int chario_stream_get_fit(uint64_t area_bytes, const struct chario_stream_options *options,
			  struct chario_stream_fit *fit, size_t size);

/**
 * struct chario_stream_status - how a recording is going
 * @size: sizeof(struct chario_stream_status)
 * @durability: &enum chario_durability that is in force, never AUTO
 * @records: that have been committed, those of an earlier part included
 * @bytes: of their data
 * @durable_records: of them, from the first on, that a power cut leaves intact
 * @durable_bytes: of their data: the recording is durable up to this byte
 * @capacity_bytes: of the area that segments use
 * @segments: that have been begun, those of an earlier part included
 * @segment_bytes: of each
 * @nr_buffers: segments that are held in memory
 * @free_buffers: of them, that wait to be filled: 0 means that the next record
 *	that does not fit has to wait
 * @least_free_buffers: the fewest that there have been
 * @in_flight: batches, which are segments as a rule, that the disk is writing
 * @reserved: zero
 * @late: segments that took longer than @late_ns of the options
 * @late_ns: how much longer, together
 * @longest_ns: that a segment took
 * @waits: calls of chario_stream_get() that had to wait
 * @wait_ns: how long, together
 * @lost_records: that chario_stream_lose() has been told of
 * @lost_bytes: of their data
 * @retries: writes that failed and were made again
 * @flushes: of the disk
 * @segment_ns: p50, p99 and p999 of the time that segments take; 0 where there is
 *	none
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
	uint32_t reserved;
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
 * struct chario_stream_room - room for a record that has been got
 * @memory: its first byte, a multiple of 64, or of 8 with CHARIO_STREAM_DENSE where it has
 *	less than 4096 bytes; the caller's until the commit
 * @bytes: that there are
 * @buffer: that @memory lies in, for whoever has a device fill it
 * @buffer_offset: of @memory in it
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
#define CHARIO_RECORD_META   (1U << 0) /* says something about those that follow */
#define CHARIO_RECORD_NO_CRC (1U << 1) /* has no checksum */

/**
 * chario_stream_open() - begin a recording
 * @store: a store that is open for writing
 * @name: of an area, which the stream opens as its writer
 * @options: how, or NULL for the usual
 * @stream: where the stream is put; the caller gives it to chario_stream_close()
 *
 * What the area held is gone, unless CHARIO_STREAM_APPEND is set: then the head is
 * found, and the recording goes on after its last record that is whole.  Changes
 * the table once, not with APPEND; has all memory that recording needs.
 *
 * Context: may sleep.  A stream is for one producer thread; service, status, wait and
 * lose may be called by others at the same time.
 * Return: 0; -ENOENT where there is no such area; -ENOSPC where it is shorter than
 * two segments; -ENODATA with APPEND where it has no recording; -EINVAL where
 * an option is out of its range; -EBUSY where a move of the area was interrupted, which
 * chario_store_defrag() ends; -EOPNOTSUPP where the logical block of the disk is longer
 * than 4096; -EUCLEAN where the table says what cannot be; -ENOMEM, also where RLIMIT_MEMLOCK does not allow
 * the buffers; and the errors of chario_area_open().
 */
int chario_stream_open(struct chario_store *store, const char *name,
		       const struct chario_stream_options *options, struct chario_stream **stream);

/**
 * chario_stream_close() - end a recording
 * @stream: the stream, or NULL, which is let pass
 *
 * Writes what has been committed, makes it durable, and marks the end.  Rooms that
 * have been got and not committed are given back.  Waits for the drive, also after an
 * error: then no memory of others is in use any more.
 *
 * Context: may sleep.
 * Return: 0; -EPERM in a child of fork(2), where nothing is done and the stream stays
 * the parent's; else the error with which the recording ended: what was durable
 * before is.
 */
int chario_stream_close(struct chario_stream *stream);

/**
 * chario_stream_get() - get room for a record
 * @stream: the stream
 * @bytes: that the record may have at most, 1 to chario_stream_room_bytes()
 * @timeout_ns: how long to wait for a free buffer: 0 not at all, negative for ever
 * @room: is filled in
 *
 * Several rooms may be had at a time; records stand in the recording in the order in
 * which their rooms were got.  A segment is written when all of its rooms have
 * been committed.
 *
 * Context: may sleep where @timeout_ns is not 0.
 * Return: 0; -EAGAIN where no buffer has become free; -EMSGSIZE where @bytes are
 * more than a buffer has; -ENOSPC where the area is full and the stream is no ring;
 * -EINVAL where @bytes are 0; or the error with which writing failed, which ends
 * the recording.
 */
int chario_stream_get(struct chario_stream *stream, size_t bytes, int64_t timeout_ns,
		      struct chario_stream_room *room);

/**
 * chario_stream_commit() - a record is complete
 * @stream: the stream
 * @room: of chario_stream_get()
 * @bytes: of the record, up to those of the room; 0 takes the record back
 * @time_ns: when it was taken, nanoseconds since 1970; 0 for now
 * @flags: CHARIO_RECORD_* bits, or 0
 *
 * Computes the checksum, unless one of the flags says no.
 *
 * Context: does not sleep; submits a write when the segment is full.
 * Return: 0; -EINVAL where @bytes are more than the room has, or it is not one;
 * or the error with which writing failed.
 */
int chario_stream_commit(struct chario_stream *stream, const struct chario_stream_room *room,
			 size_t bytes, uint64_t time_ns, unsigned int flags);

/**
 * chario_stream_write() - record a copy
 * @stream: the stream
 * @memory: the record
 * @bytes: any number but 0; what does not fit into a segment goes on in the next, so
 *	that records of any length fill an area
 * @time_ns: as for chario_stream_commit()
 * @flags: as for chario_stream_commit()
 * @timeout_ns: as for chario_stream_get(), for the whole record
 *
 * Context: may sleep where @timeout_ns is not 0.
 * Return: 0: all of it has been committed; -EAGAIN: nothing of it has, though one that
 * is longer than chario_stream_room_bytes() may have used up room: who tries again takes
 * a longer @timeout_ns; -EMSGSIZE: it is longer than all segments of a ring but two; else
 * as chario_stream_get().
 */
int chario_stream_write(struct chario_stream *stream, const void *memory, size_t bytes,
			uint64_t time_ns, unsigned int flags, int64_t timeout_ns);

/**
 * chario_stream_writev() - record a copy of what lies in several places
 * @stream: the stream
 * @pieces: of the one record, in order
 * @nr_pieces: how many
 * @time_ns: as for chario_stream_commit()
 * @flags: as for chario_stream_commit()
 * @timeout_ns: as for chario_stream_write()
 *
 * Context: may sleep where @timeout_ns is not 0.
 * Return: as chario_stream_write().
 */
int chario_stream_writev(struct chario_stream *stream, const struct iovec *pieces, int nr_pieces,
			 uint64_t time_ns, unsigned int flags, int64_t timeout_ns);

/**
 * chario_stream_write_buffer() - record the content of a buffer without touching it
 * @stream: the stream
 * @buffer: of the store's device: a window, a dma-buf, any
 * @buffer_offset: of the record in it, a multiple of the DMA alignment
 * @bytes: of the record, a multiple of the logical block of the disk, up to the bytes of
 *	a segment less 4096
 * @time_ns: as for chario_stream_commit()
 * @flags: CHARIO_RECORD_META or 0; CHARIO_RECORD_NO_CRC is understood
 * @timeout_ns: as for chario_stream_get()
 * @released: becomes 1, by an atomic store, when the drive no longer reads the
 *	memory, in chario_stream_close() at the latest; or NULL.  Stays valid until
 *	then.  Where the call fails it stays as it was, and the memory is the caller's
 *
 * The drive fetches the bytes from where they are; the CPU reads none of them, so
 * there is no checksum.  Instead, what names the record is written only when its data
 * are durable: they are written with Force Unit Access where the disk has a volatile
 * write cache.
 *
 * A write that did not do all that it should may be late: it may still be with the
 * drive, which can take as long as recovery does (see chario(4), TIME).  Nothing more is
 * written, and the memory is not released, before no transfer uses @buffer, also
 * none of others.  After an error each call looks for that without waiting, and
 * chario_stream_close() waits for it.  @buffer may be freed when all that was
 * written from it has been released, or after the recording has ended with an error:
 * chario_buffer_free() waits for the drive.
 *
 * Whoever fills the memory has to be done before the call.  The descriptor of a dma-buf
 * may be closed once it is imported; where its exporter takes the memory back, the
 * recording ends with -EINVAL.
 *
 * Context: may sleep where @timeout_ns is not 0.
 * Return: as chario_stream_get(), but 0 also where the recording has ended after the
 * transfer had begun, which the next call says; -EMSGSIZE where @bytes are more than
 * that; -EINVAL where something is not aligned or not inside the buffer, or the buffer is
 * of another device.
 */
int chario_stream_write_buffer(struct chario_stream *stream, const struct chario_buffer *buffer,
			       uint64_t buffer_offset, size_t bytes, uint64_t time_ns,
			       unsigned int flags, int64_t timeout_ns, uint32_t *released);

/**
 * chario_stream_lose() - say that records were not recorded
 * @stream: the stream
 * @records: how many
 * @bytes: of their data, as far as known
 *
 * Their sequence numbers are left out, so that whoever reads the recording sees the
 * gap where it was; the recording carries the totals.
 *
 * Context: does not sleep.
 * Return: 0; -EINVAL where no sequence numbers are left, of which there are 2^62.
 */
int chario_stream_lose(struct chario_stream *stream, uint64_t records, uint64_t bytes);

/**
 * chario_stream_service() - let a recording go on
 * @stream: the stream
 *
 * Takes completions, writes and flushes what is due by time.  The other calls do
 * this too; a producer that waits elsewhere calls it when chario_stream_fd() is
 * readable.
 *
 * Context: does not sleep; any thread, at the same time as the producer's calls.
 * Return: 0, or the error with which writing failed.
 */
int chario_stream_service(struct chario_stream *stream);

/**
 * chario_stream_fd() - what to poll
 * @stream: the stream
 *
 * Return: a descriptor for poll(2) that is readable when chario_stream_service()
 * has something to do; the stream goes on to own it.
 */
int chario_stream_fd(const struct chario_stream *stream);

/**
 * chario_stream_wait() - wait until bytes are durable
 * @stream: the stream
 * @bytes: up to where, see @durable_bytes of &struct chario_stream_status; UINT64_MAX
 *	for all that has been committed
 * @timeout_ns: how long: 0 not at all, negative for ever
 *
 * Has what is needed written and flushed at once, whatever the durability.  Records
 * in the same segment as a room that is out, or behind it, wait for its commit.
 *
 * Context: may sleep.
 * Return: 0; -EAGAIN where the time is over; -EINVAL where @bytes have not been
 * committed; or the error with which writing failed.
 */
int chario_stream_wait(struct chario_stream *stream, uint64_t bytes, int64_t timeout_ns);

/**
 * chario_stream_get_status() - how a recording is going
 * @stream: the stream
 * @status: is filled in; members that the library does not know read as zero
 * @size: sizeof(*@status)
 *
 * Context: does not sleep.
 * Return: 0; -EINVAL when @size is smaller than the first version of the struct.
 */
int chario_stream_get_status(struct chario_stream *stream, struct chario_stream_status *status,
			     size_t size);

/**
 * chario_stream_room_bytes() - the longest record that chario_stream_get() gives room for
 * @stream: the stream
 *
 * Return: its bytes.
 */
size_t chario_stream_room_bytes(const struct chario_stream *stream);

#ifdef __cplusplus
}
#endif

#endif /* CHARIO_STREAM_H */
