// SPDX-License-Identifier: MIT
/*
 * What a thread does, turn by turn, and whether what comes of it is right.
 */
#include "siege.h"

#define POISON 0xee

static run_fn *const runs[WAYS] = {
	[WAY_PLAIN] = run_call,
	[WAY_VECTOR] = run_call,
	[WAY_HIPRI] = run_call,
	[WAY_DSYNC] = run_call,
	[WAY_NOWAIT] = run_call,
	[WAY_AIO] = run_aio,
	[WAY_RING] = run_ring,
	[WAY_RING_FIXED] = run_ring,
	[WAY_RING_POLLED] = run_ring,
	[WAY_RING_POLLED_FIXED] = run_ring,
	[WAY_TRANSFER] = run_transfer,
	[WAY_TRANSFER_POLLED] = run_transfer,
	[WAY_TRANSFER_FUA] = run_transfer,
	[WAY_COMMAND_128] = run_command,
	[WAY_COMMAND_64] = run_command,
	[WAY_COMMAND_POLLED_128] = run_command,
	[WAY_COMMAND_POLLED_64] = run_command,
	[WAY_PARTS] = run_call,
	[WAY_PARTS_DSYNC] = run_call,
	[WAY_PARTS_SHARED] = run_call,
};

static bool names_buffer(const struct op *op)
{
	return op->way >= WAY_TRANSFER && op->way < WAY_PARTS;
}

static bool is_inside(const struct op *op)
{
	return names_buffer(op) && (op->kind == KIND_INSIDE || op->kind == KIND_PEER);
}

static bool is_together(const struct op *op)
{
	return runs[op->way] == run_aio || runs[op->way] == run_ring ||
	       runs[op->way] == run_command;
}

/* Returns how many items from the first on can be moved by one call. */
static uint32_t longest(const struct seat *s, uint32_t first)
{
	switch (s->area) {
	case AREA_BYTES_FIRST:
		return 2 - first % 2;
	case AREA_BYTES_LAST:
		return 1;
	case AREA_BYTES_ALONE:
		return s->nr_items - first < 3 * MOST_BYTES / s->block ?
			       s->nr_items - first :
			       (uint32_t)(3 * MOST_BYTES / s->block) - 3;
	default:
		return s->nr_items - first < MOST_BYTES / s->block ?
			       s->nr_items - first :
			       (uint32_t)(MOST_BYTES / s->block);
	}
}

static void place_piece(const struct seat *s, struct piece *p)
{
	uint64_t end;
	uint32_t bytes;

	item_place(s, p->first + p->count - 1, &end, &bytes);
	end += bytes;
	item_place(s, p->first, &p->disk_offset, &bytes);
	p->bytes = (uint32_t)(end - p->disk_offset);
}

/* Which items, in how many pieces. */
static uint32_t choose_items(struct seat *s, struct op *op)
{
	uint32_t first = (uint32_t)below(s, s->nr_items), nr = is_together(op) ? PIECES : 1;
	uint32_t left = (uint32_t)random_length(&s->random, longest(s, first));
	uint32_t total = 0;

	if (is_inside(op))
		nr = 1;
	for (op->nr = 0; left; op->nr++) {
		struct piece *p = &op->pieces[op->nr];

		p->first = first;
		p->count = op->nr < nr - 1 ? 1 + (uint32_t)below(s, left) : left;
		p->result = 0;
		place_piece(s, p);
		first += p->count;
		left -= p->count;
		total += p->bytes;
	}
	return total;
}

static void choose_memory(struct seat *s, struct op *op, uint32_t bytes)
{
	char *at;

	if (is_inside(op)) {
		at = NULL;
	} else if (names_buffer(op)) {
		at = s->buffers[op->kind].memory +
		     below(s, (MOST_BYTES - bytes) / s->step + 1) * s->step;
	} else if (op->way == WAY_RING_FIXED || op->way == WAY_RING_POLLED_FIXED) {
		at = s->fixed + below(s, PAGE / s->step) * s->step;
	} else {
		op->memory = (enum memory)below(s, MEMORIES);
		if (op->memory == MEMORY_LATE && !has_userfaultfd)
			op->memory = MEMORY_UNTOUCHED;
		/* Where items are not whole blocks, a write that ends in the middle would tear one. */
		if ((op->memory == MEMORY_GUARDED || op->memory == MEMORY_LATE) && op->write &&
		    file_is_parts(s))
			op->memory = MEMORY_HEAP;
		at = memory_prepare(s, op->memory, bytes);
	}
	for (uint32_t i = 0; i < op->nr; i++) {
		op->pieces[i].memory = at;
		at += op->pieces[i].bytes;
	}
}

static bool is_plain_memory(const struct op *op)
{
	return !names_buffer(op) && op->way != WAY_RING_FIXED && op->way != WAY_RING_POLLED_FIXED;
}

/* What is to be written; or what no read gives. */
static void prepare_piece(struct seat *s, const struct op *op, const struct piece *p)
{
	char *to = is_plain_memory(op) ? memory_data(s, op->memory, p->memory) : p->memory;

	if (!op->write && (op->memory != MEMORY_UNTOUCHED || !is_plain_memory(op)))
		memset(to, POISON, p->bytes);
	for (uint32_t item = p->first; op->write && item < p->first + p->count; item++) {
		uint64_t offset;
		uint32_t bytes;

		item_place(s, item, &offset, &bytes);
		item_fill(s, item, item_begin_write(s, item), to + (offset - p->disk_offset));
	}
}

static void take_item(struct seat *s, const struct op *op, uint32_t item, const char *memory)
{
	if (!op->write) {
		if (!op->is_undefined)
			item_check(s, item, memory);
	} else if (file_is_parts(s)) {
		s->shown[item] = s->items[item].may;
		if (op->way == WAY_PARTS_DSYNC)
			item_end_write(s, item);
	} else {
		item_end_write(s, item);
	}
}

static void count_success(const struct seat *s, const struct op *op)
{
	struct tally *tally = &shared->tally;

	count(&tally->ways[op->way]);
	count(&tally->modes[s->mode]);
	if (names_buffer(op))
		count(&tally->kinds[op->kind]);
	else if (is_plain_memory(op))
		count(&tally->memories[op->memory]);
}

static void judge_error(struct seat *s, const struct op *op, long error)
{
	bool allowed = error == ENODEV || error == EIO;

	allowed |= error == ETIMEDOUT && s->mode == MODE_HURRIED;
	allowed |= error == EFAULT && is_plain_memory(op) && op->memory == MEMORY_GUARDED;
	allowed |= error == EAGAIN && op->way == WAY_NOWAIT;
	allowed |= error == EINVAL && op->kind == KIND_PEER && names_buffer(op);
	if (!allowed)
		wrong(s, "%s", strerrorname_np((int)error));
	if (error == ENODEV)
		count(&shared->tally.events[EVENT_GONE]);
	if (error == EFAULT)
		count(&shared->tally.events[EVENT_FAULT]);
	count(&shared->tally.errors[error]);
}

/* Returns whether it has come to all that was asked of it. */
static bool judge_piece(struct seat *s, const struct op *op, const struct piece *p)
{
	if (p->result < 0)
		judge_error(s, op, -p->result);
	else if (p->result > p->bytes)
		wrong(s, "%ld bytes instead of %u", p->result, p->bytes);
	for (uint32_t item = p->first; item < p->first + p->count; item++) {
		uint64_t offset;
		uint32_t bytes;

		item_place(s, item, &offset, &bytes);
		offset -= p->disk_offset;
		if ((long)(offset + bytes) > p->result)
			break;
		take_item(s, op, item, p->memory + offset);
	}
	if (p->result != p->bytes)
		return false;
	count_success(s, op);
	return true;
}

static void sync_or_recover(struct seat *s)
{
	int error = file_sync(s);

	if (!error)
		return;
	if (error != ENODEV && error != EIO && (error != ETIMEDOUT || s->mode != MODE_HURRIED))
		wrong(s, "fsync: %s", strerrorname_np(error));
	count(&shared->tally.errors[error]);
	file_recover(s);
}

/* An item has one write on its way at most, and what was gathered is on its way. */
static bool is_ready(const struct seat *s, const struct op *op)
{
	const struct piece *p = op->pieces;

	for (uint32_t i = 0; op->write && i < op->nr; i++, p++)
		for (uint32_t item = p->first; item < p->first + p->count; item++)
			if (s->items[item].sure != s->items[item].may)
				return false;
	return true;
}

static bool choose_way(struct seat *s, struct op *op)
{
	static const enum way parts[] = { WAY_PARTS, WAY_PARTS_DSYNC };

	op->write = chance(s, 2);
	if (s->area == AREA_BYTES_ALONE) {
		op->way = parts[below(s, 2)];
		return true;
	}
	if (file_is_parts(s)) {
		op->way = chance(s, 2) ? WAY_PARTS_SHARED : WAY_PARTS_DSYNC;
		return true;
	}
	op->way = (enum way)below(s, WAY_PARTS);
	if (!names_buffer(op))
		return true;
	op->kind = (enum kind)below(s, KINDS);
	/* The first drive has memory inside, and the other one reaches it there. */
	if (is_inside(op))
		op->kind = s->peer_address ? KIND_PEER : KIND_INSIDE;
	op->write = op->write || op->kind == KIND_SOURCE;
	if (is_inside(op))
		op->write = false;
	return buffer_have(s, op->kind);
}

static void move_data(struct seat *s)
{
	static _Thread_local struct op op;
	bool whole = true;
	uint32_t bytes;

	op = (struct op){ .memory = MEMORY_HEAP };
	if (!choose_way(s, &op))
		return;
	bytes = choose_items(s, &op);
	if (!is_ready(s, &op)) {
		sync_or_recover(s);
		return;
	}
	s->op = &op;
	choose_memory(s, &op, bytes);
	for (uint32_t i = 0; i < op.nr && !is_inside(&op); i++)
		prepare_piece(s, &op, &op.pieces[i]);
	if (is_plain_memory(&op))
		memory_close(s, op.memory, op.write);
	if (is_inside(&op))
		buffer_copy(s, &op, runs[op.way]);
	else
		runs[op.way](s, &op);
	if (op.is_undefined)
		count(&shared->tally.events[EVENT_UNDEFINED]);
	for (uint32_t i = 0; i < op.nr; i++)
		whole &= judge_piece(s, &op, &op.pieces[i]);
	if (whole)
		return;
	file_recover(s);
	/* The other drive may have gone, and its memory with it. */
	if (names_buffer(&op) && op.kind == KIND_PEER)
		buffer_drop(s, op.kind);
}

static void take_turn(struct seat *s)
{
	switch (below(s, 40)) {
	case 0:
		file_close_and_open(s);
		break;
	case 1:
		file_set_mode(s);
		break;
	case 2:
	case 3:
		sync_or_recover(s);
		break;
	case 4:
		file_check_all(s);
		break;
	default:
		move_data(s);
	}
}

void live(struct seat *s)
{
	file_open(s);
	while (!is_mine_to_stop(s)) {
		take_turn(s);
		count(&shared->turns[s->worker]);
	}
	memory_join(s);
	close(s->fd);
}
