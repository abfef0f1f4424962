/* SPDX-License-Identifier: GPL-2.0-only OR MIT */
/*
 * The rule by which a call is cut into device commands: the command-count contract.
 *
 * The number and size of the device commands of a call depend on its offset,
 * its length and the limits below, and on nothing else: not on load, memory
 * layout, free slots or history.  The functions here are the whole rule.  They
 * call nothing, so that user space computes the same answer without doing the
 * transfer.
 */
#ifndef CHARIO_TYPES_SPLIT_H
#define CHARIO_TYPES_SPLIT_H

#include <linux/types.h>
#ifdef __KERNEL__
#include <linux/math64.h>
#endif

/**
 * struct chario_split_limits - published limits of a disk
 * @command_bytes: largest command in bytes, not 0, a multiple of the logical block
 * @chunk_bytes: length of a chunk in bytes; no command crosses a multiple of this,
 *	counted from the start of the call (readv and writev: of the vector
 *	element); not 0, a multiple of the logical block
 * @boundary_bytes: distance of boundaries in bytes; no command crosses a multiple of
 *	this, counted from the start of the disk; 0 for none, else a multiple of the
 *	logical block (NVM Command Set specification, Identify Namespace, NOIOB)
 */
struct chario_split_limits {
	__u32 command_bytes;
	__u32 chunk_bytes;
	__u32 boundary_bytes;
};

/**
 * struct chario_split - a call on its way through the splitter
 * @pos: byte offset on the disk of the next command
 * @end: byte offset on the disk of the end of the call
 * @chunk_end: byte offset on the disk of the end of the current chunk
 */
struct chario_split {
	__u64 pos;
	__u64 end;
	__u64 chunk_end;
};

static inline __u32 chario_split_rest(__u64 dividend, __u32 divisor)
{
#ifdef __KERNEL__
	u32 rest;

	div_u64_rem(dividend, divisor, &rest);
	return rest;
#else
	return (__u32)(dividend % divisor);
#endif
}

static inline __u64 chario_split_smaller(__u64 a, __u64 b)
{
	return a < b ? a : b;
}

/**
 * chario_split_start() - begin to split a call
 * @split: the state to set up
 * @limits: limits of the disk
 * @offset: byte offset of the call on the disk, a multiple of the grain
 * @length: length of the call in bytes, a multiple of the grain
 */
static inline void chario_split_start(struct chario_split *split,
				      const struct chario_split_limits *limits,
				      __u64 offset, __u64 length)
{
	split->pos = offset;
	split->end = offset + length;
	split->chunk_end = chario_split_smaller(split->end, offset +
						limits->chunk_bytes);
}

/**
 * chario_split_next() - compute the size of the next command
 * @split: a call that has been started
 * @limits: the limits that it was started with
 *
 * Return: bytes of the next command; 0 if the call has been split.
 */
static inline __u32 chario_split_next(struct chario_split *split,
				      const struct chario_split_limits *limits)
{
	__u64 bytes = chario_split_smaller(split->chunk_end - split->pos,
					   limits->command_bytes);
	__u32 boundary = limits->boundary_bytes;

	if (boundary)
		bytes = chario_split_smaller(bytes, boundary -
					     chario_split_rest(split->pos,
							       boundary));
	split->pos += bytes;
	if (split->pos == split->chunk_end)
		split->chunk_end = chario_split_smaller(split->end,
							split->chunk_end +
							limits->chunk_bytes);
	return (__u32)bytes;
}

#endif /* CHARIO_TYPES_SPLIT_H */
