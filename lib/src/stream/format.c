// SPDX-License-Identifier: LGPL-2.1-or-later OR MIT
/*
 * Checksums and byte orders of a recording.
 */
#include "stream/format.h"

#include <string.h>

#include <chario/stream.h>

#include "store/crc32c.h"

_Static_assert(CHARIO_RECORD_META == 1 && CHARIO_RECORD_NO_CRC == 2,
	       "flags of records stand on disks");

uint32_t chario_disk_record_seed(uint64_t session, uint64_t part, uint64_t segment)
{
	const uint64_t words[] = { htole64(session), htole64(part), htole64(segment) };

	return chario_crc32c(0, words, sizeof(words));
}

/* The conversion is the same in both directions. */
void chario_disk_batch_swap(struct chario_disk_batch *to, const struct chario_disk_batch *from)
{
	*to = (struct chario_disk_batch){
		.magic = htole32(from->magic),
		.version = htole16(from->version),
		.header_bytes = htole16(from->header_bytes),
		.flags = htole32(from->flags),
		.crc = htole32(from->crc),
		.session = htole64(from->session),
		.part = htole64(from->part),
		.segment = htole64(from->segment),
		.offset = htole32(from->offset),
		.bytes = htole32(from->bytes),
		.serial = htole64(from->serial),
		.sequence = htole64(from->sequence),
		.next_sequence = htole64(from->next_sequence),
		.records = htole64(from->records),
		.position = htole64(from->position),
		.durable_records = htole64(from->durable_records),
		.lost_records = htole64(from->lost_records),
		.lost_bytes = htole64(from->lost_bytes),
		.time_ns = htole64(from->time_ns),
		.nr_records = htole32(from->nr_records),
		.seal = htole32(from->seal),
	};
}

/* The recording is the seed of the checksum. */
static uint32_t batch_crc(const struct chario_disk_batch *block)
{
	uint32_t seed = chario_crc32c(0, &block->session, sizeof(block->session));
	struct chario_disk_batch copy = *block;

	copy.crc = 0;
	return chario_crc32c(seed, &copy, sizeof(copy));
}

static uint32_t batch_seal(const void *block)
{
	const unsigned char *rest = (const unsigned char *)block + sizeof(struct chario_disk_batch);

	return chario_crc32c(0, rest, CHARIO_DISK_BLOCK - sizeof(struct chario_disk_batch));
}

void chario_disk_batch_sign(struct chario_disk_batch *block)
{
	if (le32toh(block->flags) & CHARIO_DISK_BATCH_SEALED)
		block->seal = htole32(batch_seal(block));
	block->crc = htole32(batch_crc(block));
}

static bool counts(const struct chario_disk_batch *batch)
{
	return batch->segment < CHARIO_DISK_COUNT_MAX && batch->serial < CHARIO_DISK_COUNT_MAX &&
	       batch->records < CHARIO_DISK_COUNT_MAX && batch->position < CHARIO_DISK_COUNT_MAX;
}

static bool batch_fits(const struct chario_disk_batch *batch, uint32_t segment_bytes)
{
	return batch->offset % CHARIO_DISK_BLOCK == 0 && batch->offset < segment_bytes &&
	       batch->bytes <= segment_bytes - batch->offset &&
	       batch->header_bytes >= sizeof(*batch) && batch->header_bytes <= batch->bytes &&
	       batch->header_bytes % CHARIO_DISK_HEADER_ALIGN == 0;
}

bool chario_disk_batch_read(struct chario_disk_batch *batch, const void *block, uint64_t session,
			    uint32_t segment_bytes)
{
	const struct chario_disk_batch *raw = block;

	if (le32toh(raw->magic) != CHARIO_DISK_BATCH_MAGIC || le64toh(raw->session) != session ||
	    le16toh(raw->version) != CHARIO_DISK_VERSION || le32toh(raw->crc) != batch_crc(raw))
		return false;
	chario_disk_batch_swap(batch, raw);
	return counts(batch) && batch_fits(batch, segment_bytes);
}

bool chario_disk_batch_sealed(const struct chario_disk_batch *batch, const void *block)
{
	return batch->flags & CHARIO_DISK_BATCH_SEALED && batch->seal == batch_seal(block);
}

uint32_t chario_disk_record_crc(uint32_t seed, const struct chario_disk_record *record,
				const void *data, size_t bytes)
{
	struct chario_disk_record copy = *record;
	uint32_t crc;

	copy.crc = 0;
	crc = chario_crc32c(seed, &copy, sizeof(copy));
	return record->flags & htole32(CHARIO_RECORD_NO_CRC) ? crc :
							       chario_crc32c(crc, data, bytes);
}
