// SPDX-License-Identifier: MIT
/*
 * A plan gives the commands and the errors that the call would give.
 */
#include <chario/plan.h>

#include "tap.h"

static const struct chario_plan_limits limits = {
	.capacity_bytes = 1 << 30,
	.logical_block_bytes = 4096,
	.command_bytes = 128 << 10,
	.chunk_bytes = 4 << 20,
};

static struct chario_plan plan;

static int init(enum chario_plan_kind kind, uint64_t offset, uint64_t length)
{
	return chario_plan_init(&plan, &limits, kind, offset, length);
}

TEST(test_commands, "commands come in order and cover the call")
{
	struct chario_plan_command command;
	uint64_t offset = 8192;

	EQUAL(init(CHARIO_PLAN_READ, offset, 300 << 10), 0);
	EQUAL(plan.transfer_bytes, 300 << 10);
	EQUAL(chario_plan_count(&plan), 3);
	for (int i = 0; i < 3; i++) {
		EQUAL(chario_plan_next(&plan, &command), 1);
		EQUAL(command.offset_bytes, offset);
		EQUAL(command.length_bytes, i < 2 ? 128 << 10 : 44 << 10);
		EQUAL(chario_plan_count(&plan), 2 - i);
		offset += command.length_bytes;
	}
	EQUAL(chario_plan_next(&plan, &command), 0);
	EQUAL(chario_plan_next(&plan, &command), 0);
}

TEST(test_misaligned, "EINVAL where offset or length is no multiple of the block")
{
	EQUAL(init(CHARIO_PLAN_READ, 512, 4096), -EINVAL);
	EQUAL(init(CHARIO_PLAN_READ, 4096, 512), -EINVAL);
	EQUAL(init(CHARIO_PLAN_WRITE, 4096, 4095), -EINVAL);
	EQUAL(init(CHARIO_PLAN_READ, 512, 0), 0);
	EQUAL(init(CHARIO_PLAN_READ, (1 << 30) + 512, 4096), -EINVAL);
}

TEST(test_nothing, "a call of 0 bytes costs nothing")
{
	EQUAL(init(CHARIO_PLAN_READ, 4096, 0), 0);
	EQUAL(chario_plan_count(&plan), 0);
	EQUAL(init(CHARIO_PLAN_WRITE, 2U << 30, 0), 0);
	EQUAL(chario_plan_count(&plan), 0);
}

TEST(test_end_of_disk, "calls are cut at the end; past it ENOSPC or nothing")
{
	EQUAL(init(CHARIO_PLAN_READ, (1 << 30) - 8192, 1 << 20), 0);
	EQUAL(plan.transfer_bytes, 8192);
	EQUAL(chario_plan_count(&plan), 1);
	EQUAL(init(CHARIO_PLAN_WRITE, (1 << 30) - 8192, 1 << 20), 0);
	EQUAL(plan.transfer_bytes, 8192);
	EQUAL(init(CHARIO_PLAN_READ, 1 << 30, 4096), 0);
	EQUAL(plan.transfer_bytes, 0);
	EQUAL(chario_plan_count(&plan), 0);
	EQUAL(init(CHARIO_PLAN_WRITE, 1 << 30, 4096), -ENOSPC);
	EQUAL(init(CHARIO_PLAN_WRITE, 2U << 30, 4096), -ENOSPC);
	EQUAL(init(CHARIO_PLAN_WRITE, 1 << 30, 1), -ENOSPC);
	EQUAL(init(CHARIO_PLAN_READ, 1 << 30, 1), 0);
	EQUAL(chario_plan_count(&plan), 0);
}

TEST(test_largest_call, "calls are cut where Linux cuts them")
{
	struct chario_plan_limits endless = limits;
	uint64_t most =
		0x7fffffff / (uint64_t)sysconf(_SC_PAGESIZE) * (uint64_t)sysconf(_SC_PAGESIZE);

	endless.capacity_bytes = 0;
	EQUAL(chario_plan_init(&plan, &endless, CHARIO_PLAN_READ, 0, 1ULL << 40), 0);
	EQUAL(plan.transfer_bytes, most);
	EQUAL(chario_plan_count(&plan), (most + (128 << 10) - 1) / (128 << 10));
	EQUAL(chario_plan_init(&plan, &endless, CHARIO_PLAN_READ, 1ULL << 63, 4096), -EINVAL);
	EQUAL(chario_plan_init(&plan, &endless, CHARIO_PLAN_READ, INT64_MAX - 4095, 8192), -EINVAL);
}

static void check_impossible(struct chario_plan_limits changed)
{
	EQUAL(chario_plan_init(&plan, &changed, CHARIO_PLAN_READ, 0, 0), -EDOM);
}

TEST(test_impossible_limits, "EDOM for limits that no disk can have")
{
	struct chario_plan_limits changed = limits;

#define IMPOSSIBLE(member, value)          \
	do {                               \
		changed = limits;          \
		changed.member = value;    \
		check_impossible(changed); \
	} while (0)
	IMPOSSIBLE(logical_block_bytes, 0);
	IMPOSSIBLE(logical_block_bytes, 4097);
	IMPOSSIBLE(command_bytes, 0);
	IMPOSSIBLE(command_bytes, 512);
	IMPOSSIBLE(chunk_bytes, 0);
	IMPOSSIBLE(chunk_bytes, 5000);
	IMPOSSIBLE(boundary_bytes, 512);
	IMPOSSIBLE(capacity_bytes, 4097);
#undef IMPOSSIBLE
}

TEST(test_boundary, "commands end at boundaries of the drive")
{
	struct chario_plan_limits bounded = limits;
	struct chario_plan_command command;

	bounded.boundary_bytes = 64 << 10;
	EQUAL(chario_plan_init(&plan, &bounded, CHARIO_PLAN_READ, 60 << 10, 72 << 10), 0);
	EQUAL(chario_plan_count(&plan), 3);
	EQUAL(chario_plan_next(&plan, &command), 1);
	EQUAL(command.length_bytes, 4 << 10);
}

TEST_MAIN(tap_nothing, tap_nothing)
