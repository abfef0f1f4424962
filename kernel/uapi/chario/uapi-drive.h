/* SPDX-License-Identifier: (GPL-2.0-only WITH Linux-syscall-note) OR MIT */
/*
 * The application binary interface of CharIO, second part: what a drive is kept
 * from, and how it is.  Included by <chario/uapi.h>, which states the rules.
 */
#ifndef _CHARIO_UAPI_DRIVE_H
#define _CHARIO_UAPI_DRIVE_H

#include <linux/types.h>

/*
 * What an open file can ask of its drive and host; bits of &struct chario_pin.
 * Each is place i of status[], 1 << i.
 */
#define CHARIO_PIN_APST		(1U << 0) /* no change of state by itself */
#define CHARIO_PIN_POWER_STATE	(1U << 1) /* power state 0, the fastest */
#define CHARIO_PIN_COALESCING	(1U << 2) /* interrupts at once */
#define CHARIO_PIN_VECTORS	(1U << 3) /* the same for each vector */
#define CHARIO_PIN_RETRY	(1U << 4) /* few retries (LR), for 100 ms at most */
#define CHARIO_PIN_CPU		(1U << 5) /* no idle states of the CPUs */
#define CHARIO_PIN_LINK		(1U << 6) /* no sleep of the PCIe link (ASPM) */
#define CHARIO_PIN_ALL		0x7fU

/**
 * struct chario_pin - what an open file pins, and what has come of it
 *	(CHARIO_IOC_GET_PIN, CHARIO_IOC_SET_PIN)
 * @size: as in &struct chario_info
 * @wanted: CHARIO_PIN_* bits that this file asks for; all others it gives up.
 *	SET_PIN: in; GET_PIN: out
 * @in_force: out: those of @wanted that are as asked for
 * @absent: out: those of @in_force that need nothing: drive, link or kernel
 *	do not have what is to be off
 * @refused: out: those of @wanted that are not in force: the drive has said no,
 *	or has not answered
 * @reserved: zero
 * @status: out, for each bit: 0 when it is in force or not wanted; else why it
 *	is not: an NVMe status (status code type and code, as 0x10e), or a
 *	negative errno, -EAGAIN and -ECANCELED for what waits for a reset
 *
 * A pin holds for the whole controller as long as one open file asks for it,
 * through resets too.  What was there before comes back when the last of these
 * files is closed, its process is killed, or the drive is let go.
 *
 * What is asked for and neither in force nor refused waits for the end of a
 * reset: see GET_PIN after that.  That the drive refuses is no error.
 *
 * Errors: EINVAL when @wanted has bits that are not known; EOPNOTSUPP when the
 * disk has no CHARIO_FEATURE_PIN; ENOMEM.
 */
struct chario_pin {
	__u32 size;
	__u32 wanted;
	__u32 in_force;
	__u32 absent;
	__u32 refused;
	__u32 reserved;
	__s32 status[16];
};

/** enum chario_health_status - what the health of a drive comes to */
enum chario_health_status {
	CHARIO_HEALTH_OK = 1,
	CHARIO_HEALTH_WARNING = 2,
	CHARIO_HEALTH_CRITICAL = 3,
};

/* Reasons of &struct chario_health. */
#define CHARIO_HEALTH_SPARE		(1U << 0) /* few spare blocks are left */
#define CHARIO_HEALTH_TEMPERATURE	(1U << 1) /* near a limit, or beyond */
#define CHARIO_HEALTH_RELIABILITY	(1U << 2) /* the drive says: degraded */
#define CHARIO_HEALTH_READ_ONLY		(1U << 3) /* the medium is read-only */
#define CHARIO_HEALTH_BACKUP		(1U << 4) /* its power backup failed */
#define CHARIO_HEALTH_WEAR		(1U << 8) /* 90 % of its life is used */
#define CHARIO_HEALTH_MEDIA_ERRORS	(1U << 9) /* it has lost data */
#define CHARIO_HEALTH_THROTTLED		(1U << 10) /* in the last minute */

/**
 * struct chario_health - how a drive is (CHARIO_IOC_HEALTH)
 * @size: as in &struct chario_info
 * @status: &enum chario_health_status
 * @reasons: CHARIO_HEALTH_* bits, 0 when @status is CHARIO_HEALTH_OK
 * @events: events that the drive has told of since it was bound
 * @read_ns: CLOCK_MONOTONIC time at which the drive was asked; it is asked once
 *	a second at most, or after an event
 * @critical_warning: bits of the drive, as the NVMe specification has them
 * @temperature_k: composite temperature, kelvin; 0 where it is not told, as
 *	in all temperatures here
 * @warning_temperature_k: from here on the drive is too hot, and may throttle
 * @critical_temperature_k: from here on it may stop
 * @warning_minutes: time it has spent above the former
 * @critical_minutes: time it has spent above the latter
 * @spare_percent: spare blocks that are left
 * @spare_threshold_percent: below this the drive warns
 * @used_percent: of its life, as the maker estimates it; can exceed 100
 * @throttled: not 0: it was seen to throttle in the last minute
 * @throttle_light_count: transitions to light throttling
 * @throttle_heavy_count: transitions to heavy throttling
 * @throttle_light_s: time spent there, seconds
 * @throttle_heavy_s: time spent there, seconds
 * @sensors_k: its temperature sensors, kelvin
 * @data_units_read: in units of 512,000 bytes
 * @data_units_written: in units of 512,000 bytes
 * @read_commands: that it has completed, of any host and driver
 * @write_commands: that it has completed
 * @busy_minutes: time it has been busy with commands
 * @power_cycles: so many
 * @power_on_hours: so many
 * @unsafe_shutdowns: power that went without notice
 * @media_errors: data that it could not correct
 * @error_log_entries: errors that it has logged in its life
 *
 * It is that of the drive, whichever of its disks is asked.
 *
 * Errors: EOPNOTSUPP when the disk has no CHARIO_FEATURE_HEALTH, or the drive
 * no such log; EAGAIN while its controller is being reset; EIO when it has been
 * given up; ETIMEDOUT when it does not answer, and EBUSY when it still has not;
 * EINTR when the caller was killed.
 */
struct chario_health {
	__u32 size;
	__u32 status;
	__u32 reasons;
	__u32 events;
	__aligned_u64 read_ns;
	__u32 critical_warning;
	__u32 temperature_k;
	__u32 warning_temperature_k;
	__u32 critical_temperature_k;
	__u32 warning_minutes;
	__u32 critical_minutes;
	__u32 spare_percent;
	__u32 spare_threshold_percent;
	__u32 used_percent;
	__u32 throttled;
	__u32 throttle_light_count;
	__u32 throttle_heavy_count;
	__u32 throttle_light_s;
	__u32 throttle_heavy_s;
	__u32 sensors_k[8];
	__aligned_u64 data_units_read;
	__aligned_u64 data_units_written;
	__aligned_u64 read_commands;
	__aligned_u64 write_commands;
	__aligned_u64 busy_minutes;
	__aligned_u64 power_cycles;
	__aligned_u64 power_on_hours;
	__aligned_u64 unsafe_shutdowns;
	__aligned_u64 media_errors;
	__aligned_u64 error_log_entries;
};

#endif /* _CHARIO_UAPI_DRIVE_H */
