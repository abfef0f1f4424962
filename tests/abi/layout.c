// SPDX-License-Identifier: MIT
/*
 * The layout of the ABI, written down: a change of it does not compile.
 *
 * Structs and numbers are the same for 32-bit and 64-bit callers; meson builds
 * this file for both.  A struct whose members, as they stand here, do not add
 * up to its size has a hole or a member that was forgotten here.
 */
#include <stddef.h>
#include <stdio.h>

#include <chario/uapi.h>

/* The bytes of all members, one behind the other, are where the members of the struct are. */
#define BYTES(type, member, bytes) char member[bytes];
#define SAME(type, member, bytes)                                                                \
	_Static_assert(offsetof(struct type, member) == offsetof(struct type##_bytes, member) && \
			       sizeof(((struct type *)0)->member) == (bytes),                    \
		       #type "." #member);

#define LAYOUT(type, bytes, members)                                                        \
	struct type##_bytes {                                                               \
		members(BYTES, type)                                                        \
	};                                                                                  \
	_Static_assert(sizeof(struct type##_bytes) == (bytes), #type " as it stands here"); \
	members(SAME, type) _Static_assert(sizeof(struct type) == (bytes), #type)

/* clang-format off */
#define INFO(M, T) M(T, size, 4) M(T, abi_version, 4) M(T, features, 8) M(T, capacity_bytes, 8) \
	M(T, logical_block_bytes, 4) M(T, physical_block_bytes, 4) M(T, dma_alignment_bytes, 4) \
	M(T, command_bytes, 4) M(T, max_command_bytes, 4) M(T, chunk_bytes, 4) \
	M(T, boundary_bytes, 4) M(T, nr_queues, 4) M(T, nr_poll_queues, 4) M(T, queue_depth, 4) \
	M(T, completion, 4) M(T, spin_ns, 4) M(T, deadline_ns, 8) M(T, recovery_bound_ns, 8) \
	M(T, namespace_id, 4) M(T, index, 4) M(T, backend, 16) M(T, serial, 24) M(T, model, 48) \
	M(T, firmware, 16) M(T, command_limit, 4) M(T, region, 4) M(T, write_alignment_bytes, 4) \
	M(T, deallocate_alignment_bytes, 4) M(T, optimal_write_bytes, 4) \
	M(T, atomic_write_bytes, 4) M(T, offset_bytes, 8)
LAYOUT(chario_info, 232, INFO);

#define STATS(M, T) M(T, size, 4) M(T, reserved, 4) M(T, read_commands, 8) \
	M(T, write_commands, 8) M(T, flush_commands, 8) M(T, read_bytes, 8) M(T, write_bytes, 8) \
	M(T, errors, 8) M(T, timeouts, 8) M(T, interrupted, 8) M(T, aborts, 8) M(T, resets, 8) \
	M(T, sq_doorbells, 8) M(T, cq_doorbells, 8) M(T, interrupts, 8) M(T, late_reaps, 8) \
	M(T, discard_commands, 8) M(T, discard_bytes, 8) M(T, write_zeroes_commands, 8) \
	M(T, write_zeroes_bytes, 8)
LAYOUT(chario_stats, 152, STATS);

#define FILE_OPTIONS(M, T) M(T, size, 4) M(T, completion, 4) M(T, deadline_ns, 8) \
	M(T, spin_ns, 4) M(T, flags, 4)
LAYOUT(chario_file_options, 24, FILE_OPTIONS);

#define BUFFER_CREATE(M, T) M(T, size, 4) M(T, kind, 4) M(T, flags, 4) M(T, id, 4) \
	M(T, address, 8) M(T, bytes, 8) M(T, mmap_offset, 8) M(T, extents, 4) M(T, fd, 4) \
	M(T, reserved, 8)
LAYOUT(chario_buffer_create, 56, BUFFER_CREATE);

#define BUFFER_DESTROY(M, T) M(T, size, 4) M(T, id, 4)
LAYOUT(chario_buffer_destroy, 8, BUFFER_DESTROY);

#define BUFFER_SYNC(M, T) M(T, size, 4) M(T, id, 4) M(T, offset, 8) M(T, bytes, 8) \
	M(T, direction, 4) M(T, reserved, 4)
LAYOUT(chario_buffer_sync, 32, BUFFER_SYNC);

#define BUFFER_EXPORT(M, T) M(T, size, 4) M(T, id, 4) M(T, flags, 4) M(T, fd, 4)
LAYOUT(chario_buffer_export, 16, BUFFER_EXPORT);

#define TRANSFER(M, T) M(T, size, 4) M(T, op, 4) M(T, flags, 4) M(T, buffer, 4) \
	M(T, buffer_offset, 8) M(T, disk_offset, 8) M(T, bytes, 8) M(T, deadline_ns, 8) \
	M(T, reserved, 16)
LAYOUT(chario_transfer, 64, TRANSFER);

#define TIMELINE_OPEN(M, T) M(T, size, 4) M(T, flags, 4) M(T, records, 4) M(T, tags, 4) \
	M(T, stop_above_ns, 8) M(T, reserved, 8)
LAYOUT(chario_timeline_open, 32, TIMELINE_OPEN);

#define TIMELINE_CONTROL(M, T) M(T, size, 4) M(T, command, 4) M(T, stop_above_ns, 8) \
	M(T, reserved, 8)
LAYOUT(chario_timeline_control, 24, TIMELINE_CONTROL);

#define TIMELINE_HEADER(M, T) M(T, size, 4) M(T, record_bytes, 4) M(T, nr_rings, 4) \
	M(T, records, 4) M(T, rings_offset, 8) M(T, ring_bytes, 8) M(T, rings_bytes, 8) \
	M(T, tags_offset, 8) M(T, tags_bytes, 8) M(T, tags, 4) M(T, clock_id, 4) M(T, disk, 4) \
	M(T, frozen, 4) M(T, record_cost_ns, 4) M(T, stop_queue, 4) M(T, stop_request, 4) \
	M(T, reserved, 4) M(T, begin_ns, 8) M(T, stop_above_ns, 8) M(T, stop_ns, 8) \
	M(T, stop_duration_ns, 8)
LAYOUT(chario_timeline_header, 120, TIMELINE_HEADER);

#define TIMELINE_RECORD(M, T) M(T, time_ns, 8) M(T, stage, 1) M(T, op, 1) M(T, cpu, 2) \
	M(T, disk, 4) M(T, task, 4) M(T, queue, 4) M(T, request, 4) M(T, command, 4) \
	M(T, offset, 8) M(T, bytes, 8) M(T, result, 8) M(T, reserved, 8)
LAYOUT(chario_timeline_record, 64, TIMELINE_RECORD);

#define TIMELINE_RING(M, T) M(T, head, 8) M(T, polled, 4) M(T, reserved, 52)
LAYOUT(chario_timeline_ring, 64, TIMELINE_RING);

#define TIMELINE_TAG(M, T) M(T, sequence, 8) M(T, time_ns, 8) M(T, value, 8) M(T, reserved, 8)
LAYOUT(chario_timeline_tag, 32, TIMELINE_TAG);

#define TIMELINE_TAGS(M, T) M(T, head, 8) M(T, tags, 4) M(T, reserved, 20)
LAYOUT(chario_timeline_tags, 32, TIMELINE_TAGS);

#define SETTLE(M, T) M(T, size, 4) M(T, reserved, 4) M(T, disk_offset, 8) M(T, bytes, 8) \
	M(T, deadline_ns, 8)
LAYOUT(chario_settle, 32, SETTLE);

#define QUEUE_CREATE(M, T) M(T, size, 4) M(T, flags, 4) M(T, depth, 4) M(T, cpu, 4) \
	M(T, granted, 4) M(T, id, 4) M(T, reserved, 8)
LAYOUT(chario_queue_create, 32, QUEUE_CREATE);

#define PIN(M, T) M(T, size, 4) M(T, wanted, 4) M(T, in_force, 4) M(T, absent, 4) \
	M(T, refused, 4) M(T, reserved, 4) M(T, status, 64)
LAYOUT(chario_pin, 88, PIN);

#define HEALTH(M, T) M(T, size, 4) M(T, status, 4) M(T, reasons, 4) M(T, events, 4) \
	M(T, read_ns, 8) M(T, critical_warning, 4) M(T, temperature_k, 4) \
	M(T, warning_temperature_k, 4) M(T, critical_temperature_k, 4) M(T, warning_minutes, 4) \
	M(T, critical_minutes, 4) M(T, spare_percent, 4) M(T, spare_threshold_percent, 4) \
	M(T, used_percent, 4) M(T, throttled, 4) M(T, throttle_light_count, 4) \
	M(T, throttle_heavy_count, 4) M(T, throttle_light_s, 4) M(T, throttle_heavy_s, 4) \
	M(T, sensors_k, 32) M(T, data_units_read, 8) M(T, data_units_written, 8) \
	M(T, read_commands, 8) M(T, write_commands, 8) M(T, busy_minutes, 8) \
	M(T, power_cycles, 8) M(T, power_on_hours, 8) M(T, unsafe_shutdowns, 8) \
	M(T, media_errors, 8) M(T, error_log_entries, 8)
LAYOUT(chario_health, 192, HEALTH);

#define REGION(M, T) M(T, number, 4) M(T, reserved, 4) M(T, offset, 8) M(T, bytes, 8)
LAYOUT(chario_region, 24, REGION);

#define REGIONS(M, T) M(T, size, 4) M(T, count, 4) M(T, address, 8)
LAYOUT(chario_regions, 16, REGIONS);

#define CONFINE(M, T) M(T, size, 4) M(T, flags, 4) M(T, offset, 8) M(T, bytes, 8)
LAYOUT(chario_confine, 24, CONFINE);

/* clang-format on */

#define NUMBER(name, value) _Static_assert((name) == (value), #name)

NUMBER(CHARIO_ABI_VERSION, 2);
NUMBER(CHARIO_IOC_INFO, 0xc400);
NUMBER(CHARIO_IOC_STATS, 0xc401);
NUMBER(CHARIO_IOC_GET_FILE, 0xc402);
NUMBER(CHARIO_IOC_SET_FILE, 0xc403);
NUMBER(CHARIO_IOC_BUFFER_CREATE, 0xc410);
NUMBER(CHARIO_IOC_BUFFER_DESTROY, 0xc411);
NUMBER(CHARIO_IOC_BUFFER_SYNC, 0xc412);
NUMBER(CHARIO_IOC_BUFFER_EXPORT, 0xc413);
NUMBER(CHARIO_IOC_TRANSFER, 0xc420);
NUMBER(CHARIO_IOC_TIMELINE_OPEN, 0xc450);
NUMBER(CHARIO_IOC_TIMELINE_CONTROL, 0xc451);
NUMBER(CHARIO_IOC_SET_REGIONS, 0xc460);
NUMBER(CHARIO_IOC_CONFINE, 0xc461);
NUMBER(CHARIO_REGIONS_MAX, 128);
NUMBER(CHARIO_CONFINE_READ_ONLY, 1);
NUMBER(CHARIO_TIMELINE_RECORDS_MIN, 64);
NUMBER(CHARIO_TIMELINE_RECORDS_MAX, 1 << 20);
NUMBER(CHARIO_TIMELINE_BYTES_MAX, 1 << 30);
NUMBER(CHARIO_TIMELINE_BEGIN_FROZEN, 1);
NUMBER(CHARIO_TIMELINE_RUN, 0);
NUMBER(CHARIO_TIMELINE_FREEZE, 1);
NUMBER(CHARIO_TIMELINE_RUNNING, 0);
NUMBER(CHARIO_TIMELINE_TOLD, 1);
NUMBER(CHARIO_TIMELINE_STOPPED, 2);
NUMBER(CHARIO_TIMELINE_NO_REQUEST, 0xffffffff);
NUMBER(CHARIO_IOC_QUEUE_CREATE, 0xc430);
NUMBER(CHARIO_QUEUE_POLL, 1);
NUMBER(CHARIO_QUEUE_URGENT, 2);
NUMBER(CHARIO_IOC_GET_PIN, 0xc440);
NUMBER(CHARIO_IOC_SET_PIN, 0xc441);
NUMBER(CHARIO_IOC_HEALTH, 0xc442);
NUMBER(CHARIO_BUFFER_REGISTERED, 1);
NUMBER(CHARIO_BUFFER_POOL, 2);
NUMBER(CHARIO_BUFFER_WINDOW, 3);
NUMBER(CHARIO_BUFFER_DMABUF, 4);
NUMBER(CHARIO_BUFFER_CMB, 5);
NUMBER(CHARIO_BUFFER_SOURCE, 1);
NUMBER(CHARIO_BUFFER_STREAMING, 2);
NUMBER(CHARIO_SYNC_FOR_DEVICE, 1);
NUMBER(CHARIO_SYNC_FOR_CPU, 2);
NUMBER(CHARIO_SYNC_IDLE, 3);
NUMBER(CHARIO_TRANSFER_READ, 0);
NUMBER(CHARIO_TRANSFER_WRITE, 1);
NUMBER(CHARIO_TRANSFER_FLUSH, 2);
NUMBER(CHARIO_TRANSFER_POLL, 1);
NUMBER(CHARIO_TRANSFER_FUA, 2);
NUMBER(CHARIO_TRANSFER_NOWAIT, 4);
NUMBER(CHARIO_TRANSFER_PHYSICAL, 8);
NUMBER(CHARIO_TRANSFER_MAX, 0x7ff00000);
NUMBER(CHARIO_STAGE_ENTER, 0);
NUMBER(CHARIO_STAGE_SPLIT, 1);
NUMBER(CHARIO_STAGE_MAP, 2);
NUMBER(CHARIO_STAGE_QUEUE, 3);
NUMBER(CHARIO_STAGE_POST, 4);
NUMBER(CHARIO_STAGE_DOORBELL, 5);
NUMBER(CHARIO_STAGE_IRQ, 6);
NUMBER(CHARIO_STAGE_REAP, 7);
NUMBER(CHARIO_STAGE_UNMAP, 8);
NUMBER(CHARIO_STAGE_FINISH, 9);
NUMBER(CHARIO_COMPLETION_DEFAULT, 0);
NUMBER(CHARIO_COMPLETION_IRQ, 1);
NUMBER(CHARIO_COMPLETION_POLL, 2);
NUMBER(CHARIO_COMPLETION_SPIN, 3);
NUMBER(CHARIO_FILE_ANY_SIZE, 1);
NUMBER(CHARIO_FILE_URGENT, 2);
NUMBER(CHARIO_FEATURE_POLL, 1);
NUMBER(CHARIO_FEATURE_FUA, 2);
NUMBER(CHARIO_FEATURE_WRITE_CACHE, 4);
NUMBER(CHARIO_FEATURE_READ_ONLY, 8);
NUMBER(CHARIO_FEATURE_PIN, 0x10000);
NUMBER(CHARIO_FEATURE_HEALTH, 0x20000);
NUMBER(CHARIO_PIN_APST, 1);
NUMBER(CHARIO_PIN_POWER_STATE, 2);
NUMBER(CHARIO_PIN_COALESCING, 4);
NUMBER(CHARIO_PIN_VECTORS, 8);
NUMBER(CHARIO_PIN_RETRY, 16);
NUMBER(CHARIO_PIN_CPU, 32);
NUMBER(CHARIO_PIN_LINK, 64);
NUMBER(CHARIO_PIN_ALL, 127);
NUMBER(CHARIO_HEALTH_OK, 1);
NUMBER(CHARIO_HEALTH_WARNING, 2);
NUMBER(CHARIO_HEALTH_CRITICAL, 3);
NUMBER(CHARIO_HEALTH_SPARE, 1);
NUMBER(CHARIO_HEALTH_TEMPERATURE, 2);
NUMBER(CHARIO_HEALTH_RELIABILITY, 4);
NUMBER(CHARIO_HEALTH_READ_ONLY, 8);
NUMBER(CHARIO_HEALTH_BACKUP, 16);
NUMBER(CHARIO_HEALTH_WEAR, 256);
NUMBER(CHARIO_HEALTH_MEDIA_ERRORS, 512);
NUMBER(CHARIO_HEALTH_THROTTLED, 1024);

/* That this has been compiled is the test; it says for what. */
int main(void)
{
	printf("1..1\nok 1 - layout with pointers of %zu bits\n", 8 * sizeof(void *));
	return 0;
}
