// SPDX-License-Identifier: LGPL-2.1-or-later OR MIT
/*
 * The remains of a store whose first header is damaged.
 *
 * The second header is in the last block of the store.  If that is not the last block of
 * the disk, the last block may hold the header of an older, larger store, whose start was
 * overwritten with a copy of this store.  So the first copy of the table decides which
 * store is here.  Blocks of the table repeat the data of the header, except in a store of
 * the first release: such a store is found only if it ends at the end of the disk.
 *
 * docs/store-format.md has the rules ("If the first header is damaged").
 */
#include <errno.h>
#include <string.h>

#include "store/inner.h"

/**
 * struct remains - a block of a table found in its place
 * @is_there: true if a block was found
 * @number: number of the block
 * @header: header that the block describes; for a block of the first release only the
 *	UUID is set, and the size is 0
 */
struct remains {
	bool is_there;
	uint64_t number;
	struct store_header header;
};

void chario_remains_leave(const struct store_header *header, struct store_table *table)
{
	table->geometry = (struct store_geometry){
		.nr_blocks = header->nr_blocks,
		.alignment_bytes = header->alignment_bytes,
		.capacity_bytes = header->capacity_bytes,
		.data_offset = header->data_offset,
		.created_ns = header->created_ns,
		.read_features = header->read_features,
		.write_features = header->write_features,
	};
}

static void take_geometry(const struct store_table *table, struct store_header *header)
{
	const struct store_geometry *geometry = &table->geometry;
	const uint64_t behind = (geometry->nr_blocks + 1) * CHARIO_STORE_BLOCK;

	memset(header, 0, sizeof(*header));
	header->head.magic = STORE_MAGIC_HEADER;
	header->head.sequence = 1;
	memcpy(header->head.uuid, table->head.uuid, sizeof(header->head.uuid));
	header->version = STORE_VERSION;
	header->block_bytes = CHARIO_STORE_BLOCK;
	header->nr_blocks = geometry->nr_blocks;
	header->alignment_bytes = geometry->alignment_bytes;
	header->capacity_bytes = geometry->capacity_bytes;
	header->data_offset = geometry->data_offset;
	header->second_offset = geometry->capacity_bytes - behind;
	header->created_ns = geometry->created_ns;
	header->read_features = geometry->read_features;
	header->write_features = geometry->write_features;
	chario_block_seal(header);
}

/*
 * Read a block.  Returns 1 if it is a good block of the table of any store, 0 if it is not or
 * the drive cannot read it, or a negative errno.
 */
static int read_table(struct chario_store *store, uint64_t offset, const struct store_table **table)
{
	const struct store_table *found = (const struct store_table *)store->pool.memory;
	int err = chario_store_pull(store, 0, offset, CHARIO_STORE_BLOCK);

	*table = found;
	if (err)
		return chario_pool_is_damage(err) ? 0 : err;
	return chario_block_is_good(found, STORE_MAGIC_TABLE, found->head.uuid, found->head.number);
}

static void take_table(const struct store_table *table, struct remains *remains)
{
	remains->is_there = true;
	remains->number = table->head.number;
	take_geometry(table, &remains->header);
}

/* Find the first good block among the first blocks of the first copy; none is behind the disk. */
static int find_first_copy(struct chario_store *store, struct remains *remains)
{
	uint64_t offset = (uint64_t)STORE_TABLE_BLOCK * CHARIO_STORE_BLOCK;

	for (uint64_t number = 0; number < STORE_TELLING_BLOCKS; number++) {
		const struct store_table *table;
		int ret = read_table(store, offset, &table);

		if (ret < 0)
			return ret;
		if (ret && table->head.number == number) {
			take_table(table, remains);
			return 0;
		}
		offset += CHARIO_STORE_BLOCK;
	}
	return 0;
}

/* Find the last block of the second copy in a store that ends at @end. */
static int find_second_copy(struct chario_store *store, uint64_t end, struct remains *remains)
{
	const struct store_table *table;
	int ret = 0;

	if (end >= 2 * CHARIO_STORE_BLOCK)
		ret = read_table(store, end - 2 * CHARIO_STORE_BLOCK, &table);
	if (ret <= 0)
		return ret;
	take_table(table, remains);
	if (!remains->header.capacity_bytes)
		remains->header.nr_blocks = remains->number + 1;
	return 0;
}

static bool is_same_store(const struct store_header *one, const struct store_header *two)
{
	return !memcmp(one->head.uuid, two->head.uuid, sizeof(one->head.uuid));
}

/*
 * Compute the header of a store of the first release from its number of blocks and the end
 * of the disk.
 */
static void deduce(struct store_header *header, uint64_t nr_blocks, uint64_t capacity)
{
	const uint64_t table = nr_blocks * CHARIO_STORE_BLOCK;

	header->nr_blocks = nr_blocks;
	header->alignment_bytes = CHARIO_STORE_BLOCK;
	header->capacity_bytes = capacity;
	header->data_offset = (uint64_t)STORE_TABLE_BLOCK * CHARIO_STORE_BLOCK + table;
	header->second_offset = capacity - CHARIO_STORE_BLOCK - table;
	chario_block_seal(header);
}

/* Rebuild the header after the start of the disk was overwritten, with the first header. */
static int rebuild_from_end(struct chario_store *store, uint64_t capacity,
			    struct store_header *header)
{
	struct remains second = { 0 };
	int err = find_second_copy(store, capacity, &second);

	if (err)
		return err;
	if (!second.is_there)
		return -ENOMEDIUM;
	if (!second.header.capacity_bytes)
		deduce(&second.header, second.header.nr_blocks, capacity);
	if (second.header.capacity_bytes != capacity || !chario_layout_is_sane(&second.header))
		return -EUCLEAN;
	*header = second.header;
	return 0;
}

/*
 * Returns 1 if the second copy of the table is at the place that a header gives, 0 if not,
 * or a negative errno.  Data written over the end of a disk destroy the table's last blocks
 * first, so the last good block decides; if it has another number, it belongs to a store
 * that was made here later.
 */
static int is_whole(struct chario_store *store, const struct store_header *header)
{
	const struct store_table *table;
	uint64_t number = header->nr_blocks;
	int ret = 0;

	for (unsigned int i = 0; i < STORE_TELLING_BLOCKS && number && !ret; i++)
		ret = read_table(store, chario_table_offset(header, --number, 1), &table);
	if (ret <= 0)
		return ret;
	return table->head.number == number &&
	       !memcmp(table->head.uuid, header->head.uuid, sizeof(table->head.uuid));
}

/* Rebuild the header from the first copy of the table, if the second copy is in its place. */
static int rebuild(struct chario_store *store, uint64_t capacity, const struct remains *first,
		   struct store_header *header)
{
	int ret;

	if (!chario_layout_is_sane(&first->header))
		return -EUCLEAN;
	if (first->header.capacity_bytes > capacity)
		return -ESTALE;
	ret = is_whole(store, &first->header);
	if (ret < 0)
		return ret;
	if (!ret)
		return -EUCLEAN;
	*header = first->header;
	return 0;
}

/*
 * Decide between two stores: @first from the first copy of a table, @end from the last
 * block of the disk.  If the block found in @first lies inside the table of @end, that
 * block was written later, so @end is the older store.  Behind the table of @end, which may
 * not have been wiped, the block may also be left from a store older than @end.  Returns 1
 * if @end counts, or 0 if @first does; -EUCLEAN if both stores are whole or the answer
 * cannot be known.
 */
static int weigh_end(struct chario_store *store, const struct remains *first,
		     const struct store_header *end)
{
	int ret;

	if (first->number < end->nr_blocks)
		return 0;
	ret = is_whole(store, end);
	if (ret <= 0)
		return ret;
	if (!chario_layout_is_sane(&first->header))
		return -EUCLEAN;
	/* A store that is as long or longer is not whole: that of @end overwrote its end. */
	ret = is_whole(store, &first->header);
	if (ret < 0)
		return ret;
	return ret ? -EUCLEAN : 1;
}

/*
 * Rebuild the header from a block of the first copy.  @header is the header at the end of
 * the disk, valid if @end_says.
 */
static int rebuild_from_start(struct chario_store *store, uint64_t capacity,
			      const struct remains *first, bool end_says,
			      struct store_header *header)
{
	const bool is_end = end_says && is_same_store(header, &first->header);
	int ret = end_says && !is_end ? weigh_end(store, first, header) : 0;

	if (ret)
		return ret < 0 ? ret : 0;
	if (first->header.capacity_bytes)
		return rebuild(store, capacity, first, header);
	/*
	 * In the first release both copies belong together, and the end of the disk has the
	 * rest.
	 */
	return is_end ? 0 : -EUCLEAN;
}

/* Returns whether the making of a store was interrupted here. */
static bool is_being_made(struct chario_store *store)
{
	const struct store_head *head = (const struct store_head *)store->pool.memory;

	return !chario_store_pull(store, 0, 0, CHARIO_STORE_BLOCK) &&
	       head->magic == STORE_MAGIC_MAKING;
}

int chario_remains_find(struct chario_store *store, uint64_t capacity, int why,
			struct store_header *header)
{
	struct remains first = { 0 };
	int err, second;

	if (is_being_made(store))
		return -ENOMEDIUM;
	err = find_first_copy(store, &first);
	if (err)
		return err;
	second = chario_layout_read_at(store, capacity - CHARIO_STORE_BLOCK, header);
	/* A header of a store that ends elsewhere does not belong to this place. */
	if (!second && header->capacity_bytes != capacity)
		second = -ENOMEDIUM;
	if (!second && (!first.is_there || is_same_store(header, &first.header)))
		return 0;
	if (second && second != -ENOMEDIUM && second != -EUCLEAN && !chario_pool_is_damage(second))
		return second;
	err = second ? rebuild_from_end(store, capacity, header) : 0;
	if (first.is_there)
		err = rebuild_from_start(store, capacity, &first, !err, header);
	if (!err)
		return chario_layout_is_known(header, store->writable);
	if (err != -ENOMEDIUM)
		return err;
	return why != -ENOMEDIUM ? why : second;
}
