// SPDX-License-Identifier: MIT
/*
 * A C++ program finds every function of the library, and a plan works.
 */
#include <chario.h>

#include <cstddef>
#include <cstdio>

/* Programs allocate these; a longer one needs a new symbol or the size rule. */
static_assert(sizeof(chario_bind_result) == 84, "chario_bind_result");
static_assert(sizeof(chario_drive) == 140, "chario_drive");
static_assert(sizeof(chario_plan) == 64, "chario_plan");
static_assert(sizeof(chario_plan_command) == 16, "chario_plan_command");
static_assert(sizeof(chario_plan_limits) == 32, "chario_plan_limits");
static_assert(sizeof(struct chario_probe) == 88, "chario_probe");
static_assert(sizeof(chario_timeline_quantiles) == 56, "chario_timeline_quantiles");
static_assert(sizeof(chario_timeline_request) == 200, "chario_timeline_request");
static_assert(sizeof(chario_timeline_totals) == 32, "chario_timeline_totals");
static_assert(sizeof(chario_record) == 48, "chario_record");
static_assert(sizeof(chario_stream_room) == 40, "chario_stream_room");

/* By the size rule these may grow at the end; a smaller size than this first one is refused. */
static_assert(offsetof(chario_player, from_ns) == 104, "chario_player");
static_assert(offsetof(chario_recording, records) == 112, "chario_recording");
static_assert(sizeof(chario_stream_options) >= 48, "chario_stream_options");

template <typename Function> static const void *address(Function *function)
{
	return reinterpret_cast<const void *>(function);
}

int main()
{
	const void *functions[] = {
		address(chario_bind),
		address(chario_unbind),
		address(chario_device_open),
		address(chario_device_close),
		address(chario_device_fd),
		address(chario_device_path),
		address(chario_device_get_info),
		address(chario_device_get_stats),
		address(chario_device_get_options),
		address(chario_device_set_options),
		address(chario_drive_each),
		address(chario_drive_find),
		address(chario_error_advice),
		address(chario_error_advice_of),
		address(chario_error_meaning),
		address(chario_error_meaning_of),
		address(chario_error_name),
		address(chario_health_get),
		address(chario_health_reason_advice),
		address(chario_health_reason_name),
		address(chario_health_status_name),
		address(chario_health_wait),
		address(chario_list_disks),
		address(chario_pin_get),
		address(chario_pin_name),
		address(chario_pin_set),
		address(chario_plan_count),
		address(chario_plan_get_limits),
		address(chario_plan_init),
		address(chario_plan_next),
		address(chario_probe),
		address(chario_timeline_close),
		address(chario_timeline_control),
		address(chario_timeline_each),
		address(chario_timeline_each_request),
		address(chario_timeline_fd),
		address(chario_timeline_get_totals),
		address(chario_timeline_header),
		address(chario_timeline_join),
		address(chario_timeline_measure),
		address(chario_timeline_open),
		address(chario_timeline_stage_name),
		address(chario_timeline_tag),
		address(chario_use_each),
		address(chario_use_text),
	};
	chario_plan_limits limits = {};
	chario_plan plan;

	limits.logical_block_bytes = 512;
	limits.command_bytes = 128 << 10;
	limits.chunk_bytes = 4 << 20;
	bool good = !chario_plan_init(&plan, &limits, CHARIO_PLAN_READ, 0, 1 << 20) &&
		    chario_plan_count(&plan) == 8;
	for (const void *function : functions)
		good = good && function;
	std::printf("1..1\n%sok 1 - linked from C++\n", good ? "" : "not ");
	return !good;
}
