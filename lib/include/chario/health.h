/* SPDX-License-Identifier: LGPL-2.1-or-later OR MIT */
/*
 * Health: how a drive is, and what to do about it.
 */
#ifndef CHARIO_HEALTH_H
#define CHARIO_HEALTH_H

#include <stddef.h>
#include <stdint.h>

#include <chario/device.h>

#ifdef __cplusplus
extern "C" {
#endif

/**
 * chario_health_get() - how the drive of a disk is
 * @device: an open device
 * @health: is filled in; members that the kernel does not know read as zero
 * @size: sizeof(*@health)
 *
 * The drive is asked once a second at most, and after an event: who comes
 * earlier gets what was read before.
 *
 * Context: sleeps for as long as the drive takes for an admin command.
 * Return: 0; -EOPNOTSUPP where the disk has no health, -ENOTTY where the kernel
 * module knows none, -EAGAIN while the controller is being reset, -EIO when
 * the drive has been given up, -ETIMEDOUT or -EBUSY when it does not answer,
 * -ENODEV when the disk has been removed, -EINVAL where @size is smaller than
 * the first version of the struct.
 */
int chario_health_get(const struct chario_device *device, struct chario_health *health,
		      size_t size);

/**
 * chario_health_wait() - wait until the drive tells of an event
 * @device: an open device
 * @events: the member of that name of the last &struct chario_health
 * @timeout_ms: how long at most
 *
 * An event that has been since then ends the wait at once.  Not all that is
 * worth knowing is an event: ask with chario_health_get() from time to time.
 *
 * Context: sleeps; a signal that is handled ends it too.
 * Return: 1 when there was an event, 0 when there was none; else as
 * chario_health_get().
 */
int chario_health_wait(const struct chario_device *device, uint32_t events,
		       unsigned int timeout_ms);

/**
 * chario_health_status_name() - the word for a status
 * @status: &enum chario_health_status
 *
 * Return: "ok", "warning" or "critical", a constant; NULL for another value.
 */
const char *chario_health_status_name(uint32_t status);

/**
 * chario_health_reason_name() - the word for a reason
 * @reason: one CHARIO_HEALTH_* bit
 *
 * Return: "spare", "temperature", "reliability", "read-only", "backup", "wear",
 * "media-errors" or "throttled", a constant; NULL for another value.
 */
const char *chario_health_reason_name(uint32_t reason);

/**
 * chario_health_reason_advice() - what to do about a reason
 * @reason: one CHARIO_HEALTH_* bit
 *
 * Return: a sentence, a constant; NULL for another value.
 */
const char *chario_health_reason_advice(uint32_t reason);

#ifdef __cplusplus
}
#endif

#endif /* CHARIO_HEALTH_H */
