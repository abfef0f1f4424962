// SPDX-License-Identifier: GPL-2.0-only
/*
 * The attributes in /sys/class/chario/chardiskN/: one value per file.
 */
#include <linux/jiffies.h>
#include <linux/sizes.h>
#include <linux/sysfs.h>

#include "disk/disk.h"
#include "disk/health.h"
#include "queue/isolation.h"
#include "types/backend.h"

static const char * const completion_names[] = {
	[CHARIO_COMPLETION_IRQ] = "irq",
	[CHARIO_COMPLETION_POLL] = "poll",
	[CHARIO_COMPLETION_SPIN] = "spin",
};

static const char * const limit_names[] = {
	[CHARIO_COMMAND_LIMIT_DRIVE] = "drive",
	[CHARIO_COMMAND_LIMIT_DMA] = "dma",
	[CHARIO_COMMAND_LIMIT_SLOTS] = "slots",
};

#define SHOW(name, format, expression)					\
static ssize_t name##_show(struct device *dev,				\
			   struct device_attribute *attr, char *buf)	\
{									\
	const struct chario_disk *disk = to_chario_disk(dev);	\
									\
	return sysfs_emit(buf, format "\n", expression);		\
}

static u64 recovery_bound_ms(const struct chario_disk *disk)
{
	return chario_disk_recovery_bound_ns(disk) / NSEC_PER_MSEC;
}

SHOW(backend, "%s", disk->backend->name)
static DEVICE_ATTR_RO(backend);
SHOW(model, "%s", disk->model)
static DEVICE_ATTR_RO(model);
SHOW(serial, "%s", disk->serial)
static DEVICE_ATTR_RO(serial);
SHOW(firmware, "%s", disk->firmware)
static DEVICE_ATTR_RO(firmware);
SHOW(nsid, "%u", disk->namespace_id)
static DEVICE_ATTR_RO(nsid);
SHOW(wwid, "%s", disk->wwid)
static DEVICE_ATTR_RO(wwid);
SHOW(size, "%llu", disk->capacity_bytes)
static DEVICE_ATTR_RO(size);
SHOW(logical_block_size, "%u", disk->block_mask + 1)
static DEVICE_ATTR_RO(logical_block_size);
SHOW(physical_block_size, "%u", disk->physical_block_bytes)
static DEVICE_ATTR_RO(physical_block_size);
SHOW(dma_alignment, "%u", disk->dma_mask + 1)
static DEVICE_ATTR_RO(dma_alignment);
SHOW(max_command_bytes, "%u", disk->max_command_bytes)
static DEVICE_ATTR_RO(max_command_bytes);
SHOW(command_limit, "%s", limit_names[disk->command_limit])
static DEVICE_ATTR_RO(command_limit);
SHOW(boundary_bytes, "%u", disk->split.boundary_bytes)
static DEVICE_ATTR_RO(boundary_bytes);
SHOW(queue_count, "%u", chario_disk_nr_queues(disk, false))
static DEVICE_ATTR_RO(queue_count);
SHOW(poll_queue_count, "%u", chario_disk_nr_queues(disk, true))
static DEVICE_ATTR_RO(poll_queue_count);
SHOW(queue_depth, "%u", disk->drive->queues[0]->depth)
static DEVICE_ATTR_RO(queue_depth);
SHOW(recovery_bound_ms, "%llu", recovery_bound_ms(disk))
static DEVICE_ATTR_RO(recovery_bound_ms);
SHOW(state, "%s", chario_disk_state(disk))
static DEVICE_ATTR_RO(state);
SHOW(last_error, "%d", -READ_ONCE(disk->last_error))
static DEVICE_ATTR_RO(last_error);

SHOW(command_bytes, "%u", READ_ONCE(disk->split.command_bytes))

/* Read a number from @least to @most that somebody has written; returns 0 or -errno. */
static int parse_number(const char *buf, u32 least, u32 most, u32 *number)
{
	int ret = kstrtou32(buf, 0, number);

	if (ret)
		return ret;
	return *number < least || *number > most ? -EINVAL : 0;
}

static ssize_t set_limit(struct chario_disk *disk, u32 *limit, u32 max,
			 const char *buf, size_t count)
{
	static DEFINE_MUTEX(lock);
	u32 bytes;
	int ret = parse_number(buf, 1, max, &bytes);

	if (ret)
		return ret;
	if (bytes & disk->block_mask)
		return -EINVAL;
	mutex_lock(&lock);
	WRITE_ONCE(*limit, bytes);
	chario_disk_set_single(disk);
	mutex_unlock(&lock);
	return count;
}

static ssize_t command_bytes_store(struct device *dev,
				   struct device_attribute *attr,
				   const char *buf, size_t count)
{
	struct chario_disk *disk = to_chario_disk(dev);

	return set_limit(disk, &disk->split.command_bytes,
			 disk->max_command_bytes, buf, count);
}
static DEVICE_ATTR_RW(command_bytes);

SHOW(chunk_bytes, "%u", READ_ONCE(disk->split.chunk_bytes))

static ssize_t chunk_bytes_store(struct device *dev,
				 struct device_attribute *attr,
				 const char *buf, size_t count)
{
	struct chario_disk *disk = to_chario_disk(dev);

	return set_limit(disk, &disk->split.chunk_bytes, SZ_1G, buf, count);
}
static DEVICE_ATTR_RW(chunk_bytes);

SHOW(completion, "%s", completion_names[READ_ONCE(disk->completion)])

static ssize_t completion_store(struct device *dev,
				struct device_attribute *attr,
				const char *buf, size_t count)
{
	struct chario_disk *disk = to_chario_disk(dev);
	int mode = __sysfs_match_string(completion_names +
					CHARIO_COMPLETION_IRQ,
					CHARIO_COMPLETION_SPIN, buf);

	if (mode < 0)
		return mode;
	mode += CHARIO_COMPLETION_IRQ;
	if (mode == CHARIO_COMPLETION_POLL &&
	    !(disk->features & CHARIO_FEATURE_POLL))
		return -EOPNOTSUPP;
	WRITE_ONCE(disk->completion, mode);
	return count;
}
static DEVICE_ATTR_RW(completion);

SHOW(any_size, "%d", READ_ONCE(disk->any_size))

static ssize_t any_size_store(struct device *dev, struct device_attribute *attr,
			      const char *buf, size_t count)
{
	struct chario_disk *disk = to_chario_disk(dev);
	bool value;
	int ret = kstrtobool(buf, &value);

	if (ret)
		return ret;
	if (value && !chario_disk_may_patch(disk))
		return -EOPNOTSUPP;
	WRITE_ONCE(disk->any_size, value);
	return count;
}
static DEVICE_ATTR_RW(any_size);

SHOW(block, "%d", !!READ_ONCE(disk->block))

static ssize_t block_store(struct device *dev, struct device_attribute *attr,
			   const char *buf, size_t count)
{
	bool value;
	int ret = kstrtobool(buf, &value) ?:
		  chario_disk_set_block(to_chario_disk(dev), value);

	return ret ?: count;
}
static DEVICE_ATTR_RW(block);

SHOW(isolation_depth, "%u", READ_ONCE(disk->drive->isolation.depth))

static ssize_t isolation_depth_store(struct device *dev,
				     struct device_attribute *attr,
				     const char *buf, size_t count)
{
	u32 depth;
	int ret = parse_number(buf, 0, U16_MAX, &depth);

	if (ret)
		return ret;
	WRITE_ONCE(to_chario_disk(dev)->drive->isolation.depth, depth);
	return count;
}
static DEVICE_ATTR_RW(isolation_depth);

SHOW(isolation_ms, "%u", READ_ONCE(disk->drive->isolation.hold_ms))

static ssize_t isolation_ms_store(struct device *dev, struct device_attribute *attr,
				  const char *buf, size_t count)
{
	u32 ms;
	int ret = parse_number(buf, 0, CHARIO_ISOLATION_MAX_MS, &ms);

	if (ret)
		return ret;
	WRITE_ONCE(to_chario_disk(dev)->drive->isolation.hold_ms, ms);
	return count;
}
static DEVICE_ATTR_RW(isolation_ms);

SHOW(isolation_worst, "%d", READ_ONCE(disk->drive->isolation.worst))

/* Any write begins anew. */
static ssize_t isolation_worst_store(struct device *dev,
				     struct device_attribute *attr,
				     const char *buf, size_t count)
{
	WRITE_ONCE(to_chario_disk(dev)->drive->isolation.worst, 0);
	return count;
}
static DEVICE_ATTR_RW(isolation_worst);

SHOW(spin_us, "%u", READ_ONCE(disk->spin_ns) / (u32)NSEC_PER_USEC)

static ssize_t spin_us_store(struct device *dev, struct device_attribute *attr,
			     const char *buf, size_t count)
{
	struct chario_disk *disk = to_chario_disk(dev);
	u32 us;
	int ret = parse_number(buf, 1, CHARIO_SPIN_MAX_NS / NSEC_PER_USEC, &us);

	if (ret)
		return ret;
	WRITE_ONCE(disk->spin_ns, us * (u32)NSEC_PER_USEC);
	return count;
}
static DEVICE_ATTR_RW(spin_us);

SHOW(deadline_ms, "%u", READ_ONCE(disk->deadline_ms))

static ssize_t deadline_ms_store(struct device *dev,
				 struct device_attribute *attr,
				 const char *buf, size_t count)
{
	struct chario_disk *disk = to_chario_disk(dev);
	u32 ms;
	int ret = parse_number(buf, 1, CHARIO_DEADLINE_MAX_NS / NSEC_PER_MSEC, &ms);

	if (ret)
		return ret;
	chario_disk_set_deadline(disk, ms);
	return count;
}
static DEVICE_ATTR_RW(deadline_ms);

SHOW(recovery_age_ms, "%u", READ_ONCE(disk->recovery_age_ms))

static ssize_t recovery_age_ms_store(struct device *dev,
				     struct device_attribute *attr,
				     const char *buf, size_t count)
{
	struct chario_disk *disk = to_chario_disk(dev);
	u32 ms;
	int ret = parse_number(buf, 0, CHARIO_DEADLINE_MAX_NS / NSEC_PER_MSEC, &ms);

	if (ret)
		return ret;
	chario_disk_set_recovery_age(disk, ms);
	return count;
}
static DEVICE_ATTR_RW(recovery_age_ms);

static struct attribute *disk_attributes[] = {
	&dev_attr_backend.attr,
	&dev_attr_model.attr,
	&dev_attr_serial.attr,
	&dev_attr_firmware.attr,
	&dev_attr_nsid.attr,
	&dev_attr_wwid.attr,
	&dev_attr_size.attr,
	&dev_attr_logical_block_size.attr,
	&dev_attr_physical_block_size.attr,
	&dev_attr_dma_alignment.attr,
	&dev_attr_command_bytes.attr,
	&dev_attr_max_command_bytes.attr,
	&dev_attr_command_limit.attr,
	&dev_attr_chunk_bytes.attr,
	&dev_attr_boundary_bytes.attr,
	&dev_attr_queue_count.attr,
	&dev_attr_poll_queue_count.attr,
	&dev_attr_queue_depth.attr,
	&dev_attr_any_size.attr,
	&dev_attr_block.attr,
	&dev_attr_isolation_depth.attr,
	&dev_attr_isolation_ms.attr,
	&dev_attr_isolation_worst.attr,
	&dev_attr_completion.attr,
	&dev_attr_spin_us.attr,
	&dev_attr_deadline_ms.attr,
	&dev_attr_recovery_age_ms.attr,
	&dev_attr_recovery_bound_ms.attr,
	&dev_attr_state.attr,
	&dev_attr_last_error.attr,
	NULL,
};

static const struct attribute_group disk_group = {
	.attrs = disk_attributes,
};

#define COUNTER(name)							\
static ssize_t name##_show(struct device *dev,				\
			   struct device_attribute *attr, char *buf)	\
{									\
	struct chario_stats stats;					\
									\
	chario_counters_read(to_chario_disk(dev), &stats);		\
	return sysfs_emit(buf, "%llu\n", stats.name);			\
}									\
static DEVICE_ATTR_RO(name)

COUNTER(read_commands);
COUNTER(write_commands);
COUNTER(flush_commands);
COUNTER(read_bytes);
COUNTER(write_bytes);
COUNTER(errors);
COUNTER(timeouts);
COUNTER(interrupted);
COUNTER(aborts);
COUNTER(resets);
COUNTER(sq_doorbells);
COUNTER(cq_doorbells);
COUNTER(interrupts);
COUNTER(late_reaps);
COUNTER(discard_commands);
COUNTER(discard_bytes);
COUNTER(write_zeroes_commands);
COUNTER(write_zeroes_bytes);

static struct attribute *counter_attributes[] = {
	&dev_attr_read_commands.attr,
	&dev_attr_write_commands.attr,
	&dev_attr_flush_commands.attr,
	&dev_attr_read_bytes.attr,
	&dev_attr_write_bytes.attr,
	&dev_attr_errors.attr,
	&dev_attr_timeouts.attr,
	&dev_attr_interrupted.attr,
	&dev_attr_aborts.attr,
	&dev_attr_resets.attr,
	&dev_attr_sq_doorbells.attr,
	&dev_attr_cq_doorbells.attr,
	&dev_attr_interrupts.attr,
	&dev_attr_late_reaps.attr,
	&dev_attr_discard_commands.attr,
	&dev_attr_discard_bytes.attr,
	&dev_attr_write_zeroes_commands.attr,
	&dev_attr_write_zeroes_bytes.attr,
	NULL,
};

static const struct attribute_group counter_group = {
	.name = "counters",
	.attrs = counter_attributes,
};

#define HEALTH(name, format, expression)				\
static ssize_t name##_show(struct device *dev,				\
			   struct device_attribute *attr, char *buf)	\
{									\
	struct chario_health health;					\
	int ret = chario_health_read(to_chario_disk(dev), &health);	\
									\
	return ret ?: sysfs_emit(buf, format "\n", expression);		\
}									\
static DEVICE_ATTR_RO(name)

HEALTH(status, "%s", chario_health_status_name(health.status));
HEALTH(critical_warning, "0x%02x", health.critical_warning);
HEALTH(events, "%u", health.events);
HEALTH(temperature_k, "%u", health.temperature_k);
HEALTH(warning_temperature_k, "%u", health.warning_temperature_k);
HEALTH(critical_temperature_k, "%u", health.critical_temperature_k);
HEALTH(warning_minutes, "%u", health.warning_minutes);
HEALTH(critical_minutes, "%u", health.critical_minutes);
HEALTH(spare_percent, "%u", health.spare_percent);
HEALTH(spare_threshold_percent, "%u", health.spare_threshold_percent);
HEALTH(used_percent, "%u", health.used_percent);
HEALTH(throttle_light_count, "%u", health.throttle_light_count);
HEALTH(throttle_heavy_count, "%u", health.throttle_heavy_count);
HEALTH(throttle_light_s, "%u", health.throttle_light_s);
HEALTH(throttle_heavy_s, "%u", health.throttle_heavy_s);
HEALTH(data_units_read, "%llu", health.data_units_read);
HEALTH(data_units_written, "%llu", health.data_units_written);
HEALTH(busy_minutes, "%llu", health.busy_minutes);
HEALTH(power_cycles, "%llu", health.power_cycles);
HEALTH(power_on_hours, "%llu", health.power_on_hours);
HEALTH(unsafe_shutdowns, "%llu", health.unsafe_shutdowns);
HEALTH(media_errors, "%llu", health.media_errors);
HEALTH(error_log_entries, "%llu", health.error_log_entries);

static ssize_t reasons_show(struct device *dev, struct device_attribute *attr,
			    char *buf)
{
	struct chario_health health;
	int ret = chario_health_read(to_chario_disk(dev), &health);

	if (ret)
		return ret;
	ret = chario_health_print_reasons(buf, PAGE_SIZE - 1, health.reasons);
	return ret + sysfs_emit_at(buf, ret, "\n");
}
static DEVICE_ATTR_RO(reasons);

static struct attribute *health_attributes[] = {
	&dev_attr_status.attr,
	&dev_attr_reasons.attr,
	&dev_attr_events.attr,
	&dev_attr_critical_warning.attr,
	&dev_attr_temperature_k.attr,
	&dev_attr_warning_temperature_k.attr,
	&dev_attr_critical_temperature_k.attr,
	&dev_attr_warning_minutes.attr,
	&dev_attr_critical_minutes.attr,
	&dev_attr_spare_percent.attr,
	&dev_attr_spare_threshold_percent.attr,
	&dev_attr_used_percent.attr,
	&dev_attr_throttle_light_count.attr,
	&dev_attr_throttle_heavy_count.attr,
	&dev_attr_throttle_light_s.attr,
	&dev_attr_throttle_heavy_s.attr,
	&dev_attr_data_units_read.attr,
	&dev_attr_data_units_written.attr,
	&dev_attr_busy_minutes.attr,
	&dev_attr_power_cycles.attr,
	&dev_attr_power_on_hours.attr,
	&dev_attr_unsafe_shutdowns.attr,
	&dev_attr_media_errors.attr,
	&dev_attr_error_log_entries.attr,
	NULL,
};

static const struct attribute_group health_group = {
	.name = "health",
	.attrs = health_attributes,
};

const struct attribute_group *chario_sysfs_groups[] = {
	&disk_group,
	&counter_group,
	NULL,
};

const struct attribute_group *chario_sysfs_groups_with_health[] = {
	&disk_group,
	&counter_group,
	&health_group,
	NULL,
};
