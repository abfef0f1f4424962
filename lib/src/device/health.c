// SPDX-License-Identifier: LGPL-2.1-or-later OR MIT
/* The health of a drive, and advice. */
#include <chario/health.h>

#include <errno.h>

#include "device/ops.h"
#include "machine/disk.h"
#include "system/sys.h"

/* Size in bytes of the first version of the struct. */
#define HEALTH_MIN 192

static const struct {
	uint32_t bit;
	const char *name;
	const char *advice;
} reasons[] = {
	{ CHARIO_HEALTH_SPARE, "spare",
	  "spare blocks run out: copy the data now and replace the drive" },
	{ CHARIO_HEALTH_TEMPERATURE, "temperature",
	  "the drive is hot: give it more air or less work, or it will throttle and then stop" },
	{ CHARIO_HEALTH_RELIABILITY, "reliability",
	  "the drive says that it is not reliable any more: copy the data now and replace it" },
	{ CHARIO_HEALTH_READ_ONLY, "read-only",
	  "the drive takes no writes any more: record elsewhere, copy the data and replace it" },
	{ CHARIO_HEALTH_BACKUP, "backup",
	  "power loss can cost data that was acknowledged: call fsync, and replace the drive" },
	{ CHARIO_HEALTH_WEAR, "wear", "most of the drive's life is used: plan its replacement" },
	{ CHARIO_HEALTH_MEDIA_ERRORS, "media-errors",
	  "the drive has lost data: check what is on it, and replace it when the number grows" },
	{ CHARIO_HEALTH_THROTTLED, "throttled",
	  "the drive slows down because it is hot: give it more air or less work" },
};

#define NR_REASONS (sizeof(reasons) / sizeof(reasons[0]))

int chario_health_get(const struct chario_device *device, struct chario_health *health, size_t size)
{
	return chario_device_get(device, CHARIO_IOC_HEALTH, health, size, HEALTH_MIN);
}

/* Returns 1 if there was an event since @events, 0 if not, or a negative errno. */
static int has_event(const struct chario_device *device, uint32_t events)
{
	struct chario_health health;
	int err = chario_health_get(device, &health, sizeof(health));

	return err ? err : health.events != events;
}

static FILE *open_status(const struct chario_device *device, int *err)
{
	struct chario_info info;
	FILE *file;

	*err = chario_device_get_info(device, &info, sizeof(info));
	/* A device without a kernel module is no disk of CharIO and has no number. */
	if (!*err && !info.abi_version)
		*err = -ENOTTY;
	if (*err)
		return NULL;
	file = chario_sys_fopen(CHARIO_DISK_CLASS "/chardisk%u/health/status", info.index);
	if (!file)
		*err = errno == ENOENT ? -EOPNOTSUPP : -errno;
	return file;
}

/* The poll ends only at a change that comes after the file was read. */
static int wait_for_change(const struct chario_device *device, FILE *status, uint32_t events,
			   unsigned int timeout_ms)
{
	char text[CHARIO_SYS_TEXT];
	int ret;

	if (!fgets(text, sizeof(text), status))
		return errno ? -errno : -EIO;
	ret = has_event(device, events);
	if (ret)
		return ret;
	ret = chario_sys.poll(fileno(status), timeout_ms);
	return ret < 0 ? ret : has_event(device, events);
}

int chario_health_wait(const struct chario_device *device, uint32_t events, unsigned int timeout_ms)
{
	FILE *status;
	int ret;

	status = open_status(device, &ret);
	if (!status)
		return ret;
	errno = 0;
	ret = wait_for_change(device, status, events, timeout_ms);
	fclose(status);
	return ret;
}

const char *chario_health_status_name(uint32_t status)
{
	static const char *const names[] = {
		[CHARIO_HEALTH_OK] = "ok",
		[CHARIO_HEALTH_WARNING] = "warning",
		[CHARIO_HEALTH_CRITICAL] = "critical",
	};

	return status < sizeof(names) / sizeof(names[0]) ? names[status] : NULL;
}

const char *chario_health_reason_name(uint32_t reason)
{
	for (size_t i = 0; i < NR_REASONS; i++)
		if (reasons[i].bit == reason)
			return reasons[i].name;
	return NULL;
}

const char *chario_health_reason_advice(uint32_t reason)
{
	for (size_t i = 0; i < NR_REASONS; i++)
		if (reasons[i].bit == reason)
			return reasons[i].advice;
	return NULL;
}
