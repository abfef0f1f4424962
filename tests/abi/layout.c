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

#define OFFSET(type, member, offset, bytes)                                           \
	_Static_assert(offsetof(struct type, member) == (offset), #type "." #member); \
	_Static_assert(sizeof(((struct type *)0)->member) == (bytes), #type "." #member);
#define BYTES(type, member, offset, bytes) +(bytes)

#define LAYOUT(type, bytes, members)                           \
	_Static_assert(sizeof(struct type) == (bytes), #type); \
	members(OFFSET) _Static_assert((members(BYTES)) == (bytes), #type)

#define INFO(M)                                            \
	M(chario_info, size, 0, 4)                         \
	M(chario_info, abi_version, 4, 4)                  \
	M(chario_info, features, 8, 8)                     \
	M(chario_info, capacity_bytes, 16, 8)              \
	M(chario_info, logical_block_bytes, 24, 4)         \
	M(chario_info, physical_block_bytes, 28, 4)        \
	M(chario_info, dma_alignment_bytes, 32, 4)         \
	M(chario_info, command_bytes, 36, 4)               \
	M(chario_info, max_command_bytes, 40, 4)           \
	M(chario_info, chunk_bytes, 44, 4)                 \
	M(chario_info, boundary_bytes, 48, 4)              \
	M(chario_info, nr_queues, 52, 4)                   \
	M(chario_info, nr_poll_queues, 56, 4)              \
	M(chario_info, queue_depth, 60, 4)                 \
	M(chario_info, completion, 64, 4)                  \
	M(chario_info, spin_ns, 68, 4)                     \
	M(chario_info, deadline_ns, 72, 8)                 \
	M(chario_info, recovery_bound_ns, 80, 8)           \
	M(chario_info, namespace_id, 88, 4)                \
	M(chario_info, index, 92, 4)                       \
	M(chario_info, backend, 96, 16)                    \
	M(chario_info, serial, 112, 24)                    \
	M(chario_info, model, 136, 48)                     \
	M(chario_info, firmware, 184, 16)                  \
	M(chario_info, command_limit, 200, 4)              \
	M(chario_info, region, 204, 4)                     \
	M(chario_info, write_alignment_bytes, 208, 4)      \
	M(chario_info, deallocate_alignment_bytes, 212, 4) \
	M(chario_info, optimal_write_bytes, 216, 4)        \
	M(chario_info, atomic_write_bytes, 220, 4)         \
	M(chario_info, offset_bytes, 224, 8)

#define REGION(M)                        \
	M(chario_region, number, 0, 4)   \
	M(chario_region, reserved, 4, 4) \
	M(chario_region, offset, 8, 8)   \
	M(chario_region, bytes, 16, 8)

#define REGIONS(M)                     \
	M(chario_regions, size, 0, 4)  \
	M(chario_regions, count, 4, 4) \
	M(chario_regions, address, 8, 8)

#define CONFINE(M)                      \
	M(chario_confine, size, 0, 4)   \
	M(chario_confine, flags, 4, 4)  \
	M(chario_confine, offset, 8, 8) \
	M(chario_confine, bytes, 16, 8)

#define STATS(M)                                       \
	M(chario_stats, size, 0, 4)                    \
	M(chario_stats, reserved, 4, 4)                \
	M(chario_stats, read_commands, 8, 8)           \
	M(chario_stats, write_commands, 16, 8)         \
	M(chario_stats, flush_commands, 24, 8)         \
	M(chario_stats, read_bytes, 32, 8)             \
	M(chario_stats, write_bytes, 40, 8)            \
	M(chario_stats, errors, 48, 8)                 \
	M(chario_stats, timeouts, 56, 8)               \
	M(chario_stats, interrupted, 64, 8)            \
	M(chario_stats, aborts, 72, 8)                 \
	M(chario_stats, resets, 80, 8)                 \
	M(chario_stats, sq_doorbells, 88, 8)           \
	M(chario_stats, cq_doorbells, 96, 8)           \
	M(chario_stats, interrupts, 104, 8)            \
	M(chario_stats, late_reaps, 112, 8)            \
	M(chario_stats, discard_commands, 120, 8)      \
	M(chario_stats, discard_bytes, 128, 8)         \
	M(chario_stats, write_zeroes_commands, 136, 8) \
	M(chario_stats, write_zeroes_bytes, 144, 8)

#define FILE_OPTIONS(M)                           \
	M(chario_file_options, size, 0, 4)        \
	M(chario_file_options, completion, 4, 4)  \
	M(chario_file_options, deadline_ns, 8, 8) \
	M(chario_file_options, spin_ns, 16, 4)    \
	M(chario_file_options, flags, 20, 4)

#define BUFFER_CREATE(M)                            \
	M(chario_buffer_create, size, 0, 4)         \
	M(chario_buffer_create, kind, 4, 4)         \
	M(chario_buffer_create, flags, 8, 4)        \
	M(chario_buffer_create, id, 12, 4)          \
	M(chario_buffer_create, address, 16, 8)     \
	M(chario_buffer_create, bytes, 24, 8)       \
	M(chario_buffer_create, mmap_offset, 32, 8) \
	M(chario_buffer_create, extents, 40, 4)     \
	M(chario_buffer_create, fd, 44, 4)          \
	M(chario_buffer_create, reserved, 48, 8)

#define BUFFER_DESTROY(M)                    \
	M(chario_buffer_destroy, size, 0, 4) \
	M(chario_buffer_destroy, id, 4, 4)

#define BUFFER_EXPORT(M)                     \
	M(chario_buffer_export, size, 0, 4)  \
	M(chario_buffer_export, id, 4, 4)    \
	M(chario_buffer_export, flags, 8, 4) \
	M(chario_buffer_export, fd, 12, 4)

#define BUFFER_SYNC(M)                          \
	M(chario_buffer_sync, size, 0, 4)       \
	M(chario_buffer_sync, id, 4, 4)         \
	M(chario_buffer_sync, offset, 8, 8)     \
	M(chario_buffer_sync, bytes, 16, 8)     \
	M(chario_buffer_sync, direction, 24, 4) \
	M(chario_buffer_sync, reserved, 28, 4)

#define TRANSFER(M)                              \
	M(chario_transfer, size, 0, 4)           \
	M(chario_transfer, op, 4, 4)             \
	M(chario_transfer, flags, 8, 4)          \
	M(chario_transfer, buffer, 12, 4)        \
	M(chario_transfer, buffer_offset, 16, 8) \
	M(chario_transfer, disk_offset, 24, 8)   \
	M(chario_transfer, bytes, 32, 8)         \
	M(chario_transfer, deadline_ns, 40, 8)   \
	M(chario_transfer, reserved, 48, 16)

#define SETTLE(M)                           \
	M(chario_settle, size, 0, 4)        \
	M(chario_settle, reserved, 4, 4)    \
	M(chario_settle, disk_offset, 8, 8) \
	M(chario_settle, bytes, 16, 8)      \
	M(chario_settle, deadline_ns, 24, 8)

#define QUEUE_CREATE(M)                        \
	M(chario_queue_create, size, 0, 4)     \
	M(chario_queue_create, flags, 4, 4)    \
	M(chario_queue_create, depth, 8, 4)    \
	M(chario_queue_create, cpu, 12, 4)     \
	M(chario_queue_create, granted, 16, 4) \
	M(chario_queue_create, id, 20, 4)      \
	M(chario_queue_create, reserved, 24, 8)
#define PIN(M)                         \
	M(chario_pin, size, 0, 4)      \
	M(chario_pin, wanted, 4, 4)    \
	M(chario_pin, in_force, 8, 4)  \
	M(chario_pin, absent, 12, 4)   \
	M(chario_pin, refused, 16, 4)  \
	M(chario_pin, reserved, 20, 4) \
	M(chario_pin, status, 24, 64)

#define HEALTH(M)                                        \
	M(chario_health, size, 0, 4)                     \
	M(chario_health, status, 4, 4)                   \
	M(chario_health, reasons, 8, 4)                  \
	M(chario_health, events, 12, 4)                  \
	M(chario_health, read_ns, 16, 8)                 \
	M(chario_health, critical_warning, 24, 4)        \
	M(chario_health, temperature_k, 28, 4)           \
	M(chario_health, warning_temperature_k, 32, 4)   \
	M(chario_health, critical_temperature_k, 36, 4)  \
	M(chario_health, warning_minutes, 40, 4)         \
	M(chario_health, critical_minutes, 44, 4)        \
	M(chario_health, spare_percent, 48, 4)           \
	M(chario_health, spare_threshold_percent, 52, 4) \
	M(chario_health, used_percent, 56, 4)            \
	M(chario_health, throttled, 60, 4)               \
	M(chario_health, throttle_light_count, 64, 4)    \
	M(chario_health, throttle_heavy_count, 68, 4)    \
	M(chario_health, throttle_light_s, 72, 4)        \
	M(chario_health, throttle_heavy_s, 76, 4)        \
	M(chario_health, sensors_k, 80, 32)              \
	M(chario_health, data_units_read, 112, 8)        \
	M(chario_health, data_units_written, 120, 8)     \
	M(chario_health, read_commands, 128, 8)          \
	M(chario_health, write_commands, 136, 8)         \
	M(chario_health, busy_minutes, 144, 8)           \
	M(chario_health, power_cycles, 152, 8)           \
	M(chario_health, power_on_hours, 160, 8)         \
	M(chario_health, unsafe_shutdowns, 168, 8)       \
	M(chario_health, media_errors, 176, 8)           \
	M(chario_health, error_log_entries, 184, 8)

#define TIMELINE_OPEN(M)                              \
	M(chario_timeline_open, size, 0, 4)           \
	M(chario_timeline_open, flags, 4, 4)          \
	M(chario_timeline_open, records, 8, 4)        \
	M(chario_timeline_open, tags, 12, 4)          \
	M(chario_timeline_open, stop_above_ns, 16, 8) \
	M(chario_timeline_open, reserved, 24, 8)

#define TIMELINE_CONTROL(M)                             \
	M(chario_timeline_control, size, 0, 4)          \
	M(chario_timeline_control, command, 4, 4)       \
	M(chario_timeline_control, stop_above_ns, 8, 8) \
	M(chario_timeline_control, reserved, 16, 8)

#define TIMELINE_HEADER(M)                               \
	M(chario_timeline_header, size, 0, 4)            \
	M(chario_timeline_header, record_bytes, 4, 4)    \
	M(chario_timeline_header, nr_rings, 8, 4)        \
	M(chario_timeline_header, records, 12, 4)        \
	M(chario_timeline_header, rings_offset, 16, 8)   \
	M(chario_timeline_header, ring_bytes, 24, 8)     \
	M(chario_timeline_header, rings_bytes, 32, 8)    \
	M(chario_timeline_header, tags_offset, 40, 8)    \
	M(chario_timeline_header, tags_bytes, 48, 8)     \
	M(chario_timeline_header, tags, 56, 4)           \
	M(chario_timeline_header, clock_id, 60, 4)       \
	M(chario_timeline_header, disk, 64, 4)           \
	M(chario_timeline_header, frozen, 68, 4)         \
	M(chario_timeline_header, record_cost_ns, 72, 4) \
	M(chario_timeline_header, stop_queue, 76, 4)     \
	M(chario_timeline_header, stop_request, 80, 4)   \
	M(chario_timeline_header, reserved, 84, 4)       \
	M(chario_timeline_header, begin_ns, 88, 8)       \
	M(chario_timeline_header, stop_above_ns, 96, 8)  \
	M(chario_timeline_header, stop_ns, 104, 8)       \
	M(chario_timeline_header, stop_duration_ns, 112, 8)

#define TIMELINE_RECORD(M)                        \
	M(chario_timeline_record, time_ns, 0, 8)  \
	M(chario_timeline_record, stage, 8, 1)    \
	M(chario_timeline_record, op, 9, 1)       \
	M(chario_timeline_record, cpu, 10, 2)     \
	M(chario_timeline_record, disk, 12, 4)    \
	M(chario_timeline_record, task, 16, 4)    \
	M(chario_timeline_record, queue, 20, 4)   \
	M(chario_timeline_record, request, 24, 4) \
	M(chario_timeline_record, command, 28, 4) \
	M(chario_timeline_record, offset, 32, 8)  \
	M(chario_timeline_record, bytes, 40, 8)   \
	M(chario_timeline_record, result, 48, 8)  \
	M(chario_timeline_record, reserved, 56, 8)

#define TIMELINE_RING(M)                      \
	M(chario_timeline_ring, head, 0, 8)   \
	M(chario_timeline_ring, polled, 8, 4) \
	M(chario_timeline_ring, reserved, 12, 52)

#define TIMELINE_TAG(M)                        \
	M(chario_timeline_tag, sequence, 0, 8) \
	M(chario_timeline_tag, time_ns, 8, 8)  \
	M(chario_timeline_tag, value, 16, 8)   \
	M(chario_timeline_tag, reserved, 24, 8)

#define TIMELINE_TAGS(M)                    \
	M(chario_timeline_tags, head, 0, 8) \
	M(chario_timeline_tags, tags, 8, 4) \
	M(chario_timeline_tags, reserved, 12, 20)

LAYOUT(chario_info, 232, INFO);
LAYOUT(chario_stats, 152, STATS);
LAYOUT(chario_file_options, 24, FILE_OPTIONS);
LAYOUT(chario_buffer_create, 56, BUFFER_CREATE);
LAYOUT(chario_buffer_destroy, 8, BUFFER_DESTROY);
LAYOUT(chario_buffer_sync, 32, BUFFER_SYNC);
LAYOUT(chario_buffer_export, 16, BUFFER_EXPORT);
LAYOUT(chario_transfer, 64, TRANSFER);
LAYOUT(chario_timeline_open, 32, TIMELINE_OPEN);
LAYOUT(chario_timeline_control, 24, TIMELINE_CONTROL);
LAYOUT(chario_timeline_header, 120, TIMELINE_HEADER);
LAYOUT(chario_timeline_record, 64, TIMELINE_RECORD);
LAYOUT(chario_timeline_ring, 64, TIMELINE_RING);
LAYOUT(chario_timeline_tag, 32, TIMELINE_TAG);
LAYOUT(chario_timeline_tags, 32, TIMELINE_TAGS);
LAYOUT(chario_settle, 32, SETTLE);
LAYOUT(chario_queue_create, 32, QUEUE_CREATE);
LAYOUT(chario_pin, 88, PIN);
LAYOUT(chario_health, 192, HEALTH);
LAYOUT(chario_region, 24, REGION);
LAYOUT(chario_regions, 16, REGIONS);
LAYOUT(chario_confine, 24, CONFINE);

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
