/* SPDX-License-Identifier: LGPL-2.1-or-later OR MIT */
/*
 * A reader of a recording, see chario/stream.h; also while it is being made, in
 * the same process or another.
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
 * @memory: its data, the reader's until the next call
 * @bytes: how many
 * @sequence: its number, from 0
 * @time_ns: when it was taken, nanoseconds since 1970
 * @flags: CHARIO_RECORD_* bits
 * @reserved: zero
 * @missing: numbers between the record before and this one: records that the
 *	producer lost, or that are damaged, or that the ring has overwritten
 *	since; of the first one, from 0 on, unless the ring had come round or
 *	there was a seek
 *
 * With -ENODATA, at the end of a recording, @sequence is the number behind its last
 * record, and @missing says how many are missing before it; all else is 0.
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
 * struct chario_recording - what there is of a recording
 * @size: sizeof(struct chario_recording)
 * @ended: 1 where it was closed, 0 where it is being made or was cut off
 * @ring: 1 where it is a ring
 * @segment_bytes: of a segment
 * @session: a number of this recording
 * @first_record: the oldest that is there
 * @next_record: the number after the newest that is there
 * @first_time_ns: of the first record in the oldest segment
 * @last_time_ns: of the first record that was written last
 * @bytes: of the data of all records until now, those that a ring has
 *	overwritten included
 * @durable_records: records, from the first on, that the producer knew to be
 *	durable when it wrote last
 * @lost_records: that the producer lost
 * @lost_bytes: of their data
 * @torn_segments: near the head that a power cut left incomplete, or that are being
 *	written: those that are missing, and the newest where it is not whole
 * @reads: of the disk, that the search for the head took
 * @missing_records: that it had when it was closed, and has no more: its end is damaged
 * @missing_bytes: of their data
 * @records: that were committed, those that a ring has overwritten included
 * @ended_ns: when it was closed last, nanoseconds since 1970; 0 where it was not, or by a
 *	program of the first release
 * @live: 1 while somebody records
 * @reserved: zero
 * @lost_before: of @lost_records, those in front of the oldest segment that is there
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
};

/**
 * chario_reader_open() - begin to read a recording
 * @store: an open store, which must stay open as long as the reader
 * @name: of an area that holds a recording; opened for reading
 * @reader: where the reader is put; the caller gives it to chario_reader_close()
 *
 * Stands before the oldest record.
 *
 * Context: may sleep.  A reader is for one thread.
 * Return: 0; -ENODATA where the area holds no recording; -EUCLEAN where the table says
 * what cannot be; -ENOMEM; and the errors of
 * chario_area_open().
 */
int chario_reader_open(struct chario_store *store, const char *name, struct chario_reader **reader);

/**
 * chario_reader_close() - end reading
 * @reader: the reader, or NULL, which is let pass
 *
 * Context: may sleep.
 */
void chario_reader_close(struct chario_reader *reader);

/**
 * chario_reader_get_recording() - what there is now
 * @reader: the reader; stays where it is
 * @recording: is filled in; members that the library does not know read as zero
 * @size: sizeof(*@recording)
 *
 * Searches for the head: reads as many headers as the logarithm of the number of
 * segments, and those of the segments that may have been in flight.
 *
 * Context: may sleep.
 * Return: 0; -EINVAL when @size is smaller than the first version of the struct;
 * or an error of pread(2).
 */
int chario_reader_get_recording(struct chario_reader *reader, struct chario_recording *recording,
				size_t size);

/**
 * chario_reader_next() - the next record
 * @reader: the reader
 * @timeout_ns: how long to wait for it where the recording is being made: 0 not at
 *	all, negative for ever
 * @record: is filled in
 *
 * What is damaged, cannot be read or was torn is passed over and counts as missing; while
 * somebody records, what is not whole yet is waited for.  A ring gives records without
 * checksum only where nobody can be overwriting them: some of the oldest segments are
 * left out when it is being recorded to, or was cut off.
 *
 * Context: may sleep.
 * Return: 0; -ENODATA at the end of a recording that was ended, with the number of those
 * that are missing there in @record, the first time; -EAGAIN where there is none yet, which is also the end of one that was cut off; -ESTALE where another
 * recording has been begun in the area: close the reader; -ENOMEM; or an error of
 * pread(2).
 */
int chario_reader_next(struct chario_reader *reader, int64_t timeout_ns,
		       struct chario_record *record);

/**
 * chario_reader_seek() - go to a record
 * @reader: the reader
 * @sequence: its number; where that record is gone, the next one that is there;
 *	UINT64_MAX for behind the newest
 *
 * A binary search over segments.
 *
 * Context: may sleep.
 * Return: 0; -ESTALE as for chario_reader_next(); or an error of pread(2).
 */
int chario_reader_seek(struct chario_reader *reader, uint64_t sequence);

/**
 * chario_reader_seek_time() - go to a time
 * @reader: the reader
 * @time_ns: nanoseconds since 1970; the next record is the first that was taken
 *	then or later, where times do not go back
 *
 * Context: may sleep.
 * Return: 0; -ESTALE as for chario_reader_next(); or an error of pread(2).
 */
int chario_reader_seek_time(struct chario_reader *reader, uint64_t time_ns);

#ifdef __cplusplus
}
#endif

#endif /* CHARIO_READER_H */
