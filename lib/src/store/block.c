// SPDX-License-Identifier: LGPL-2.1-or-later OR MIT
/*
 * Blocks of a store: checksums, two copies of each, reading and writing.
 *
 * A block of the table is changed in its first copy, durably, and then in its second.  A
 * power cut leaves one of these states: nothing done; the first copy torn, the second old;
 * the first new, the second old; the first new, the second torn; all done.  In each of them
 * the newer good copy is the old or the new content, and at least one copy is good,
 * provided that both were good before.  So a copy that is damaged or behind is repaired
 * first, and a failed change is taken back in the copy whose write has failed.
 */
#include <errno.h>
#include <stddef.h>
#include <string.h>

#include "store/crc32c.h"
#include "store/inner.h"

#define CHECKSUM_AT offsetof(struct store_head, checksum)

static uint32_t checksum(const void *block)
{
	static const uint32_t zero;
	const unsigned char *bytes = block;
	const size_t behind = CHECKSUM_AT + sizeof(zero);
	uint32_t crc = chario_crc32c(0, bytes, CHECKSUM_AT);

	crc = chario_crc32c(crc, &zero, sizeof(zero));
	return chario_crc32c(crc, bytes + behind, CHARIO_STORE_BLOCK - behind);
}

void chario_block_seal(void *block)
{
	struct store_head *head = block;

	head->checksum = checksum(block);
}

bool chario_block_is_good(const void *block, uint64_t magic, const uint8_t uuid[16],
			  uint64_t number)
{
	const struct store_head *head = block;

	return head->magic == magic && head->number == number &&
	       !memcmp(head->uuid, uuid, sizeof(head->uuid)) && head->checksum == checksum(block);
}

int chario_store_pull(struct chario_store *store, uint64_t buffer_offset, uint64_t disk_offset,
		      size_t bytes)
{
	int err = chario_pool_read(&store->pool, buffer_offset, bytes, disk_offset);

	/* -ENODATA of a block device is a media error; callers would read it as "no recording". */
	return chario_pool_is_damage(err) ? -EIO : err;
}

int chario_store_blame(ssize_t err)
{
	return err == -ENOSPC ? -EDQUOT : (int)err;
}

int chario_store_push(struct chario_store *store, uint64_t buffer_offset, uint64_t disk_offset,
		      size_t bytes, unsigned int flags)
{
	return chario_store_blame(
		chario_pool_write(&store->pool, buffer_offset, bytes, disk_offset, flags));
}

int chario_block_put(struct chario_store *store, uint64_t offset, const void *block)
{
	const uint64_t at = STORE_BUFFER - CHARIO_STORE_BLOCK;

	memmove(store->pool.memory + at, block, CHARIO_STORE_BLOCK);
	return chario_store_push(store, at, offset, CHARIO_STORE_BLOCK, CHARIO_TRANSFER_FUA);
}

int chario_store_sync(const struct chario_store *store)
{
	struct chario_transfer flush = { .op = CHARIO_TRANSFER_FLUSH };

	return chario_store_blame(chario_transfer(store->device, &flush, sizeof(flush)));
}

uint64_t chario_table_offset(const struct store_header *header, uint64_t number, unsigned int copy)
{
	uint64_t first = (uint64_t)STORE_TABLE_BLOCK * CHARIO_STORE_BLOCK;

	return (copy ? header->second_offset : first) + number * CHARIO_STORE_BLOCK;
}

void chario_table_make_empty(const struct store_header *header, uint64_t number, uint64_t sequence,
			     void *block)
{
	struct store_table *table = block;

	memset(table, 0, sizeof(*table));
	table->head.magic = STORE_MAGIC_TABLE;
	memcpy(table->head.uuid, header->head.uuid, sizeof(table->head.uuid));
	table->head.number = (uint32_t)number;
	table->head.sequence = sequence;
	chario_remains_leave(header, table);
	chario_block_seal(table);
}

const struct store_table *chario_table_choose(const struct store_header *header, uint64_t number,
					      const void *first, const void *second)
{
	const uint8_t *uuid = header->head.uuid;
	const struct store_table *one = first, *two = second;

	if (!chario_block_is_good(one, STORE_MAGIC_TABLE, uuid, number))
		one = NULL;
	if (!chario_block_is_good(two, STORE_MAGIC_TABLE, uuid, number))
		two = NULL;
	if (one && two)
		return two->head.sequence > one->head.sequence ? two : one;
	return one ? one : two;
}

/* Read blocks of one copy. */
static int pull_copy(struct chario_store *store, uint64_t at, uint64_t number, uint64_t nr_blocks,
		     unsigned int copy)
{
	return chario_store_pull(store, at, chario_table_offset(&store->header, number, copy),
				 nr_blocks * CHARIO_STORE_BLOCK);
}

/*
 * Read both copies.  A copy that cannot be read becomes all zero, like a damaged one.
 * Returns -EIO if the other copy is not good either; another try may succeed.
 */
static int pull_pair(struct chario_store *store, uint64_t number, const uint64_t at[2])
{
	unsigned char *memory = store->pool.memory;
	int lost = 0;

	for (unsigned int copy = 0; copy < 2; copy++) {
		int err = pull_copy(store, at[copy], number, 1, copy);

		if (!err)
			continue;
		if (!chario_pool_is_damage(err))
			return err;
		memset(memory + at[copy], 0, CHARIO_STORE_BLOCK);
		lost = err;
	}
	if (lost && chario_table_choose(&store->header, number, memory + at[0], memory + at[1]))
		return 0;
	return lost;
}

int chario_table_pull(struct chario_store *store, uint64_t number, uint64_t nr_blocks,
		      uint64_t second_at)
{
	int err = pull_copy(store, 0, number, nr_blocks, 0), lost = 0;

	if (!err)
		err = pull_copy(store, second_at, number, nr_blocks, 1);
	if (!chario_pool_is_damage(err))
		return err;
	for (uint64_t i = 0; i < nr_blocks; i++) {
		const uint64_t at = i * CHARIO_STORE_BLOCK;

		err = pull_pair(store, number + i, (const uint64_t[]){ at, second_at + at });
		if (err && !chario_pool_is_damage(err))
			return err;
		lost = lost ? lost : err;
	}
	return lost;
}

/* Another process may be writing; the block is good again after each of its writes. */
#define READ_ATTEMPTS 3

int chario_table_read(struct chario_store *store, uint64_t number, const struct store_table **table)
{
	for (int i = 0; i < READ_ATTEMPTS; i++) {
		int err = chario_table_pull(store, number, 1, CHARIO_STORE_BLOCK);

		if (err)
			return err;
		*table = chario_table_choose(&store->header, number, store->pool.memory,
					     store->pool.memory + CHARIO_STORE_BLOCK);
		if (*table)
			return 0;
	}
	return -EUCLEAN;
}

int chario_table_read_interrupted(struct chario_store *store, uint64_t number,
				  const struct store_table **table)
{
	const uint64_t at[] = { 0, CHARIO_STORE_BLOCK };
	unsigned char *memory = store->pool.memory;
	int lost = -EUCLEAN;

	for (unsigned int copy = 0; copy < 2; copy++) {
		int err = -EIO;

		for (int i = 0; i < READ_ATTEMPTS && chario_pool_is_damage(err); i++)
			err = pull_copy(store, at[copy], number, 1, copy);
		if (err && !chario_pool_is_damage(err))
			return err;
		if (!err)
			continue;
		memset(memory + at[copy], 0, CHARIO_STORE_BLOCK);
		lost = err;
	}
	*table = chario_table_choose(&store->header, number, memory + at[0], memory + at[1]);
	return *table ? 0 : lost;
}

static int write_copy(struct chario_store *store, uint64_t number, unsigned int copy,
		      const struct store_table *table)
{
	/* Use the room behind the copies that chario_table_read() has read. */
	const uint64_t at = 2 * CHARIO_STORE_BLOCK;

	memcpy(store->pool.memory + at, table, sizeof(*table));
	return chario_store_push(store, at, chario_table_offset(&store->header, number, copy),
				 sizeof(*table), CHARIO_TRANSFER_FUA);
}

int chario_table_mend(struct chario_store *store, uint64_t number, const struct store_table *table)
{
	for (unsigned int copy = 0; copy < 2; copy++) {
		const void *found = store->pool.memory + copy * CHARIO_STORE_BLOCK;
		int err;

		if (!memcmp(found, table, sizeof(*table)))
			continue;
		err = write_copy(store, number, copy, table);
		if (err)
			return err;
	}
	return 0;
}

/* Returns whether a copy is unchanged, so that the other one may be written. */
static bool is_still(struct chario_store *store, uint64_t number, unsigned int copy,
		     const struct store_table *old)
{
	const uint64_t at = 2 * CHARIO_STORE_BLOCK;
	int err = pull_copy(store, at, number, 1, copy);

	return !err && !memcmp(store->pool.memory + at, old, sizeof(*old));
}

/*
 * Take a failed change back, so that the reported error is true.  The copy whose write
 * failed may be old, new or torn, and the other one is good.  So the former gets the old
 * content, with a number higher than that of the change.  If it has that, or cannot be written
 * at all (its file gets no space, say) but is unchanged, the first copy gets the old content, too:
 * it may have the new one, which would count if the second copy were lost.  Whatever becomes of
 * that write, the second copy is good.  Otherwise the content of the disk counts, old or new.
 */
static void take_back(struct chario_store *store, uint64_t number, unsigned int copy,
		      const struct store_table *old)
{
	struct store_table table = *old;
	int err;

	table.head.sequence += 2;
	chario_block_seal(&table);
	err = write_copy(store, number, copy, &table);
	if (copy && (!err || is_still(store, number, copy, old)))
		write_copy(store, number, 0, &table);
}

int chario_table_write(struct chario_store *store, uint64_t number, const struct store_table *table,
		       const struct store_table *old)
{
	int err = chario_table_mend(store, number, old);

	if (err)
		return err;
	for (unsigned int copy = 0; copy < 2 && !err; copy++) {
		err = write_copy(store, number, copy, table);
		if (err)
			take_back(store, number, copy, old);
	}
	return err;
}
