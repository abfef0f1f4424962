/* SPDX-License-Identifier: LGPL-2.1-or-later OR MIT */
/*
 * The store on the disk, byte by byte; docs/store-format.md says it in prose.
 *
 *	block 0				header, first copy
 *	block 1				note of the last changes
 *	block 2 ...			table, first copy
 *	data_offset ...			areas
 *	second_offset ...		table, second copy
 *	last block			header, second copy
 *
 * All blocks have 4096 bytes and begin alike.  Numbers are little-endian.
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

/* Bits of @read_features: the note of the last changes has a log, and areas may have attributes. */
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
 * struct store_head - how every block begins
 * @magic: STORE_MAGIC_*
 * @uuid: of the store
 * @sequence: how often the block has been changed; of the note see struct store_changes
 * @number: of the block in the table; else 0
 * @checksum: CRC-32C of the block with zero here
 */
struct store_head {
	uint64_t magic;
	uint8_t uuid[16];
	uint64_t sequence;
	uint32_t number;
	uint32_t checksum;
};

/**
 * struct store_header - what a store is; only an upgrade changes it, @read_features
 * @head: as every block
 * @version: STORE_VERSION
 * @block_bytes: CHARIO_STORE_BLOCK
 * @nr_blocks: of one copy of the table
 * @alignment_bytes: areas begin at multiples of this
 * @capacity_bytes: where the store ends
 * @data_offset: where areas begin
 * @second_offset: where they end and the second copy of the table begins
 * @created_ns: since 1970
 * @read_features: STORE_FEATURE_* bits; who does not know one that is set does not read on
 * @write_features: 0; who does not know a bit that is set writes nothing
 * @zero: nothing
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

#define STORE_ENTRY_AREA    (1U << 0) /* there is an area */
#define STORE_ENTRY_FILLING (1U << 1)
#define STORE_ENTRY_MOVING  (1U << 2)
#define STORE_ENTRY_STREAM  (1U << 3)
#define STORE_ENTRY_RING    (1U << 4) /* of a stream */
#define STORE_ENTRY_FLAGS   0x1fU

/**
 * struct store_fields - what is known of an area, but for its name
 * @flags: STORE_ENTRY_* bits
 * @segment_bytes: of a stream
 * @id: not 0
 * @offset: of its first byte on the disk
 * @bytes: its length
 * @allocated_bytes: that it has on the disk
 * @created_ns: since 1970
 * @changed_ns: since 1970
 * @filled_bytes: while it is being filled
 * @fill_tag: while it is being filled
 * @move_offset: while it is being moved: where it was
 * @moved_bytes: while it is being moved: from its start, that lie at @offset; the
 *	rest lies at @move_offset
 * @session: of a stream
 * @nr_buffers: of a stream
 * @end_session: of a stream that was closed: the lower half of its session; else what
 *	follows says nothing
 * @end_sequence: number behind the last record
 * @end_records: that were committed
 * @end_bytes: of their data
 * @end_segment: the last
 * @ended_ns: since 1970
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
	uint32_t nr_buffers;
	uint32_t end_session;
	uint64_t end_sequence;
	uint64_t end_records;
	uint64_t end_bytes;
	uint64_t end_segment;
	uint64_t ended_ns;
};

/**
 * struct store_entry - an area, or all zero
 * @fields: what is known of it
 * @name: ends with a NUL; behind it are attributes, texts that each end with one, as far as
 *	they are "key=value"; the rest is zero
 */
struct store_entry {
	struct store_fields fields;
	char name[CHARIO_STORE_NAME_MAX + 1];
};

#define STORE_CHANGES_KEPT     192
#define STORE_CHANGES_KEPT_OLD 1010 /* without STORE_FEATURE_LOG */
#define STORE_LOGGED_MAX       8

/**
 * struct store_logged - what an entry of the table is to be
 * @slot: of the entry
 * @zero: nothing
 * @entry: its new content
 */
struct store_logged {
	uint32_t slot;
	uint32_t zero;
	struct store_entry entry;
};

/**
 * struct store_changes - which blocks of the table have changed last
 * @head: as every block; its sequence number is odd while a change is under way
 * @numbers: that of the block that change i was made in, at i % STORE_CHANGES_KEPT;
 *	changes are counted by half of the sequence number
 * @nr_logged: entries of @log; none counts while the sequence number is even
 * @zero: nothing
 * @log: the change that is under way, where it is one of several blocks
 * @old_numbers: in the place of all these, without STORE_FEATURE_LOG
 * @zero_too: nothing
 *
 * For processes that have the table in memory: who finds another sequence number
 * than before reads these blocks again.  But for the log it says nothing that a power
 * cut could make wrong, and is never needed to open a store.  Both kinds have magics of their
 * own: an upgrade that was cut leaves two headers that differ, and one of them counts later.
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
 * struct store_geometry - what the header says, once more; all zero in a store of the
 *	first release, until its block is changed
 * @nr_blocks: as in the header, all of it
 * @alignment_bytes: as above
 * @capacity_bytes: as above
 * @data_offset: as above
 * @created_ns: as above
 * @read_features: as above
 * @write_features: as above
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
 * @head: as every block
 * @geometry: for when both headers are damaged
 * @entries: areas in no order
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
