/* SPDX-License-Identifier: LGPL-2.1-or-later OR MIT */
/*
 * A reader of a recording, see chario/stream.h.  The recording may still be being made, in
 * this process or another.
 */
#ifndef CHARIO_READER_H
#define CHARIO_READER_H

#include <stddef.h>
#include <stdint.h>

#include <chario/stream.h>

#ifdef __cplusplus
extern "C" {
#endif

/** struct chario_reader - a place in a recording; its members are private */
struct chario_reader;

/**
 * struct chario_record - a record of a recording
 * @memory: data, valid until the next call of the reader
 * @bytes: number of bytes
 * @sequence: number of the record, from 0
 * @time_ns: time of the record, nanoseconds since 1970
 * @flags: CHARIO_RECORD_* bits
 * @reserved: zero
 * @missing: number of records missing between the previous record and this one: the
 *	producer lost them, they are damaged, or the ring has overwritten them since.  For
 *	the first record they count from 0 on, unless the ring had wrapped around or there
 *	was a seek
 *
 * With -ENODATA, at the end of a recording, @sequence is the number behind the last record, and
 * @missing is the number of records missing before it; all else is 0.  So it is with -EAGAIN
 * where an interrupted recording lacks records that are known to have been durable; elsewhere
 * all is 0 with -EAGAIN.
 *
 * Programs make the struct, so it keeps its length.
 */
struct chario_record {
	const void *memory;
	size_t bytes;
	uint64_t sequence;
	uint64_t time_ns;
	uint32_t flags;
	uint32_t reserved;
	uint64_t missing;
};

/**
 * struct chario_recording - the state of a recording
 * @size: sizeof(struct chario_recording)
 * @ended: 1 if it was closed, 0 if it is being made or was interrupted
 * @ring: 1 if it is a ring
 * @segment_bytes: bytes of a segment
 * @session: number that identifies the recording
 * @first_record: number of the oldest record present
 * @next_record: number after that of the newest record present
 * @first_time_ns: time of the first record in the oldest segment, nanoseconds since
 *	1970; 0 if there is none
 * @last_time_ns: time of the newest record present, nanoseconds since 1970; 0 if there is none
 * @bytes: bytes of data in all records so far, including those that a ring has
 *	overwritten
 * @durable_records: number of records, from the first on, that the producer knew to be
 *	durable at its last write
 * @lost_records: number of records that the producer lost
 * @lost_bytes: bytes of data in the lost records, without those lost when the area was full
 * @torn_segments: number of segments near the head that a power cut left incomplete, that are
 *	damaged, or that are being written: those whose first header is missing; of the newest
 *	that has one, and those behind it, those with a bad batch before the last one; and that of
 *	the last batch if it is not whole
 * @reads: number of reads of the disk that the search for the head took, of 256 KiB at most
 * @missing_records: number of records that the recording had when it was closed and
 *	has no more, because its end is damaged
 * @missing_bytes: bytes of data in the missing records
 * @records: number of committed records, including those that a ring has overwritten
 * @ended_ns: time of the last closing, nanoseconds since 1970; 0 if there was none, or
 *	a program of the first release made it
 * @live: 1 while a producer is recording
 * @reserved: zero
 * @lost_before: number of lost records that come before the oldest segment present
 * @unreadable_segments: number of segments, the newest or behind it, of which the disk cannot
 *	read a block that may hold the newest records
 */
struct chario_recording {
	uint32_t size;
	uint32_t ended;
	uint32_t ring;
	uint32_t segment_bytes;
	uint64_t session;
	uint64_t first_record;
	uint64_t next_record;
	uint64_t first_time_ns;
	uint64_t last_time_ns;
	uint64_t bytes;
	uint64_t durable_records;
	uint64_t lost_records;
	uint64_t lost_bytes;
	uint32_t torn_segments;
	uint32_t reads;
	uint64_t missing_records;
	uint64_t missing_bytes;
	uint64_t records;
	uint64_t ended_ns;
	uint32_t live;
	uint32_t reserved;
	uint64_t lost_before;
	uint64_t unreadable_segments;
};

/**
 * chario_reader_open() - open a recording for reading
 * @store: an open store, which must stay open as long as the reader
 * @name: name of an area that holds a recording; the area is opened for reading
 * @reader: the new reader; the caller gives it to chario_reader_close()
 *
 * The reader is placed before the oldest record.
 *
 * Context: may sleep.  A reader is for one thread.
 * Return: 0; -ENODATA if the area holds no recording; -EUCLEAN if the table has impossible
 * values; -ENOMEM; and the errors of chario_area_open().
 */
int chario_reader_open(struct chario_store *store, const char *name, struct chario_reader **reader);

/**
 * chario_reader_close() - end reading
 * @reader: the reader, or NULL, which does nothing
 *
 * Context: may sleep.
 */
void chario_reader_close(struct chario_reader *reader);

/**
 * chario_reader_get_recording() - get the present state of a recording
 * @reader: the reader, whose place stays the same
 * @recording: struct to fill in; members that the library does not know read as zero
 * @size: sizeof(*@recording)
 *
 * The call searches for the head: it reads as many headers as the logarithm of the number
 * of segments, and those of the segments that may have been in flight; if there is damage
 * near the head, once all that may lie behind it; and if the recording is not being made, all of
 * the segment behind the last batch, and the rest of its segment if it was not closed, 256 KiB at a
 * time.
 *
 * Context: may sleep.
 * Return: 0; -EINVAL when @size is smaller than the first version of the struct; -ENODATA if the
 * area holds no recording any more; -EUCLEAN if the table has lost the area; -ENOMEM; or an error
 * of pread(2).
 */
int chario_reader_get_recording(struct chario_reader *reader, struct chario_recording *recording,
				size_t size);

/**
 * chario_reader_next() - the next record
 * @reader: the reader
 * @timeout_ns: longest wait for a record that is still being made, in nanoseconds: 0
 *	does not wait, a negative value waits for ever
 * @record: struct to fill in
 *
 * Records that are damaged, torn or unreadable are passed over and count as missing; while
 * there is a producer, the reader waits for records that are not yet whole.  A ring gives
 * records without checksum only if nobody can be overwriting them: some of the oldest
 * segments are left out when the ring is being recorded to, or was interrupted.
 *
 * Context: may sleep.
 * Return: 0; -ENODATA at the end of a recording that was ended; -EAGAIN if there is no record
 * yet, which is also the end of an interrupted recording; with both, the first time, the number
 * of records missing there in @record; -ESTALE if another recording has been begun in the area:
 * close the reader; -ENOMEM; or an error of pread(2).
 */
int chario_reader_next(struct chario_reader *reader, int64_t timeout_ns,
		       struct chario_record *record);

/**
 * chario_reader_boottime_ns() - the time of the present record on a clock that is never set
 * @reader: the reader
 *
 * It is the time of the record that the reader gave last, on CLOCK_BOOTTIME of the machine
 * that recorded it; unlike @time_ns of &struct chario_record, it goes on evenly if the clock
 * is set, to 50 ms, but begins anew when the machine starts.  Callbacks of a player may call it.
 *
 * Context: does not sleep.
 * Return: time in nanoseconds; 0 if the producer gave times other than the present, if the
 * recording has no such times, as those of the first release, and before the first record.
 */
uint64_t chario_reader_boottime_ns(const struct chario_reader *reader);

/**
 * chario_reader_count_missing() - count missing records that are no damage
 * @reader: the reader; it has read the recording from its beginning, or from a place that it
 *	went to
 * @lost: number of records, of those that it has counted in @missing of &struct chario_record
 *	since then, that the producer lost
 * @undurable: number of the others that the last readable batch of their part does not tell to
 *	have been durable
 *
 * Undurable records are what a power cut may take from a recording that was not closed, while
 * a record behind them stays.  So are the oldest ones of a ring, in segments that a program
 * was overwriting when it was interrupted; they are counted as well.  All other missing
 * records were durable and are damaged: all those of a part that was closed, and the last
 * batch of an interrupted part, as far as the program that continued the recording found it
 * whole.  The recording does not tell if another record became durable after the last batch
 * before an interruption: one that is damaged may count as not durable.
 *
 * Context: may sleep.
 * Return: 0; -ENODATA if the area holds no recording any more; -EUCLEAN if the table has lost the
 * area; or an error of pread(2).
 */
int chario_reader_count_missing(struct chario_reader *reader, uint64_t *lost, uint64_t *undurable);

/**
 * chario_reader_seek() - go to a record
 * @reader: the reader
 * @sequence: number of the record; if that record is gone, the next one present;
 *	UINT64_MAX for the place behind the newest
 *
 * The call makes a binary search over segments.
 *
 * Context: may sleep.
 * Return: 0; -ESTALE, see chario_reader_next(); -EUCLEAN if the table has lost the area; -ENOMEM;
 * or an error of pread(2).
 */
int chario_reader_seek(struct chario_reader *reader, uint64_t sequence);

/**
 * chario_reader_seek_newest() - go before the newest records
 * @reader: the reader
 * @records: number of records that the recording now has behind the new place, as far as
 *	it has so many; those that are missing count, too
 *
 * Context: may sleep.
 * Return: 0; -ESTALE, see chario_reader_next(); -EUCLEAN if the table has lost the area; -ENOMEM;
 * or an error of pread(2).
 */
int chario_reader_seek_newest(struct chario_reader *reader, uint64_t records);

/**
 * chario_reader_seek_time() - go to a time
 * @reader: the reader
 * @time_ns: time in nanoseconds since 1970
 *
 * The next record is the first of that time or later.  If the clock was set back while the
 * recording was made, it is the one, of those of that time or later, whose time is the
 * earliest.  Times that go back by no more than a second, as those of video do, are out of
 * order, but of a clock that was not set back.  Records behind it follow in the order in which
 * they were recorded, whatever their times are.
 *
 * The call makes binary searches over segments, up to a second before the time and up to each
 * place where the clock was set back, and reads on from there.  In a recording of the first
 * release it reads the headers of all segments.
 *
 * Context: may sleep.
 * Return: 0; -ESTALE, see chario_reader_next(); -EUCLEAN if the table has lost the area; -ENOMEM;
 * or an error of pread(2).
 */
int chario_reader_seek_time(struct chario_reader *reader, uint64_t time_ns);

#ifdef __cplusplus
}
#endif

#endif /* CHARIO_READER_H */
