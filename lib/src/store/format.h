/* SPDX-License-Identifier: LGPL-2.1-or-later OR MIT */
/*
 * The store on the disk, byte by byte; docs/store-format.md explains the format.
 *
 *	block 0				header, first copy
 *	block 1				note of the last changes
 *	block 2 ...			table, first copy
 *	data_offset ...			areas
 *	second_offset ...		table, second copy
 *	last block			header, second copy
 *
 * All blocks have 4096 bytes and begin with struct store_head.  Numbers are little-endian.
 */
#ifndef CHARIO_STORE_FORMAT_H
#define CHARIO_STORE_FORMAT_H

#include <assert.h>
#include <stdint.h>

#include <chario/store.h>

#if __BYTE_ORDER__ != __ORDER_LITTLE_ENDIAN__
#error "the numbers of a store are little-endian, and so must the CPU be"
#endif

#define STORE_VERSION 1

/* Bits of @read_features: the note of the last changes has a log; areas may have attributes. */
#define STORE_FEATURE_LOG   (1ULL << 0)
#define STORE_READ_FEATURES STORE_FEATURE_LOG

#define STORE_MAGIC_HEADER      0x3154536f69726843ULL /* "ChrioST1" */
#define STORE_MAGIC_MAKING      0x314d466f69726843ULL /* "ChrioFM1", in the place of a header */
#define STORE_MAGIC_CHANGES     0x314c436f69726843ULL /* "ChrioCL1" */
#define STORE_MAGIC_CHANGES_OLD 0x3148436f69726843ULL /* "ChrioCH1", without STORE_FEATURE_LOG */
#define STORE_MAGIC_TABLE       0x3142546f69726843ULL /* "ChrioTB1" */

#define STORE_HEADER_BLOCK  0
#define STORE_CHANGES_BLOCK 1
#define STORE_TABLE_BLOCK   2

/**
 * struct store_head - the beginning of every block
 * @magic: STORE_MAGIC_*
 * @uuid: UUID of the store
 * @sequence: number of changes of the block; for the note see struct store_changes
 * @number: number of the block in the table; 0 outside the table
 * @checksum: CRC-32C of the block with this field as zero
 */
struct store_head {
	uint64_t magic;
	uint8_t uuid[16];
	uint64_t sequence;
	uint32_t number;
	uint32_t checksum;
};

/**
 * struct store_header - the header; only an upgrade changes it, in @read_features
 * @head: beginning of every block
 * @version: STORE_VERSION
 * @block_bytes: CHARIO_STORE_BLOCK
 * @nr_blocks: number of blocks in one copy of the table
 * @alignment_bytes: alignment of the beginning of areas in bytes
 * @capacity_bytes: offset of the end of the store in bytes
 * @data_offset: offset of the space for areas in bytes
 * @second_offset: offset of the end of that space and of the second copy of the table
 *	in bytes
 * @created_ns: time in nanoseconds since 1970
 * @read_features: STORE_FEATURE_* bits; a program that does not know a set bit must
 *	not read on
 * @write_features: 0; a program that does not know a set bit must not write
 * @zero: 0
 */
struct store_header {
	struct store_head head;
	uint32_t version;
	uint32_t block_bytes;
	uint64_t nr_blocks;
	uint64_t alignment_bytes;
	uint64_t capacity_bytes;
	uint64_t data_offset;
	uint64_t second_offset;
	uint64_t created_ns;
	uint64_t read_features;
	uint64_t write_features;
	uint8_t zero[3984];
};

#define STORE_ENTRY_AREA    (1U << 0) /* the entry is in use */
#define STORE_ENTRY_FILLING (1U << 1)
#define STORE_ENTRY_MOVING  (1U << 2)
#define STORE_ENTRY_STREAM  (1U << 3)
#define STORE_ENTRY_RING    (1U << 4) /* the area holds a ring of a stream */
#define STORE_ENTRY_FLAGS   0x1fU

/**
 * struct store_end - the end of a closed recording
 * @sequence: number behind that of the last record
 * @records: number of committed records
 * @bytes: bytes of data in the committed records
 * @segment: number of the last segment
 * @time_ns: time of closing in nanoseconds since 1970; 0 if the recording was not
 *	closed
 */
struct store_end {
	uint64_t sequence;
	uint64_t records;
	uint64_t bytes;
	uint64_t segment;
	uint64_t time_ns;
};

/**
 * struct store_fields - the data of an area in the table, except its name
 * @flags: STORE_ENTRY_* bits
 * @segment_bytes: bytes of a segment of a stream
 * @id: number of the area, not 0
 * @offset: offset of the area's first byte on the disk
 * @bytes: length of the area in bytes
 * @allocated_bytes: space of the area on the disk in bytes
 * @created_ns: time in nanoseconds since 1970
 * @changed_ns: time in nanoseconds since 1970
 * @filled_bytes: bytes written so far while the area is being filled; afterwards not 0, as long as
 *	the area holds what it was filled with, and no recording
 * @fill_tag: number of the content while the area is being filled
 * @move_offset: offset of the old place while the area is being moved
 * @moved_bytes: bytes from the start of the area that lie at @offset while it is being
 *	moved; the rest lies at @move_offset
 * @session: number of the session of a stream
 * @window: number of segments of a stream that may be written and not durable
 * @end_session: lower half of the session of a stream that was closed, or its complement if it has
 *	been continued since; any other value makes @end invalid
 * @end: end of a stream that was closed; its last segment alone, or those that were skipped, of a
 *	ring that has been continued
 */
struct store_fields {
	uint32_t flags;
	uint32_t segment_bytes;
	uint64_t id;
	uint64_t offset;
	uint64_t bytes;
	uint64_t allocated_bytes;
	uint64_t created_ns;
	uint64_t changed_ns;
	uint64_t filled_bytes;
	uint64_t fill_tag;
	uint64_t move_offset;
	uint64_t moved_bytes;
	uint64_t session;
	uint32_t window;
	uint32_t end_session;
	struct store_end end;
};

/**
 * struct store_entry - an area, or all zero
 * @fields: data of the area
 * @name: name with a NUL, then attributes, which are texts of the form "key=value"
 *	with a NUL each; the rest is zero
 */
struct store_entry {
	struct store_fields fields;
	char name[CHARIO_STORE_NAME_MAX + 1];
};

#define STORE_CHANGES_KEPT     192
#define STORE_CHANGES_KEPT_OLD 1010 /* number of kept changes without STORE_FEATURE_LOG */
#define STORE_LOGGED_MAX       8

/**
 * struct store_logged - the new content of an entry of the table
 * @slot: number of the entry
 * @zero: 0
 * @entry: new content
 */
struct store_logged {
	uint32_t slot;
	uint32_t zero;
	struct store_entry entry;
};

/**
 * struct store_changes - the note of the last changes of the table
 * @head: beginning of every block; the sequence number is odd while a change is under
 *	way
 * @numbers: block numbers: change i was made in block numbers[i % STORE_CHANGES_KEPT];
 *	changes are counted by half of the sequence number
 * @nr_logged: number of valid entries in @log; none is valid while the sequence number
 *	is even
 * @zero: 0
 * @log: change under way, if it affects several blocks
 * @old_numbers: replaces the members above in a store without STORE_FEATURE_LOG
 * @zero_too: 0
 *
 * The note serves processes that have the table in memory: a process that finds a new
 * sequence number reads these blocks again.  Except for the log, no power cut can make the
 * note wrong, and no process needs it to open a store.  The two formats have different
 * magics, because an interrupted upgrade leaves two headers that differ, either of which
 * may be used later.
 */
struct store_changes {
	struct store_head head;
	union {
		struct {
			uint32_t numbers[STORE_CHANGES_KEPT];
			uint32_t nr_logged;
			uint32_t zero;
			struct store_logged log[STORE_LOGGED_MAX];
		};
		uint32_t old_numbers[STORE_CHANGES_KEPT_OLD];
	};
	uint8_t zero_too[16];
};

#define STORE_ENTRIES 10

/**
 * struct store_geometry - a copy of the header's data; all zero in a store of the
 *	first release, until its block is changed
 * @nr_blocks: field of the header, like all members below
 * @alignment_bytes: see &struct store_header
 * @capacity_bytes: see &struct store_header
 * @data_offset: see &struct store_header
 * @created_ns: see &struct store_header
 * @read_features: see &struct store_header
 * @write_features: see &struct store_header
 */
struct store_geometry {
	uint64_t nr_blocks;
	uint64_t alignment_bytes;
	uint64_t capacity_bytes;
	uint64_t data_offset;
	uint64_t created_ns;
	uint64_t read_features;
	uint64_t write_features;
};

/**
 * struct store_table - a block of the table
 * @head: beginning of every block
 * @geometry: data of the header, for the case that both headers are damaged
 * @entries: areas in any order
 */
struct store_table {
	struct store_head head;
	struct store_geometry geometry;
	struct store_entry entries[STORE_ENTRIES];
};

static_assert(sizeof(struct store_head) == 40, "as in docs/store-format.md");
static_assert(sizeof(struct store_header) == CHARIO_STORE_BLOCK, "a block");
static_assert(sizeof(struct store_changes) == CHARIO_STORE_BLOCK, "a block");
static_assert(sizeof(struct store_entry) == 400, "as in docs/store-format.md");
static_assert(sizeof(struct store_table) == CHARIO_STORE_BLOCK, "a block");

#endif /* CHARIO_STORE_FORMAT_H */
