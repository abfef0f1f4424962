// SPDX-License-Identifier: MIT
/*
 * Calls that return when they are done: read and write in all their forms.
 */
#include "siege.h"

#define ELEMENTS 4

/* Cut into elements: whole blocks, or anywhere in a file of any size. */
static int cut(struct seat *s, const struct piece *p, struct iovec *elements)
{
	uint32_t step = file_is_parts(s) ? 1 : s->block, left = p->bytes;
	int nr = 0;

	while (left) {
		uint32_t take = left;

		if (nr < ELEMENTS - 1)
			take = (uint32_t)(1 + below(s, left / step)) * step;
		elements[nr++] = (struct iovec){ p->memory + (p->bytes - left), take };
		left -= take;
	}
	return nr;
}

static long call(const struct seat *s, bool write, const struct iovec *elements, int nr,
		 uint64_t offset, int flags)
{
	ssize_t done;

	done = write ? pwritev2(s->fd, elements, nr, (off_t)offset, flags) :
		       preadv2(s->fd, elements, nr, (off_t)offset, flags);
	return done < 0 ? -errno : done;
}

static int flags_of(const struct op *op)
{
	switch (op->way) {
	case WAY_HIPRI:
		return RWF_HIPRI;
	case WAY_DSYNC:
	case WAY_PARTS_DSYNC:
		return op->write ? RWF_DSYNC : 0;
	case WAY_NOWAIT:
		return RWF_NOWAIT;
	default:
		return 0;
	}
}

void run_call(struct seat *s, struct op *op)
{
	bool in_parts = op->way == WAY_VECTOR || (file_is_parts(s) && chance(s, 3));
	struct piece *p = op->pieces;
	struct iovec elements[ELEMENTS] = { { p->memory, p->bytes } };
	int nr = in_parts ? cut(s, p, elements) : 1;

	p->result = call(s, op->write, elements, nr, p->disk_offset, flags_of(op));
}
