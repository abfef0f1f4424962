/* SPDX-License-Identifier: LGPL-2.1-or-later OR MIT */
/* Health: the state of a drive, and advice. */
#ifndef CHARIO_HEALTH_H
#define CHARIO_HEALTH_H

#include <stddef.h>
#include <stdint.h>

#include <chario/device.h>

#ifdef __cplusplus
extern "C" {
#endif

/**
 * chario_health_get() - read the health of a disk's drive
 * @device: an open device
 * @health: struct to fill in; members that the kernel does not know read as zero
 * @size: sizeof(*@health)
 *
 * The drive is asked at most once a second, and after an event; earlier calls return the
 * last answer.
 *
 * Context: sleeps for as long as the drive takes for an admin command.
 * Return: 0; -EOPNOTSUPP if the disk has no health; -ENOTTY if the kernel module does not
 * support it; -EAGAIN while the controller is being reset; -EIO when the drive has been
 * given up; -ETIMEDOUT or -EBUSY when it does not answer; -ENODEV when the disk has been
 * removed; -EINVAL if @size is smaller than the first version of the struct.
 */
int chario_health_get(const struct chario_device *device, struct chario_health *health,
		      size_t size);

/**
 * chario_health_wait() - wait until the drive reports an event
 * @device: an open device
 * @events: events of the last &struct chario_health
 * @timeout_ms: longest wait in milliseconds
 *
 * An event since then ends the wait at once.  Some changes of health cause no event: also
 * call chario_health_get() from time to time.
 *
 * Context: sleeps; a signal with a handler ends the wait, too.
 * Return: 1 after an event, 0 if there was none; else the errors of chario_health_get().
 */
int chario_health_wait(const struct chario_device *device, uint32_t events,
		       unsigned int timeout_ms);

/**
 * chario_health_status_name() - the name of a status
 * @status: &enum chario_health_status
 *
 * Return: "ok", "warning" or "critical", a constant; NULL for another value.
 */
const char *chario_health_status_name(uint32_t status);

/**
 * chario_health_reason_name() - the name of a reason
 * @reason: one CHARIO_HEALTH_* bit
 *
 * Return: "spare", "temperature", "reliability", "read-only", "backup", "wear",
 * "media-errors" or "throttled", a constant; NULL for another value.
 */
const char *chario_health_reason_name(uint32_t reason);

/**
 * chario_health_reason_advice() - advice on a reason
 * @reason: one CHARIO_HEALTH_* bit
 *
 * Return: a sentence, a constant; NULL for another value.
 */
const char *chario_health_reason_advice(uint32_t reason);

#ifdef __cplusplus
}
#endif

#endif /* CHARIO_HEALTH_H */
