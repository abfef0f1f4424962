// SPDX-License-Identifier: LGPL-2.1-or-later OR MIT
/*
 * The device commands that a call will cost. types/split of the kernel module has the rule;
 * this file adds the checks of a call and the cut at the end of the disk.
 */
#include <chario/device.h>
#include <chario/plan.h>

#include <errno.h>
#include <limits.h>
#include <stdbool.h>
#include <sys/param.h>
#include <unistd.h>

#include "split.h"

int chario_plan_get_limits(const struct chario_device *device, struct chario_plan_limits *limits)
{
	struct chario_info info;
	int err = chario_device_get_info(device, &info, sizeof(info));

	if (err)
		return err;
	*limits = (struct chario_plan_limits){
		.capacity_bytes = info.capacity_bytes,
		.logical_block_bytes = info.logical_block_bytes,
		.command_bytes = info.command_bytes,
		.chunk_bytes = info.chunk_bytes,
		.boundary_bytes = info.boundary_bytes,
		.first_bytes = info.offset_bytes,
	};
	return 0;
}

static bool are_possible(const struct chario_plan_limits *limits)
{
	uint32_t block = limits->logical_block_bytes;

	return block && !(block & (block - 1)) && limits->command_bytes && limits->chunk_bytes &&
	       !(limits->command_bytes % block) && !(limits->chunk_bytes % block) &&
	       !(limits->boundary_bytes % block) && !(limits->capacity_bytes % block) &&
	       !(limits->first_bytes % block) && limits->first_bytes <= INT64_MAX;
}

/* Linux moves at most this many bytes in one call (MAX_RW_COUNT). */
static uint64_t largest_call(void)
{
	return (uint64_t)INT_MAX & ~((uint64_t)sysconf(_SC_PAGESIZE) - 1);
}

static struct chario_split_limits split_limits(const struct chario_plan *plan)
{
	return (struct chario_split_limits){
		.command_bytes = plan->limits.command_bytes,
		.chunk_bytes = plan->limits.chunk_bytes,
		.boundary_bytes = plan->limits.boundary_bytes,
	};
}

/* Find the part of a call that lies on the disk; the order of checks is that of front/char. */
static int clip(const struct chario_plan_limits *limits, enum chario_plan_kind kind,
		uint64_t offset_bytes, uint64_t *length_bytes)
{
	uint64_t capacity_bytes = limits->capacity_bytes ? limits->capacity_bytes : UINT64_MAX;

	if (!*length_bytes)
		return 0;
	if (offset_bytes % limits->logical_block_bytes)
		return -EINVAL;
	if (offset_bytes >= capacity_bytes) {
		*length_bytes = 0;
		return kind == CHARIO_PLAN_WRITE ? -ENOSPC : 0;
	}
	if (*length_bytes % limits->logical_block_bytes)
		return -EINVAL;
	*length_bytes = MIN(*length_bytes, capacity_bytes - offset_bytes);
	return 0;
}

int chario_plan_init(struct chario_plan *plan, const struct chario_plan_limits *limits,
		     enum chario_plan_kind kind, uint64_t offset_bytes, uint64_t length_bytes)
{
	struct chario_split_limits rule;
	struct chario_split split;
	int err;

	if (!are_possible(limits))
		return -EDOM;
	if (offset_bytes > INT64_MAX || length_bytes > INT64_MAX - offset_bytes)
		return -EINVAL;
	length_bytes = MIN(length_bytes, largest_call());
	err = clip(limits, kind, offset_bytes, &length_bytes);
	if (err)
		return err;

	*plan = (struct chario_plan){ .transfer_bytes = length_bytes, .limits = *limits };
	rule = split_limits(plan);
	chario_split_start(&split, &rule, limits->first_bytes + offset_bytes, length_bytes);
	plan->position_bytes = split.pos;
	plan->end_bytes = split.end;
	plan->chunk_end_bytes = split.chunk_end;
	return 0;
}

int chario_plan_next(struct chario_plan *plan, struct chario_plan_command *command)
{
	struct chario_split_limits rule = split_limits(plan);
	struct chario_split split = {
		.pos = plan->position_bytes,
		.end = plan->end_bytes,
		.chunk_end = plan->chunk_end_bytes,
	};
	uint64_t length_bytes = chario_split_next(&split, &rule);

	if (!length_bytes)
		return 0;
	command->offset_bytes = plan->position_bytes - plan->limits.first_bytes;
	command->length_bytes = length_bytes;
	plan->position_bytes = split.pos;
	plan->chunk_end_bytes = split.chunk_end;
	return 1;
}

uint64_t chario_plan_count(const struct chario_plan *plan)
{
	struct chario_plan rest = *plan;
	struct chario_plan_command command;
	uint64_t count = 0;

	while (chario_plan_next(&rest, &command))
		count++;
	return count;
}
