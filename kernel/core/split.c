// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * How a call is cut into device commands.  See split.h.
 */
#include "split.h"

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
