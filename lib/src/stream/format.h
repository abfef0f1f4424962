/* SPDX-License-Identifier: LGPL-2.1-or-later OR MIT */
/*
 * A recording as it lies in an area; docs/recording-format.md describes it.
 *
 * All numbers are little-endian, as the CPU is: see store/format.h.
 */
#ifndef CHARIO_STREAM_FORMAT_H
#define CHARIO_STREAM_FORMAT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Batches begin at blocks, and so do the data of records that were not copied. */
#define CHARIO_DISK_BLOCK 4096U

/* Alignment in bytes of the data of other records, and of their headers. */
#define CHARIO_DISK_DATA_ALIGN   64U
#define CHARIO_DISK_HEADER_ALIGN 8U

/* The data of records shorter than this may begin right behind their header. */
#define CHARIO_DISK_DENSE_END CHARIO_DISK_BLOCK

/* Smallest and largest length of a segment in bytes. */
#define CHARIO_DISK_SEGMENT_MIN (2 * CHARIO_DISK_BLOCK)
#define CHARIO_DISK_SEGMENT_MAX (128U << 20)

/* No recording reaches this count, so arithmetic on smaller numbers does not overflow. */
#define CHARIO_DISK_COUNT_MAX (1ULL << 62)

#define CHARIO_DISK_BATCH_MAGIC  0x48435443U /* CTCH */
#define CHARIO_DISK_RECORD_MAGIC 0x44435243U /* CRCD */
#define CHARIO_DISK_VERSION      1U

/* Flags of a batch. */
#define CHARIO_DISK_BATCH_END    (1U << 0) /* the recording was closed behind it */
#define CHARIO_DISK_BATCH_SEALED (1U << 1) /* its other blocks became durable first */
#define CHARIO_DISK_BATCH_MIDDLE (1U << 2) /* begins in the middle of a record */
#define CHARIO_DISK_BATCH_CLEAN  (1U << 3) /* in a ring: no earlier part has torn any of it */
#define CHARIO_DISK_BATCH_TOLD   (1U << 4) /* in a ring: its program records an end in the table */
#define CHARIO_DISK_BATCH_TIMES  (1U << 5) /* its first block has a struct chario_disk_times */
#define CHARIO_DISK_BATCH_STEADY (1U << 6) /* times of records are those of the system's clock */
#define CHARIO_DISK_BATCH_AFTER  (1U << 7) /* its part continues a closed recording */

/* Flags of a record; CHARIO_RECORD_META and CHARIO_RECORD_NO_CRC are lower bits. */
#define CHARIO_DISK_RECORD_FIRST (1U << 8) /* the record begins here */
#define CHARIO_DISK_RECORD_LAST  (1U << 9) /* the record ends here */
#define CHARIO_DISK_RECORD_VOID  (1U << 10) /* the record was taken back and has no data */
#define CHARIO_DISK_RECORD_APART (1U << 11) /* the data are behind the whole batch */

/**
 * struct chario_disk_batch - the header of a batch
 * @magic: CHARIO_DISK_BATCH_MAGIC
 * @version: CHARIO_DISK_VERSION
 * @header_bytes: distance from the start of the batch to the header of its first
 *	record, in bytes
 * @flags: CHARIO_DISK_BATCH_* bits
 * @crc: CRC-32C of these 128 bytes with this field as 0
 * @session: session of the recording in the table of the store
 * @part: random number of the program that recorded; APPEND begins a new part
 * @segment: number of the segment, from 0
 * @offset: offset of the batch in the segment in bytes
 * @bytes: length of the batch in bytes, up to the end of its last record
 * @serial: number of the batch in the recording, from 0
 * @sequence: number of the next record to begin, at the start of the batch
 * @next_sequence: number of the next record to begin, at the end of the batch
 * @records: number of records committed before the batch
 * @position: bytes of data in these records
 * @durable_records: number of durable records at the time the batch was written
 * @lost_records: number of records that the producer had lost at that time
 * @lost_bytes: bytes of data in the lost records
 * @time_ns: time of the first record in the batch, nanoseconds since 1970
 * @nr_records: number of records that end in the batch and were committed
 * @seal: CRC-32C of the rest of the first block, with CHARIO_DISK_BATCH_SEALED; else of
 *	&struct chario_disk_times, with CHARIO_DISK_BATCH_TIMES; else 0
 */
struct chario_disk_batch {
	uint32_t magic;
	uint16_t version;
	uint16_t header_bytes;
	uint32_t flags;
	uint32_t crc;
	uint64_t session;
	uint64_t part;
	uint64_t segment;
	uint32_t offset;
	uint32_t bytes;
	uint64_t serial;
	uint64_t sequence;
	uint64_t next_sequence;
	uint64_t records;
	uint64_t position;
	uint64_t durable_records;
	uint64_t lost_records;
	uint64_t lost_bytes;
	uint64_t time_ns;
	uint32_t nr_records;
	uint32_t seal;
};

/**
 * struct chario_disk_record - the header of a record or fragment
 * @magic: CHARIO_DISK_RECORD_MAGIC
 * @flags: CHARIO_DISK_RECORD_* and CHARIO_RECORD_* bits
 * @sequence: number of the record
 * @time_ns: time of the record, nanoseconds since 1970
 * @done_bytes: bytes of the record in earlier fragments
 * @bytes: bytes of this fragment
 * @data: distance from this header to its data in bytes
 * @next: distance from this header to the next in bytes
 * @crc: CRC-32C of this header with this field as 0, and of the data unless NO_CRC is
 *	set
 */
struct chario_disk_record {
	uint32_t magic;
	uint32_t flags;
	uint64_t sequence;
	uint64_t time_ns;
	uint64_t done_bytes;
	uint32_t bytes;
	uint32_t data;
	uint32_t next;
	uint32_t crc;
};

/**
 * struct chario_disk_times - the clock of a batch, between its first record header and data
 * @offset_ns: CLOCK_REALTIME - CLOCK_BOOTTIME in nanoseconds, with CHARIO_DISK_BATCH_STEADY
 * @run: serial number of the batch from whose first record on, up to the first record of this
 *	one, times have not gone back by more than CHARIO_DISK_TURN_NS
 */
struct chario_disk_times {
	int64_t offset_ns;
	uint64_t run;
};

/* Offset of the times in a batch in bytes. */
#define CHARIO_DISK_TIMES_AT 176U

/* Records whose time is earlier by no more than this are out of order, but in the same run. */
#define CHARIO_DISK_TURN_NS 1000000000ULL

/* Returns whether a time is so much earlier than another one that a run ends between them. */
static inline bool chario_disk_turns(uint64_t latest_ns, uint64_t time_ns)
{
	return latest_ns > CHARIO_DISK_TURN_NS && time_ns < latest_ns - CHARIO_DISK_TURN_NS;
}

/*
 * Returns whether a batch is of a program of the first release, which may not have recorded the end
 * of its recording in the table.
 */
static inline bool chario_disk_batch_is_of_first_release(const struct chario_disk_batch *batch)
{
	return !(batch->flags & CHARIO_DISK_BATCH_TIMES);
}

_Static_assert(sizeof(struct chario_disk_times) == 16, "times fit before the first data");
_Static_assert(sizeof(struct chario_disk_batch) == 128, "a batch header is 128 bytes");
_Static_assert(offsetof(struct chario_disk_batch, crc) == 12, "");
_Static_assert(offsetof(struct chario_disk_batch, session) == 16, "");
_Static_assert(offsetof(struct chario_disk_batch, segment) == 32, "");
_Static_assert(offsetof(struct chario_disk_batch, serial) == 48, "");
_Static_assert(offsetof(struct chario_disk_batch, durable_records) == 88, "");
_Static_assert(offsetof(struct chario_disk_batch, seal) == 124, "");
_Static_assert(sizeof(struct chario_disk_record) == 48, "a record header is 48 bytes");
_Static_assert(offsetof(struct chario_disk_record, bytes) == 32, "");
_Static_assert(offsetof(struct chario_disk_record, crc) == 44, "");

/* Offset in a batch of the data of its first record. */
#define CHARIO_DISK_FIRST_DATA 192U

static inline uint32_t chario_disk_round(uint32_t bytes, uint32_t multiple)
{
	return (bytes + multiple - 1) & ~(multiple - 1);
}

/*
 * Returns the seed of the checksums of records.  It depends on the recording, the segment and
 * the part, so that the earlier content of a slot never counts.
 */
uint32_t chario_disk_record_seed(uint64_t session, uint64_t part, uint64_t segment);

/*
 * Fill in the checksum of a header, and that of the times or the seal of the first block,
 * which must follow the header.
 */
void chario_disk_batch_sign(struct chario_disk_batch *block);

/*
 * Returns whether a block begins with a batch header of this recording, in a segment that
 * can be at its place.  Copies the header to @batch.
 */
bool chario_disk_batch_read(struct chario_disk_batch *batch, const void *block, uint64_t session,
			    uint32_t segment_bytes);

/* Returns whether the first block of a batch is unchanged since it was sealed. */
bool chario_disk_batch_sealed(const struct chario_disk_batch *batch, const void *block);

/* Returns whether the first block of a batch has times, and copies them. */
bool chario_disk_batch_times(const struct chario_disk_batch *batch, const void *block,
			     struct chario_disk_times *times);

/* Returns the checksum of a record, whatever its header has in the place of one. */
uint32_t chario_disk_record_crc(uint32_t seed, const struct chario_disk_record *record,
				const void *data, size_t bytes);

#endif /* CHARIO_STREAM_FORMAT_H */
