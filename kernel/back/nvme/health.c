// SPDX-License-Identifier: GPL-2.0-only
/*
 * The health of a drive: its SMART / Health Information log page (5.16.1.3).
 *
 * All disks of a controller give the same health.  The drive is asked at most once a
 * second; earlier calls return the last answer, so that no user can keep the admin
 * queue busy.
 */
#include <linux/jiffies.h>
#include <linux/timekeeping.h>

#include "nvme.h"

/*
 * Bit 15 of dword 10, Retain Asynchronous Event, which keeps the event pending (NVMe
 * 1.3).
 */
#define RETAIN_EVENT	0x80

/* The time in seconds for which a drive counts as throttled. */
#define THROTTLED_S	60

static_assert(sizeof(struct nvme_smart_log) == 512);

/* Returns a 128-bit counter, none of which will ever need more than 64 bits. */
static u64 counter(const u8 *from)
{
	__le64 words[2];

	memcpy(words, from, sizeof(words));
	return words[1] ? U64_MAX : le64_to_cpu(words[0]);
}

static bool has_retain(const struct chario_nvme *ctrl)
{
	return readl(ctrl->bar + NVME_REG_VS) >= NVME_VS(1, 3, 0);
}

/* Reads the log page, without clearing an event that event.c is to handle. */
static int health_ask(struct chario_nvme *ctrl, struct nvme_smart_log *log)
{
	struct chario_nvme_admin_answer answer;
	struct nvme_command c = { };
	int ret;

	c.get_log_page.opcode = nvme_admin_get_log_page;
	c.get_log_page.nsid = cpu_to_le32(NVME_NSID_ALL);
	c.get_log_page.lid = NVME_LOG_SMART;
	c.get_log_page.lsp = has_retain(ctrl) ? RETAIN_EVENT : 0;
	c.get_log_page.numdl = cpu_to_le16(sizeof(*log) / 4 - 1);
	ret = chario_nvme_admin_exchange(ctrl, &c, log, sizeof(*log), &answer);
	return ret ?: chario_nvme_status_errno(answer.status);
}

static u32 throttle_count(const struct nvme_smart_log *log)
{
	return le32_to_cpu(log->thm_temp1_trans_count) +
	       le32_to_cpu(log->thm_temp2_trans_count);
}

static void note(struct chario_nvme_health *h, const struct nvme_smart_log *log)
{
	if (h->has_log && throttle_count(log) != throttle_count(&h->log)) {
		h->throttled_at = jiffies;
		h->has_throttled = true;
	}
	if (time_after(jiffies, h->throttled_at + THROTTLED_S * HZ))
		h->has_throttled = false;
	h->log = *log;
	h->has_log = true;
}

static bool is_fresh(const struct chario_nvme_health *h)
{
	return h->is_read && time_before(jiffies, h->read_at + HZ);
}

/* Reads the log page unless it is younger than a second.  Returns 0 or -errno. */
static int refresh(struct chario_nvme *ctrl)
{
	struct chario_nvme_health *h = &ctrl->health;
	struct nvme_smart_log log = h->log;

	if (h->detached)
		return -ENODEV;
	if (is_fresh(h))
		return h->result;
	h->result = health_ask(ctrl, &log);
	/* A reset has ended the command. */
	if (h->result == -ECANCELED)
		h->result = -EAGAIN;
	if (!h->result)
		note(h, &log);
	h->read_at = jiffies;
	h->read_ns = ktime_get_ns();
	h->is_read = h->result != -EAGAIN;
	return h->result;
}

static void fill_in_counters(struct chario_health *health,
			     const struct nvme_smart_log *log)
{
	health->data_units_read = counter(log->data_units_read);
	health->data_units_written = counter(log->data_units_written);
	health->read_commands = counter(log->host_reads);
	health->write_commands = counter(log->host_writes);
	health->busy_minutes = counter(log->ctrl_busy_time);
	health->power_cycles = counter(log->power_cycles);
	health->power_on_hours = counter(log->power_on_hours);
	health->unsafe_shutdowns = counter(log->unsafe_shutdowns);
	health->media_errors = counter(log->media_errors);
	health->error_log_entries = counter(log->num_err_log_entries);
	health->throttle_light_count = le32_to_cpu(log->thm_temp1_trans_count);
	health->throttle_heavy_count = le32_to_cpu(log->thm_temp2_trans_count);
	health->throttle_light_s = le32_to_cpu(log->thm_temp1_total_time);
	health->throttle_heavy_s = le32_to_cpu(log->thm_temp2_total_time);
}

static void health_fill_in(struct chario_health *health,
			   const struct chario_nvme_health *h)
{
	const struct nvme_smart_log *log = &h->log;
	unsigned int i;

	health->read_ns = h->read_ns;
	health->events = READ_ONCE(h->events);
	health->throttled = h->has_throttled;
	health->critical_warning = log->critical_warning;
	health->temperature_k = log->temperature[0] | log->temperature[1] << 8;
	health->warning_temperature_k = h->warning_k;
	health->critical_temperature_k = h->critical_k;
	health->warning_minutes = le32_to_cpu(log->warning_temp_time);
	health->critical_minutes = le32_to_cpu(log->critical_comp_time);
	health->spare_percent = log->avail_spare;
	health->spare_threshold_percent = log->spare_thresh;
	health->used_percent = log->percent_used;
	for (i = 0; i < ARRAY_SIZE(health->sensors_k); i++)
		health->sensors_k[i] = le16_to_cpu(log->temp_sensor[i]);
	fill_in_counters(health, log);
}

/* Returns 0, or the reason why the drive cannot be asked. */
static int check_state(const struct chario_nvme *ctrl)
{
	switch (READ_ONCE(ctrl->drive.state)) {
	case CHARIO_DRIVE_LIVE:
		return 0;
	case CHARIO_DRIVE_RECOVERING:
		return -EAGAIN;
	default:
		return -EIO;
	}
}

/**
 * chario_nvme_health_read() - see &struct chario_backend
 * @disk: the disk
 * @health: filled in
 *
 * Return: 0; EAGAIN while the controller is being reset; EIO when it has been given up;
 * ENODEV; EINTR when the caller was killed while it waited; an error of
 * chario_nvme_admin_exchange(); or the errno of the drive's status.
 */
int chario_nvme_health_read(struct chario_disk *disk,
			    struct chario_health *health)
{
	struct chario_nvme *ctrl = to_nvme(disk->drive);
	struct chario_nvme_health *h = &ctrl->health;
	int ret = check_state(ctrl);

	if (ret)
		return ret;
	if (mutex_lock_killable(&h->lock))
		return -EINTR;
	ret = refresh(ctrl);
	if (!ret)
		health_fill_in(health, h);
	mutex_unlock(&h->lock);
	return ret;
}

/**
 * chario_nvme_health_expire() - count an event, and ask the drive again at the next
 *	read
 * @ctrl: the controller
 */
void chario_nvme_health_expire(struct chario_nvme *ctrl)
{
	mutex_lock(&ctrl->health.lock);
	ctrl->health.is_read = false;
	WRITE_ONCE(ctrl->health.events, ctrl->health.events + 1);
	mutex_unlock(&ctrl->health.lock);
}

/**
 * chario_nvme_health_init() - initialize the health, which is not known yet
 * @ctrl: the controller
 */
void chario_nvme_health_init(struct chario_nvme *ctrl)
{
	mutex_init(&ctrl->health.lock);
}

/**
 * chario_nvme_health_detach() - do not ask the drive any more
 * @ctrl: the controller
 */
void chario_nvme_health_detach(struct chario_nvme *ctrl)
{
	mutex_lock(&ctrl->health.lock);
	ctrl->health.detached = true;
	mutex_unlock(&ctrl->health.lock);
}
