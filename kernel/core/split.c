// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * How a call is cut into device commands.  See split.h.
 */
#include "split.h"

#ifdef __KERNEL__
#include <linux/math64.h>
#endif

static __u32 rest_of(__u64 dividend, __u32 divisor)
{
#ifdef __KERNEL__
	u32 rest;

	div_u64_rem(dividend, divisor, &rest);
	return rest;
#else
	return (__u32)(dividend % divisor);
#endif
}

static __u64 smaller(__u64 a, __u64 b)
{
	return a < b ? a : b;
}

/**
 * chario_split_start() - begin to split a call
 * @split: the state to set up
 * @limits: limits of the disk
 * @offset: byte offset of the call on the disk, a multiple of the logical block
 * @length: length of the call in bytes, a multiple of the logical block
 */
void chario_split_start(struct chario_split *split,
			const struct chario_split_limits *limits,
			__u64 offset, __u64 length)
{
	split->pos = offset;
	split->end = offset + length;
	split->chunk_end = smaller(split->end, offset + limits->chunk_bytes);
}

/**
 * chario_split_next() - size of the next command
 * @split: a call that has been started
 * @limits: the limits that it was started with
 *
 * Return: bytes of the next command; 0 when the call has been split.
 */
__u32 chario_split_next(struct chario_split *split,
			const struct chario_split_limits *limits)
{
	__u64 bytes = smaller(split->chunk_end - split->pos,
			      limits->command_bytes);

	if (limits->boundary_bytes)
		bytes = smaller(bytes, limits->boundary_bytes -
				rest_of(split->pos, limits->boundary_bytes));
	split->pos += bytes;
	if (split->pos == split->chunk_end)
		split->chunk_end = smaller(split->end, split->chunk_end +
					   limits->chunk_bytes);
	return (__u32)bytes;
}

/**
 * chario_split_count() - number of commands of a call
 * @limits: limits of the disk
 * @offset: byte offset of the call on the disk, a multiple of the logical block
 * @length: length of the call in bytes, a multiple of the logical block
 *
 * Takes time in proportion to the answer.
 *
 * Return: the number of commands that the call costs.
 */
__u64 chario_split_count(const struct chario_split_limits *limits,
			 __u64 offset, __u64 length)
{
	struct chario_split split;
	__u64 count = 0;

	chario_split_start(&split, limits, offset, length);
	while (chario_split_next(&split, limits))
		count++;
	return count;
}
