// SPDX-License-Identifier: LGPL-2.1-or-later OR MIT
/*
 * The header of a store: making and finding one.
 *
 * The first and the last block both have the header, so that it survives when the start of
 * the disk is overwritten.  The header is written last, so that a half-made store does not
 * count as one.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

#include "device/ops.h"
#include "store/inner.h"

#define MAX_AREAS         (1ULL << 20)
#define MIN_ALIGNMENT     ((uint64_t)CHARIO_STORE_BLOCK)
#define MAX_ALIGNMENT     (1ULL << 30)
#define LAYOUT_MIN        24
#define USUAL_AREAS       1000
#define USUAL_AREAS_MOST  100000
#define USUAL_AREA_BYTES  (16ULL << 20)
#define LARGEST_PREFERRED (16ULL << 20)

static bool is_power_of_two(uint64_t number)
{
	return number && !(number & (number - 1));
}

/*
 * Returns a number of areas that suits a disk: the table takes at most a hundredth of a
 * small one.
 */
static uint64_t usual_areas(uint64_t capacity_bytes)
{
	uint64_t by_table = capacity_bytes / 100 / 2 / CHARIO_STORE_BLOCK * STORE_ENTRIES;
	uint64_t by_size = MIN(capacity_bytes / USUAL_AREA_BYTES, USUAL_AREAS_MOST);
	uint64_t areas = MAX(MIN(by_table, USUAL_AREAS), by_size);

	return areas ? areas : STORE_ENTRIES;
}

/*
 * Align areas so that they share no unit that the drive writes at once, and no command is
 * cut in two.
 */
static uint64_t preferred_alignment(const struct chario_info *info)
{
	uint64_t alignment = MIN_ALIGNMENT;
	const uint64_t wishes[] = {
		info->physical_block_bytes,  info->boundary_bytes,
		info->write_alignment_bytes, info->deallocate_alignment_bytes,
		info->optimal_write_bytes,
	};

	for (size_t i = 0; i < sizeof(wishes) / sizeof(wishes[0]); i++)
		if (is_power_of_two(wishes[i]) && wishes[i] > alignment &&
		    wishes[i] <= LARGEST_PREFERRED)
			alignment = wishes[i];
	return alignment;
}

static int make_uuid(uint8_t uuid[16])
{
	if (getrandom(uuid, 16, 0) != 16)
		return -EIO;
	/* RFC 9562 defines these bits: version 4, random. */
	uuid[6] = (uint8_t)((uuid[6] & 0x0f) | 0x40);
	uuid[8] = (uint8_t)((uuid[8] & 0x3f) | 0x80);
	return 0;
}

int chario_layout_plan(struct store_header *header, const struct chario_store_layout *layout,
		       const struct chario_info *info)
{
	uint64_t capacity = info->capacity_bytes;
	uint64_t areas = layout && layout->max_areas ? layout->max_areas : usual_areas(capacity);
	uint64_t table, alignment = preferred_alignment(info);

	if (layout && layout->alignment_bytes)
		alignment = layout->alignment_bytes;
	if (areas > MAX_AREAS || !is_power_of_two(alignment) || alignment < MIN_ALIGNMENT ||
	    alignment > MAX_ALIGNMENT)
		return -EINVAL;
	memset(header, 0, sizeof(*header));
	header->head.magic = STORE_MAGIC_HEADER;
	header->head.sequence = 1;
	header->version = STORE_VERSION;
	header->block_bytes = CHARIO_STORE_BLOCK;
	header->nr_blocks = (areas + STORE_ENTRIES - 1) / STORE_ENTRIES;
	header->alignment_bytes = alignment;
	header->capacity_bytes = capacity;
	header->created_ns = chario_store_now();
	header->read_features = STORE_FEATURE_LOG;
	table = header->nr_blocks * CHARIO_STORE_BLOCK;
	header->data_offset = chario_store_round_up(
		(uint64_t)STORE_TABLE_BLOCK * CHARIO_STORE_BLOCK + table, alignment);
	if (capacity < header->data_offset + alignment + table + CHARIO_STORE_BLOCK)
		return -ENOSPC;
	header->second_offset = capacity - CHARIO_STORE_BLOCK - table;
	return make_uuid(header->head.uuid);
}

bool chario_layout_is_sane(const struct store_header *header)
{
	uint64_t table = header->nr_blocks * CHARIO_STORE_BLOCK;
	uint64_t first_end = (uint64_t)STORE_TABLE_BLOCK * CHARIO_STORE_BLOCK + table;

	return header->block_bytes == CHARIO_STORE_BLOCK && header->nr_blocks &&
	       header->nr_blocks <= MAX_AREAS / STORE_ENTRIES + 1 &&
	       is_power_of_two(header->alignment_bytes) &&
	       header->alignment_bytes >= MIN_ALIGNMENT &&
	       header->alignment_bytes <= MAX_ALIGNMENT && header->data_offset >= first_end &&
	       header->data_offset % CHARIO_STORE_BLOCK == 0 &&
	       header->capacity_bytes <= INT64_MAX &&
	       header->second_offset >= header->data_offset &&
	       header->second_offset <= header->capacity_bytes &&
	       header->second_offset % CHARIO_STORE_BLOCK == 0 &&
	       header->capacity_bytes % CHARIO_STORE_BLOCK == 0 &&
	       header->second_offset + table + CHARIO_STORE_BLOCK == header->capacity_bytes;
}

int chario_layout_is_known(const struct store_header *header, bool to_write)
{
	if (header->version != STORE_VERSION || header->read_features & ~STORE_READ_FEATURES)
		return -EPROTO;
	return to_write && header->write_features ? -EPROTO : 0;
}

int chario_layout_read_at(struct chario_store *store, uint64_t offset, struct store_header *header)
{
	int err = chario_store_pull(store, 0, offset, CHARIO_STORE_BLOCK);

	if (err)
		return err;
	memcpy(header, store->pool.memory, sizeof(*header));
	/* A damaged header still begins like one. */
	if (!chario_block_is_good(header, STORE_MAGIC_HEADER, header->head.uuid, 0))
		return header->head.magic == STORE_MAGIC_HEADER ? -EUCLEAN : -ENOMEDIUM;
	err = chario_layout_is_known(header, store->writable);
	if (err)
		return err;
	return chario_layout_is_sane(header) ? 0 : -EUCLEAN;
}

int chario_layout_measure(const struct chario_store *store, struct chario_info *info)
{
	int err = chario_device_get_info(store->device, info, sizeof(*info));

	if (err)
		return err;
	info->capacity_bytes -= info->capacity_bytes % CHARIO_STORE_BLOCK;
	return info->logical_block_bytes > CHARIO_STORE_BLOCK ? -EOPNOTSUPP : 0;
}

int chario_layout_read(struct chario_store *store)
{
	struct store_header *header = &store->header;
	struct chario_info info;
	int err = chario_layout_measure(store, &info);

	if (err)
		return err;
	if (info.capacity_bytes < 2 * CHARIO_STORE_BLOCK)
		return -ENOMEDIUM;
	err = chario_layout_read_at(store, 0, header);
	if (err == -ENOMEDIUM || err == -EUCLEAN || chario_pool_is_damage(err))
		err = chario_remains_find(store, info.capacity_bytes, err, header);
	if (err)
		return err;
	/* The part of a truncated store that is left can still be read. */
	return header->capacity_bytes > info.capacity_bytes && store->writable ? -ESTALE : 0;
}

static int push_header(struct chario_store *store, uint64_t offset)
{
	return chario_block_put(store, offset, &store->header);
}

/* Empty the block of a header; invalidate an older store in case making this one is interrupted. */
static int wipe(struct chario_store *store, uint64_t offset, uint64_t magic)
{
	const struct store_header empty = { .head.magic = magic };

	return chario_block_put(store, offset, &empty);
}

static int push_tables(struct chario_store *store, uint64_t number, uint64_t nr_blocks)
{
	for (uint64_t i = 0; i < nr_blocks; i++)
		chario_table_make_empty(&store->header, number + i, 0,
					store->pool.memory + i * CHARIO_STORE_BLOCK);
	for (unsigned int copy = 0; copy < 2; copy++) {
		int err = chario_store_push(store, 0,
					    chario_table_offset(&store->header, number, copy),
					    nr_blocks * CHARIO_STORE_BLOCK, 0);

		if (err)
			return err;
	}
	return 0;
}

/*
 * Find the blocks that begin like those of a table; blocks that the drive cannot read do
 * not count.
 */
static int find_tables(struct chario_store *store, uint64_t offset, uint64_t nr_blocks, bool *found)
{
	int err = chario_store_pull(store, 0, offset, nr_blocks * CHARIO_STORE_BLOCK);

	if (chario_pool_is_damage(err) && nr_blocks > 1) {
		uint64_t half = nr_blocks / 2;

		err = find_tables(store, offset, half, found);
		return err ? err :
			     find_tables(store, offset + half * CHARIO_STORE_BLOCK,
					 nr_blocks - half, found + half);
	}
	for (uint64_t i = 0; i < nr_blocks && !err; i++) {
		const void *block = store->pool.memory + i * CHARIO_STORE_BLOCK;

		found[i] = ((const struct store_head *)block)->magic == STORE_MAGIC_TABLE;
	}
	return chario_pool_is_damage(err) ? 0 : err;
}

/*
 * Wipe blocks of an older, longer table, which would pass for remains of this store.  They
 * may lie in the space for areas; nothing else there is changed.
 */
static int wipe_behind_table(struct chario_store *store)
{
	const uint64_t from = chario_table_offset(&store->header, store->header.nr_blocks, 0);
	uint64_t nr_blocks = (store->header.second_offset - from) / CHARIO_STORE_BLOCK;
	bool found[STORE_TELLING_BLOCKS] = { false };
	int err;

	if (store->header.nr_blocks >= STORE_TELLING_BLOCKS)
		return 0;
	nr_blocks = MIN(nr_blocks, STORE_TELLING_BLOCKS - store->header.nr_blocks);
	err = nr_blocks ? find_tables(store, from, nr_blocks, found) : 0;
	for (uint64_t i = 0; i < nr_blocks && !err; i++)
		if (found[i])
			err = wipe(store, from + i * CHARIO_STORE_BLOCK, 0);
	return err;
}

static int write_store(struct chario_store *store)
{
	const uint64_t batch = STORE_BUFFER / CHARIO_STORE_BLOCK;
	const uint64_t nr_blocks = store->header.nr_blocks;
	const uint64_t last = store->header.capacity_bytes - CHARIO_STORE_BLOCK;
	int err = wipe(store, 0, STORE_MAGIC_MAKING);

	if (!err)
		err = wipe(store, last, 0);
	for (uint64_t number = 0; number < nr_blocks && !err; number += batch)
		err = push_tables(store, number, MIN(nr_blocks - number, batch));
	if (!err)
		err = wipe_behind_table(store);
	if (!err)
		err = chario_note_renew(store);
	if (!err)
		err = chario_store_sync(store);
	chario_block_seal(&store->header);
	if (!err)
		err = push_header(store, last);
	return err ? err : push_header(store, 0);
}

/* Any block that begins like a header, however damaged, or like a table is part of a store. */
static int refuse_store(struct chario_store *store)
{
	struct store_header found;
	const uint64_t last = store->header.capacity_bytes - CHARIO_STORE_BLOCK;
	const uint64_t offsets[] = { 0, last };
	int err;

	for (size_t i = 0; i < 2; i++) {
		const struct store_head *head = (const struct store_head *)store->pool.memory;

		err = chario_store_pull(store, 0, offsets[i], CHARIO_STORE_BLOCK);
		if (err)
			return err;
		if (head->magic == STORE_MAGIC_HEADER)
			return -EEXIST;
	}
	err = chario_remains_find(store, store->header.capacity_bytes, -ENOMEDIUM, &found);
	if (err == -ENOMEDIUM)
		return 0;
	return chario_pool_is_damage(err) ? err : -EEXIST;
}

static int format(struct chario_store *store, const struct chario_store_layout *layout)
{
	struct chario_info info;
	int err = chario_layout_measure(store, &info);

	if (!err)
		err = chario_layout_plan(&store->header, layout, &info);
	if (!err && !(layout && layout->flags & CHARIO_LAYOUT_REPLACE))
		err = refuse_store(store);
	return err ? err : write_store(store);
}

/* Lock out all other users of the store on a device, if there is one. */
static int run_alone(struct chario_device *device,
		     int (*act)(struct chario_store *store,
				const struct chario_store_layout *layout),
		     const struct chario_store_layout *layout)
{
	struct chario_store store = { .device = device, .writable = true };
	int err;

	store.lock_fd = chario_lock_open(device, true);
	if (store.lock_fd < 0)
		return store.lock_fd;
	err = chario_store_take(&store, true, true);
	if (!err)
		err = act(&store, layout);
	chario_pool_destroy(&store.pool);
	chario_fence_drop(device, STORE_FENCE_OPEN);
	chario_lock_close(store.lock_fd, true);
	return err;
}

int chario_store_format_device(struct chario_device *device,
			       const struct chario_store_layout *layout)
{
	if (layout && (layout->size < LAYOUT_MIN || layout->flags & ~CHARIO_LAYOUT_REPLACE))
		return -EINVAL;
	return run_alone(device, format, layout);
}

int chario_store_format(const char *name, const struct chario_store_layout *layout)
{
	struct chario_device *device CHARIO_SCOPED(chario_device_leave) = NULL;
	int err = chario_device_open_any(name, O_RDWR, &device);

	return err ? err : chario_store_format_device(device, layout);
}

/* Finish the change under way, which must not be lost with the old note. */
static int empty_note(struct chario_store *store)
{
	int err = chario_note_read(store);

	if (!err)
		err = chario_change_finish(store);
	else if (err == -EUCLEAN)
		err = 0;
	return err ? err : chario_note_renew(store);
}

/* Store the header's new data in a block, for a header that is rebuilt from the table. */
static int upgrade_block(struct chario_store *store, const struct store_table *old)
{
	struct store_table table = *old;

	table.head.sequence++;
	chario_remains_leave(&store->header, &table);
	chario_block_seal(&table);
	return chario_table_write(store, table.head.number, &table, old);
}

/* Upgrade the blocks that have ever been used; there is nothing to lose in the others. */
static int upgrade_table(struct chario_store *store)
{
	for (uint64_t number = 0; number < store->header.nr_blocks; number++) {
		const struct store_table *table;
		int err = chario_table_read(store, number, &table);

		if (!err && !table->head.sequence)
			return 0;
		if (!err)
			err = upgrade_block(store, table);
		if (err)
			return err;
	}
	return 0;
}

/*
 * Write the second header before the first: until the first is written, it counts and has
 * the old format.
 */
static int upgrade(struct chario_store *store, const struct chario_store_layout *layout)
{
	struct store_header *header = &store->header;
	int err = chario_layout_read(store);

	(void)layout;
	if (err || header->read_features & STORE_FEATURE_LOG)
		return err;
	err = empty_note(store);
	header->read_features |= STORE_FEATURE_LOG;
	chario_block_seal(header);
	if (!err)
		err = upgrade_table(store);
	if (!err)
		err = push_header(store, header->capacity_bytes - CHARIO_STORE_BLOCK);
	if (!err)
		err = push_header(store, 0);
	/* The note of the old format no longer counts. */
	return err ? err : chario_note_renew(store);
}

int chario_store_upgrade_device(struct chario_device *device)
{
	return run_alone(device, upgrade, NULL);
}

int chario_store_upgrade(const char *name)
{
	struct chario_device *device CHARIO_SCOPED(chario_device_leave) = NULL;
	int err = chario_device_open_any(name, O_RDWR, &device);

	return err ? err : chario_store_upgrade_device(device);
}
