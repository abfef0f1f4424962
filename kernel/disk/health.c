// SPDX-License-Identifier: GPL-2.0-only
/*
 * The health of a drive: the judgement of its numbers, and the report of events.
 *
 * A back end reads the numbers.  Here they become ok, warning or critical: warning
 * while there is time to act, critical if data or the next write are in danger.
 * Readers of sysfs, callers of the ioctl and listeners to uevents get the same answer.
 */
#include <linux/kobject.h>

#include "disk/health.h"
#include "types/backend.h"

/* Distances to limits of the drive at which there is still time to act. */
#define EARLY_K			5
#define EARLY_SPARE_PERCENT	10
#define WORN_PERCENT		90

/* Critical warnings with the same bits as their reasons (NVMe 5.16.1.3). */
#define WARNINGS_KNOWN	(CHARIO_HEALTH_SPARE | CHARIO_HEALTH_TEMPERATURE | \
			 CHARIO_HEALTH_RELIABILITY | CHARIO_HEALTH_READ_ONLY | \
			 CHARIO_HEALTH_BACKUP)

static const struct {
	u32 bit;
	const char *name;
} reason_names[] = {
	{ CHARIO_HEALTH_SPARE, "spare" },
	{ CHARIO_HEALTH_TEMPERATURE, "temperature" },
	{ CHARIO_HEALTH_RELIABILITY, "reliability" },
	{ CHARIO_HEALTH_READ_ONLY, "read-only" },
	{ CHARIO_HEALTH_BACKUP, "backup" },
	{ CHARIO_HEALTH_WEAR, "wear" },
	{ CHARIO_HEALTH_MEDIA_ERRORS, "media-errors" },
	{ CHARIO_HEALTH_THROTTLED, "throttled" },
};

static bool is_near(u32 temperature_k, u32 limit_k)
{
	return temperature_k && limit_k && temperature_k + EARLY_K >= limit_k;
}

/* A drive that does not report spare blocks has no threshold either. */
static bool is_short_of_spare(const struct chario_health *h)
{
	return h->spare_threshold_percent &&
	       h->spare_percent <=
		       h->spare_threshold_percent + EARLY_SPARE_PERCENT;
}

static u32 find_reasons(const struct chario_health *h)
{
	u32 reasons = h->critical_warning & WARNINGS_KNOWN;

	if (is_near(h->temperature_k, h->warning_temperature_k) ||
	    is_near(h->temperature_k, h->critical_temperature_k))
		reasons |= CHARIO_HEALTH_TEMPERATURE;
	if (is_short_of_spare(h))
		reasons |= CHARIO_HEALTH_SPARE;
	if (h->used_percent >= WORN_PERCENT)
		reasons |= CHARIO_HEALTH_WEAR;
	if (h->media_errors)
		reasons |= CHARIO_HEALTH_MEDIA_ERRORS;
	if (h->throttled)
		reasons |= CHARIO_HEALTH_THROTTLED;
	return reasons;
}

/* A drive that reports only that it is too hot may just throttle: not critical. */
static bool is_critical(const struct chario_health *h)
{
	return (h->critical_warning & ~(u32)CHARIO_HEALTH_TEMPERATURE) ||
	       is_near(h->temperature_k, h->critical_temperature_k);
}

static void judge(struct chario_health *h)
{
	h->reasons = find_reasons(h);
	if (is_critical(h))
		h->status = CHARIO_HEALTH_CRITICAL;
	else if (h->reasons)
		h->status = CHARIO_HEALTH_WARNING;
	else
		h->status = CHARIO_HEALTH_OK;
}

/**
 * chario_health_read() - read and judge the health of a drive
 * @disk: disk of the drive
 * @health: the health, filled in
 *
 * Context: may sleep, for as long as the drive takes for an admin command.
 * Return: 0 or -errno, see &struct chario_health.
 */
int chario_health_read(struct chario_disk *disk, struct chario_health *health)
{
	int ret;

	memset(health, 0, sizeof(*health));
	if (!disk->backend->health)
		return -EOPNOTSUPP;
	ret = disk->backend->health(disk, health);
	if (!ret)
		judge(health);
	return ret;
}

/**
 * chario_health_status_name() - return the word for a status
 * @status: &enum chario_health_status
 */
const char *chario_health_status_name(u32 status)
{
	switch (status) {
	case CHARIO_HEALTH_OK:
		return "ok";
	case CHARIO_HEALTH_WARNING:
		return "warning";
	default:
		return "critical";
	}
}

/**
 * chario_health_print_reasons() - print the words for reasons, with commas between
 * @text: buffer for the words
 * @size: length of the buffer in bytes
 * @reasons: CHARIO_HEALTH_* bits
 *
 * Return: length of the text.
 */
int chario_health_print_reasons(char *text, size_t size, u32 reasons)
{
	unsigned int i;
	int length = 0;

	text[0] = '\0';
	for (i = 0; i < ARRAY_SIZE(reason_names); i++)
		if (reasons & reason_names[i].bit)
			length += scnprintf(text + length, size - length,
					    "%s%s", length ? "," : "",
					    reason_names[i].name);
	return length;
}

/**
 * chario_health_tell() - pass on that the drive has reported an event
 * @disk: a registered disk of the drive
 *
 * Listeners get a uevent, and poll(2) on health/status returns.
 *
 * Context: as chario_health_read().
 */
void chario_health_tell(struct chario_disk *disk)
{
	static const char prefix[] = "CHARIO_REASONS=";
	char status[32], reasons[128];
	char *env[3] = { };
	struct chario_health health;

	if (chario_health_read(disk, &health))
		return;
	scnprintf(status, sizeof(status), "CHARIO_HEALTH=%s",
		  chario_health_status_name(health.status));
	strscpy(reasons, prefix, sizeof(reasons));
	chario_health_print_reasons(reasons + strlen(prefix),
				    sizeof(reasons) - strlen(prefix),
				    health.reasons);
	env[0] = status;
	env[1] = reasons;
	kobject_uevent_env(&disk->dev.kobj, KOBJ_CHANGE, env);
	sysfs_notify(&disk->dev.kobj, "health", "status");
}
