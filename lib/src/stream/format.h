/* SPDX-License-Identifier: LGPL-2.1-or-later OR MIT */
/*
 * A recording as it lies in an area; docs/recording-format.md describes it.
 *
 * All numbers are little-endian.
 */
#ifndef CHARIO_STREAM_FORMAT_H
#define CHARIO_STREAM_FORMAT_H

#include <endian.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Batches, and the data of records that were not copied, begin at blocks. */
#define CHARIO_DISK_BLOCK 4096U

/* The memory of other records begins at multiples of this, their headers of that. */
#define CHARIO_DISK_DATA_ALIGN   64U
#define CHARIO_DISK_HEADER_ALIGN 8U

/* Where that of shorter ones may begin right behind their header. */
#define CHARIO_DISK_DENSE_END CHARIO_DISK_BLOCK

/* A segment is that long. */
#define CHARIO_DISK_SEGMENT_MIN (2 * CHARIO_DISK_BLOCK)
#define CHARIO_DISK_SEGMENT_MAX (128U << 20)

/* No recording gets so far; what is computed with lesser numbers does not overflow. */
#define CHARIO_DISK_COUNT_MAX (1ULL << 62)

#define CHARIO_DISK_BATCH_MAGIC  0x48435443U /* CTCH */
#define CHARIO_DISK_RECORD_MAGIC 0x44435243U /* CRCD */
#define CHARIO_DISK_VERSION      1U

/* Flags of a batch. */
#define CHARIO_DISK_BATCH_END    (1U << 0) /* the recording was closed behind it */
#define CHARIO_DISK_BATCH_SEALED (1U << 1) /* was durable before its first block was written */
#define CHARIO_DISK_BATCH_MIDDLE (1U << 2) /* begins in the middle of a record */
#define CHARIO_DISK_BATCH_CLEAN  (1U << 3) /* of a ring: no earlier part has torn any of it */
#define CHARIO_DISK_BATCH_TOLD   (1U << 4) /* of a ring: while it is ended the table says so */

/* Flags of a record; CHARIO_RECORD_META and CHARIO_RECORD_NO_CRC stand below. */
#define CHARIO_DISK_RECORD_FIRST (1U << 8) /* begins here */
#define CHARIO_DISK_RECORD_LAST  (1U << 9) /* ends here */
#define CHARIO_DISK_RECORD_VOID  (1U << 10) /* was taken back, and has no data */
#define CHARIO_DISK_RECORD_APART (1U << 11) /* its data are behind all of the batch */

/**
 * struct chario_disk_batch - what a batch begins with
 * @magic: CHARIO_DISK_BATCH_MAGIC
 * @version: CHARIO_DISK_VERSION
 * @header_bytes: from the start of the batch to the header of its first record
 * @flags: CHARIO_DISK_BATCH_* bits
 * @crc: CRC-32C of these 128 bytes with 0 here
 * @session: of the recording, as the table of the store has it
 * @part: a random number of the program that recorded; APPEND begins a new part
 * @segment: number of the segment, from 0
 * @offset: of the batch in the segment
 * @bytes: of the batch, up to the end of its last record
 * @serial: number of the batch in the recording, from 0
 * @sequence: of the next record that begins, as the batch began
 * @next_sequence: the same as the batch ended
 * @records: that had been committed before the batch
 * @position: bytes of their data
 * @durable_records: that were durable as the batch was written
 * @lost_records: that the producer had lost as the batch was written
 * @lost_bytes: of their data
 * @time_ns: of the first record in the batch
 * @nr_records: that were committed in the batch: those that end in it
 * @seal: CRC-32C of the rest of the first block, with CHARIO_DISK_BATCH_SEALED; else 0
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
 * struct chario_disk_record - what stands before the data of a record
 * @magic: CHARIO_DISK_RECORD_MAGIC
 * @flags: CHARIO_DISK_RECORD_* and CHARIO_RECORD_* bits
 * @sequence: number of the record
 * @time_ns: when it was taken, nanoseconds since 1970
 * @done_bytes: of the record in the fragments before this one
 * @bytes: of this fragment
 * @data: distance from this header to its data
 * @next: distance from this header to the next
 * @crc: CRC-32C of this header with 0 here, and of the data unless NO_CRC is set
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

/* Where the memory of a record begins whose header is first in a batch. */
#define CHARIO_DISK_FIRST_DATA 192U

static inline uint32_t chario_disk_round(uint32_t bytes, uint32_t multiple)
{
	return (bytes + multiple - 1) & ~(multiple - 1);
}

/*
 * Seeds of checksums.  That of a batch header knows the recording; that of records
 * knows the segment and the part too, so that what a slot held before never counts.
 */
uint32_t chario_disk_batch_seed(uint64_t session);
uint32_t chario_disk_record_seed(uint64_t session, uint64_t part, uint64_t segment);

/* Convert a batch header to the order of bytes of this machine, or from it. */
void chario_disk_batch_swap(struct chario_disk_batch *to, const struct chario_disk_batch *from);

/*
 * Fill in the checksum, and the seal of a batch that is sealed, of a header that is
 * converted and has its block behind it.
 */
void chario_disk_batch_sign(struct chario_disk_batch *block);

/*
 * Whether a block begins with a batch header of this recording, and of the one
 * segment that can be at its place; @batch gets it, converted.
 */
bool chario_disk_batch_read(struct chario_disk_batch *batch, const void *block, uint64_t session,
			    uint32_t segment_bytes);

/* Whether the first block of a batch is the one that it was sealed with. */
bool chario_disk_batch_sealed(const struct chario_disk_batch *batch, const void *block);

/* The checksum of a record whose header is as on the disk, crc left out. */
uint32_t chario_disk_record_crc(uint32_t seed, const struct chario_disk_record *record,
				const void *data, size_t bytes);

#endif /* CHARIO_STREAM_FORMAT_H */
