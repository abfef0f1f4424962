/* SPDX-License-Identifier: LGPL-2.1-or-later OR MIT */
/*
 * A plan: the device commands that a call will cost, known before the call.
 *
 * The number and the size of the commands depend only on the offset, the length and the
 * limits of the disk.  The library computes them with the code of the kernel module.
 * Planning needs no device and transfers nothing:
 *
 *	struct chario_plan_command command;
 *	struct chario_plan plan;
 *
 *	err = chario_plan_init(&plan, &limits, CHARIO_PLAN_READ, offset, length);
 *	while (!err && chario_plan_next(&plan, &command))
 *		use(command.offset_bytes, command.length_bytes);
 *
 * A call with a vector of buffers (readv, writev) costs the sum of its elements: each
 * element is a call of its own here.
 */
#ifndef CHARIO_PLAN_H
#define CHARIO_PLAN_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

struct chario_device;

/**
 * enum chario_plan_kind - the kind of a call
 * @CHARIO_PLAN_READ: read(2) and its relatives, which return 0 past the end
 * @CHARIO_PLAN_WRITE: write(2) and its relatives, which fail past the end
 */
enum chario_plan_kind {
	CHARIO_PLAN_READ,
	CHARIO_PLAN_WRITE,
};

/**
 * struct chario_plan_limits - the limits of a disk that determine a plan
 * @capacity_bytes: size of the disk in bytes, or 0 for a disk without end
 * @logical_block_bytes: unit of offsets and lengths in bytes, a power of 2
 * @command_bytes: largest command in bytes, a multiple of the block
 * @chunk_bytes: distance in bytes of places that no command crosses, counted from the
 *	start of the call; a multiple of the block
 * @boundary_bytes: distance in bytes of places that no command crosses, counted from
 *	the start of the disk; a multiple of the block, or 0 for none
 * @first_bytes: offset on the disk of the first byte of the device, from which offsets of a
 *	call count: 0, but for a region or a confined device
 */
struct chario_plan_limits {
	uint64_t capacity_bytes;
	uint32_t logical_block_bytes;
	uint32_t command_bytes;
	uint32_t chunk_bytes;
	uint32_t boundary_bytes;
	uint64_t first_bytes;
};

/**
 * struct chario_plan_command - one device command
 * @offset_bytes: offset in the device in bytes
 * @length_bytes: length in bytes, never 0
 */
struct chario_plan_command {
	uint64_t offset_bytes;
	uint64_t length_bytes;
};

/**
 * struct chario_plan - a call that is being planned
 * @transfer_bytes: bytes that the call will transfer: its length, cut at the end of
 *	the disk and at the largest count that Linux takes in one call (2 GiB less a page)
 * @limits: private
 * @position_bytes: private
 * @end_bytes: private
 * @chunk_end_bytes: private
 *
 * The struct holds no resource, may be copied and needs no destruction.
 */
struct chario_plan {
	uint64_t transfer_bytes;
	struct chario_plan_limits limits;
	uint64_t position_bytes;
	uint64_t end_bytes;
	uint64_t chunk_end_bytes;
};

/**
 * chario_plan_get_limits() - the present limits of a disk
 * @device: an open device
 * @limits: struct to fill in
 *
 * The administrator can change the sizes of chunks and commands of a disk, so limits that
 * were read long ago may no longer hold.
 *
 * Context: may sleep.
 * Return: 0; -ENODEV when the disk has been removed.
 */
int chario_plan_get_limits(const struct chario_device *device, struct chario_plan_limits *limits);

/**
 * chario_plan_init() - plan a call
 * @plan: struct to fill in
 * @limits: limits of the disk, which are copied
 * @kind: kind of the call
 * @offset_bytes: offset on the disk in bytes
 * @length_bytes: length of the call in bytes
 *
 * The errors are those that the call itself would return before the drive is asked.  The
 * alignment of the buffer is not checked.
 *
 * Context: any; the function only computes.
 * Return: 0, also for a read at or past the end of the disk, which costs no command;
 * -EINVAL when @offset_bytes or @length_bytes is not a multiple of the logical block or
 * their end does not fit in a file offset, -ENOSPC for a write at or past the end of the
 * disk, whatever its length; -EDOM when no disk can have these @limits.
 */
int chario_plan_init(struct chario_plan *plan, const struct chario_plan_limits *limits,
		     enum chario_plan_kind kind, uint64_t offset_bytes, uint64_t length_bytes);

/**
 * chario_plan_next() - the next command of a plan
 * @plan: a plan that chario_plan_init() has accepted
 * @command: struct to fill in if there is a next command
 *
 * Context: any; one thread at a time for one @plan.
 * Return: 1 when there was a next command, 0 when the plan is at its end.
 */
int chario_plan_next(struct chario_plan *plan, struct chario_plan_command *command);

/**
 * chario_plan_count() - count the remaining commands of a plan
 * @plan: a plan that chario_plan_init() has accepted; it is not changed
 *
 * The call takes time in proportion to the result, which is below 5 million.
 *
 * Context: any.
 * Return: the number of commands that chario_plan_next() has yet to return.
 */
uint64_t chario_plan_count(const struct chario_plan *plan);

#ifdef __cplusplus
}
#endif

#endif /* CHARIO_PLAN_H */
