// SPDX-License-Identifier: LGPL-2.1-or-later OR MIT
/*
 * Checksums of a recording.
 */
#include "stream/format.h"

#include <string.h>

#include <chario/stream.h>

#include "store/crc32c.h"

_Static_assert(CHARIO_RECORD_META == 1 && CHARIO_RECORD_NO_CRC == 2,
	       "flags of records stand on disks");

uint32_t chario_disk_record_seed(uint64_t session, uint64_t part, uint64_t segment)
{
	const uint64_t words[] = { session, part, segment };

	return chario_crc32c(0, words, sizeof(words));
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

static const void *times_of(const void *block)
{
	return (const unsigned char *)block + CHARIO_DISK_TIMES_AT;
}

static uint32_t times_crc(const void *block)
{
	return chario_crc32c(0, times_of(block), sizeof(struct chario_disk_times));
}

void chario_disk_batch_sign(struct chario_disk_batch *block)
{
	if (block->flags & CHARIO_DISK_BATCH_SEALED)
		block->seal = batch_seal(block);
	else if (block->flags & CHARIO_DISK_BATCH_TIMES)
		block->seal = times_crc(block);
	block->crc = batch_crc(block);
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

	if (raw->magic != CHARIO_DISK_BATCH_MAGIC || raw->session != session ||
	    raw->version != CHARIO_DISK_VERSION || raw->crc != batch_crc(raw))
		return false;
	*batch = *raw;
	return counts(batch) && batch_fits(batch, segment_bytes);
}

bool chario_disk_batch_sealed(const struct chario_disk_batch *batch, const void *block)
{
	return batch->flags & CHARIO_DISK_BATCH_SEALED && batch->seal == batch_seal(block);
}

bool chario_disk_batch_times(const struct chario_disk_batch *batch, const void *block,
			     struct chario_disk_times *times)
{
	bool sealed = batch->flags & CHARIO_DISK_BATCH_SEALED;

	if (!(batch->flags & CHARIO_DISK_BATCH_TIMES) ||
	    batch->seal != (sealed ? batch_seal(block) : times_crc(block)))
		return false;
	memcpy(times, times_of(block), sizeof(*times));
	return times->run <= batch->serial;
}

uint32_t chario_disk_record_crc(uint32_t seed, const struct chario_disk_record *record,
				const void *data, size_t bytes)
{
	struct chario_disk_record copy = *record;
	uint32_t crc;

	copy.crc = 0;
	crc = chario_crc32c(seed, &copy, sizeof(copy));
	return record->flags & CHARIO_RECORD_NO_CRC ? crc : chario_crc32c(crc, data, bytes);
}
