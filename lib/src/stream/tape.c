// SPDX-License-Identifier: LGPL-2.1-or-later OR MIT
/* Reading a tape: headers, batches, records. */
#include "stream/tape.h"

#include <errno.h>
#include <string.h>
#include <sys/param.h>

#include <chario/stream.h>

/* All flags that a record in a sane batch can have. */
#define RECORD_FLAGS                                                            \
	(CHARIO_RECORD_META | CHARIO_RECORD_NO_CRC | CHARIO_DISK_RECORD_FIRST | \
	 CHARIO_DISK_RECORD_LAST | CHARIO_DISK_RECORD_VOID | CHARIO_DISK_RECORD_APART)

int chario_tape_init(struct chario_tape *tape, struct chario_area *area,
		     const struct chario_area_stream *stream)
{
	struct chario_area_info info;
	int err = chario_area_get_info(area, &info, sizeof(info));

	if (err)
		return err;
	if (stream->segment_bytes < CHARIO_DISK_SEGMENT_MIN ||
	    stream->segment_bytes > CHARIO_DISK_SEGMENT_MAX ||
	    stream->segment_bytes % CHARIO_DISK_BLOCK)
		return -EUCLEAN;
	*tape = (struct chario_tape){
		.area = area,
		.session = stream->session,
		.slots = info.allocated_bytes / stream->segment_bytes,
		.segment_bytes = stream->segment_bytes,
		.window = stream->window,
		.ring = stream->ring,
		.reached = stream->reached,
	};
	if (tape->slots < 2 || !tape->window || tape->window > tape->slots)
		return -EUCLEAN;
	return chario_pool_create(&tape->block, area->store->device, CHARIO_DISK_BLOCK, 0);
}

/*
 * Read a segment's place to the start of the pool; errors are those of
 * chario_area_read_buffer().
 */
static ssize_t read_place(struct chario_tape *tape, uint64_t segment, uint32_t offset,
			  uint32_t bytes, const struct chario_pool *pool)
{
	uint64_t from = segment % tape->slots * tape->segment_bytes + offset;
	int err = chario_pool_give(pool, 0, bytes);

	return err ? err : chario_area_read_buffer(tape->area, pool->buffer, 0, bytes, from, 0);
}

/* A place that the drive cannot read counts as empty, but may hold the newest segment. */
int chario_tape_read(struct chario_tape *tape, uint64_t segment, uint32_t offset, uint32_t bytes,
		     const struct chario_pool *pool)
{
	size_t room = chario_buffer_bytes(pool->buffer);
	uint32_t part;

	for (uint32_t at = 0; at < bytes; at += part) {
		ssize_t ret;

		part = (uint32_t)MIN(room, bytes - at);
		ret = read_place(tape, segment, offset + at, part, pool);
		tape->doubtful |= chario_pool_is_damage(ret);
		if (ret < 0)
			return chario_pool_is_damage(ret) ? 0 : (int)ret;
		if ((size_t)ret != part)
			return 0;
		ret = chario_pool_take_piece(pool, at, part);
		if (ret)
			return (int)ret;
	}
	return 1;
}

bool chario_tape_parse(struct chario_tape *tape, uint64_t segment, uint32_t offset,
		       const void *block, struct chario_disk_batch *batch)
{
	if (!chario_disk_batch_read(batch, block, tape->session, tape->segment_bytes) ||
	    batch->segment % tape->slots != segment % tape->slots || batch->offset != offset ||
	    (!tape->ring && batch->segment >= tape->slots))
		return false;
	tape->has_times = chario_disk_batch_times(batch, block, &tape->times);
	return true;
}

int chario_tape_peek(struct chario_tape *tape, uint64_t segment, uint32_t offset,
		     struct chario_disk_batch *batch)
{
	int ret = chario_tape_read(tape, segment, offset, CHARIO_DISK_BLOCK, &tape->block);

	tape->reads++;
	if (ret <= 0)
		return ret;
	return chario_tape_parse(tape, segment, offset, tape->block.memory, batch);
}

int chario_tape_look(struct chario_tape *tape, uint64_t segment, uint32_t offset,
		     struct chario_disk_batch *batch)
{
	int ret = chario_tape_peek(tape, segment, offset, batch);

	return ret == 1 ? batch->segment == segment : ret;
}

bool chario_head_is_closed(const struct chario_head *head, const struct chario_area_stream *entry)
{
	const struct store_end *end = &entry->end;

	if (end->time_ns && end->segment >= head->last.segment)
		return true;
	return head->ended && chario_disk_batch_is_of_first_release(&head->last);
}

bool chario_tape_reaches_end(const struct chario_disk_batch *last,
			     const struct chario_area_stream *entry)
{
	return entry->end.time_ns && !entry->continued && entry->end.segment <= last->segment &&
	       entry->end.sequence >= last->next_sequence;
}

int chario_tape_is_unreadable(struct chario_tape *tape, uint64_t segment, uint32_t offset)
{
	ssize_t ret = read_place(tape, segment, offset, CHARIO_DISK_BLOCK, &tape->block);

	return chario_pool_is_damage(ret) ? 1 : (int)MIN(ret, 0);
}

/*
 * Read block by block; a block that cannot be read becomes zero.  The memory of a character disk
 * that is open for reading only cannot be written, so the blocks are put into a copy.
 */
static int read_blocks(struct chario_tape *tape, const struct chario_disk_batch *batch,
		       uint32_t bytes, struct chario_pile *pile)
{
	struct chario_pool *pool = &pile->pool;
	int ret = pool->copy ? 0 : chario_pool_copy(pool);

	if (ret)
		return ret;
	for (uint32_t at = 0; at < bytes; at += CHARIO_DISK_BLOCK) {
		ret = chario_tape_read(tape, batch->segment, batch->offset + at, CHARIO_DISK_BLOCK,
				       &tape->block);
		if (ret < 0)
			return ret;
		if (ret) {
			memcpy(pool->memory + at, tape->block.memory, CHARIO_DISK_BLOCK);
			continue;
		}
		memset(pool->memory + at, 0, CHARIO_DISK_BLOCK);
		pile->unread = MIN(pile->unread, at);
		pile->unread_end = at + CHARIO_DISK_BLOCK;
	}
	return 0;
}

int chario_tape_load(struct chario_tape *tape, const struct chario_disk_batch *batch,
		     struct chario_pile *pile)
{
	struct chario_disk_batch *is = &pile->batch;
	uint32_t bytes = chario_disk_round(batch->bytes, CHARIO_DISK_BLOCK);
	int ret = chario_tape_read(tape, batch->segment, batch->offset, bytes, &pile->pool);

	pile->unread = pile->unread_end = bytes;
	if (!ret)
		ret = read_blocks(tape, batch, bytes, pile);
	if (ret < 0)
		return ret;
	if (!chario_disk_batch_read(is, pile->pool.memory, tape->session, tape->segment_bytes) ||
	    memcmp(is, batch, sizeof(*is)))
		return 0;
	pile->seed = chario_disk_record_seed(is->session, is->part, is->segment);
	pile->at = is->header_bytes;
	/* The seal covers the first block only; the other blocks are whole if they can be read. */
	pile->sealed = chario_disk_batch_sealed(is, pile->pool.memory);
	pile->has_times = chario_disk_batch_times(is, pile->pool.memory, &pile->times);
	return 1;
}

static const struct chario_disk_record *record_at(const struct chario_pile *pile)
{
	return (const void *)(pile->pool.memory + pile->at);
}

/* Returns whether the record header is possible, and so the place of the next. */
static bool has_next(const struct chario_pile *pile)
{
	const struct chario_disk_record *record = record_at(pile);
	uint32_t next = record->next;

	return record->magic == CHARIO_DISK_RECORD_MAGIC && next >= sizeof(*record) &&
	       next % CHARIO_DISK_HEADER_ALIGN == 0 && next <= pile->batch.bytes - pile->at;
}

/* Returns whether the data lie in the batch, or behind the whole batch in the segment. */
static bool has_data(const struct chario_pile *pile, uint32_t segment_bytes,
		     const struct chario_piece *piece)
{
	const struct chario_disk_batch *batch = &pile->batch;
	const struct chario_disk_record *record = &piece->record;
	uint32_t end = chario_disk_round(batch->offset + batch->bytes, CHARIO_DISK_BLOCK);

	if (piece->memory)
		return record->data <= record->next && record->bytes <= record->next - record->data;
	return record->flags & CHARIO_RECORD_NO_CRC && record->bytes && piece->offset >= end &&
	       piece->offset % CHARIO_DISK_BLOCK == 0 && piece->offset <= segment_bytes &&
	       record->bytes <= segment_bytes - piece->offset;
}

static bool read_piece(const struct chario_pile *pile, uint32_t segment_bytes,
		       struct chario_piece *piece)
{
	const struct chario_disk_record *record = &piece->record;
	bool apart;

	*piece = (struct chario_piece){ .record = *record_at(pile) };
	if (record->data < sizeof(*record) || record->data > segment_bytes)
		return false;
	apart = record->flags & CHARIO_DISK_RECORD_APART;
	piece->memory = apart ? NULL : pile->pool.memory + pile->at + record->data;
	piece->offset = pile->batch.offset + pile->at + record->data;
	return !(record->flags & ~RECORD_FLAGS) && has_data(pile, segment_bytes, piece);
}

/* Returns whether all blocks of a piece that lie in the batch could be read. */
static bool is_read(const struct chario_pile *pile, const struct chario_piece *piece)
{
	return pile->at + piece->record.next <= pile->unread || pile->at >= pile->unread_end;
}

static bool is_whole(const struct chario_pile *pile, const struct chario_piece *piece)
{
	const struct chario_disk_record *record = &piece->record;

	if (record->flags & CHARIO_RECORD_NO_CRC && !(pile->sealed && is_read(pile, piece)))
		return false;
	return record->crc ==
	       chario_disk_record_crc(pile->seed, record, piece->memory, record->bytes);
}

int chario_pile_next(struct chario_pile *pile, uint32_t segment_bytes, struct chario_piece *piece)
{
	if (pile->batch.bytes - pile->at < sizeof(struct chario_disk_record))
		return 0;
	if (!has_next(pile) || !read_piece(pile, segment_bytes, piece) || !is_whole(pile, piece))
		return -EBADMSG;
	pile->at += piece->record.next;
	return 1;
}

/* A wrong guess does no harm: anything found there has a checksum of its own. */
void chario_pile_skip(struct chario_pile *pile)
{
	if (has_next(pile))
		pile->at += record_at(pile)->next;
	else
		pile->at = pile->batch.bytes;
}
