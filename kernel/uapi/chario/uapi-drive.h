/* SPDX-License-Identifier: (GPL-2.0-only WITH Linux-syscall-note) OR MIT */
/*
 * The application binary interface of CharIO, second part: counters of a disk,
 * pins and the health of a drive.  <chario/uapi.h> includes this file, and states the rules.
 */
#ifndef _CHARIO_UAPI_DRIVE_H
#define _CHARIO_UAPI_DRIVE_H

#include <linux/types.h>

/**
 * struct chario_stats - the counters of a disk (CHARIO_IOC_STATS)
 * @size: size of this struct, see &struct chario_info
 * @reserved: zero
 * @read_commands: number of read commands that have been posted
 * @write_commands: number of write commands that have been posted
 * @flush_commands: number of flush commands that have been posted
 * @read_bytes: number of bytes that read calls have transferred
 * @write_bytes: number of bytes that write calls have transferred
 * @errors: number of device commands that ended with an error status
 * @timeouts: number of waits that a deadline has ended: requests that the drive had when their
 *	deadline passed, and waits of calls for room, for memory, for a part of a block or for
 *	a settle.  A call that gives ETIMEDOUT because it has waited itself is counted; one of
 *	several requests may count for each.  A call that reports the error of an earlier
 *	write, or that the drive has not answered an admin command, is not counted.  A call
 *	that returns bytes, or 0, is counted as well if one of its waits ended so: it had moved
 *	bytes before, or had to wait for its request all the same
 * @interrupted: number of requests whose caller was killed while they were in flight
 * @aborts: number of abort commands that were sent to the drive
 * @resets: number of resets of the controller, except for those after sleep
 * @sq_doorbells: number of writes to submission doorbells
 * @cq_doorbells: number of writes to completion doorbells
 * @interrupts: number of interrupts that found a completion
 * @late_reaps: number of completions that the watchdog found without an interrupt
 * @discard_commands: number of commands that discard ranges (Dataset Management) which
 *	have been posted
 * @discard_bytes: number of bytes that have been discarded
 * @write_zeroes_commands: number of Write Zeroes commands that have been posted
 * @write_zeroes_bytes: number of bytes that they have zeroed
 *
 * @aborts and the counters up to @late_reaps are those of the controller, for all of its
 * disks.  The character disk neither discards nor writes zeroes.
 */
struct chario_stats {
	__u32 size;
	__u32 reserved;
	__aligned_u64 read_commands;
	__aligned_u64 write_commands;
	__aligned_u64 flush_commands;
	__aligned_u64 read_bytes;
	__aligned_u64 write_bytes;
	__aligned_u64 errors;
	__aligned_u64 timeouts;
	__aligned_u64 interrupted;
	__aligned_u64 aborts;
	__aligned_u64 resets;
	__aligned_u64 sq_doorbells;
	__aligned_u64 cq_doorbells;
	__aligned_u64 interrupts;
	__aligned_u64 late_reaps;
	__aligned_u64 discard_commands;
	__aligned_u64 discard_bytes;
	__aligned_u64 write_zeroes_commands;
	__aligned_u64 write_zeroes_bytes;
};

/*
 * Pins: settings of drive and host that an open file can request; bits of
 * &struct chario_pin.  The outcome of pin 1 << i is in status[i].
 */
#define CHARIO_PIN_APST		(1U << 0) /* no power transitions by the drive itself */
#define CHARIO_PIN_POWER_STATE	(1U << 1) /* power state 0, the fastest */
#define CHARIO_PIN_COALESCING	(1U << 2) /* no interrupt coalescing */
#define CHARIO_PIN_VECTORS	(1U << 3) /* no coalescing on each vector */
#define CHARIO_PIN_RETRY	(1U << 4) /* limited retries (LR), for 100 ms at most */
#define CHARIO_PIN_CPU		(1U << 5) /* no idle states of the CPUs */
#define CHARIO_PIN_LINK		(1U << 6) /* no power saving of the PCIe link (ASPM) */
#define CHARIO_PIN_ALL		0x7fU

/**
 * struct chario_pin - the pins of an open file and their outcome
 *	(CHARIO_IOC_GET_PIN, CHARIO_IOC_SET_PIN)
 * @size: size of this struct, see &struct chario_info
 * @wanted: CHARIO_PIN_* bits that this file requests; SET_PIN: in, and all
 *	other bits are released; GET_PIN: out
 * @in_force: out: bits of @wanted that are in force
 * @absent: out: bits of @in_force for which nothing had to be done, because
 *	drive, link or kernel do not have the feature that would be turned off
 * @refused: out: bits of @wanted that are not in force because the drive
 *	refused them or did not answer
 * @reserved: zero
 * @status: out: for each bit, 0 if it is in force or not wanted; else an NVMe
 *	status (status code type and status code, such as 0x10e) or a negative
 *	errno; -EAGAIN and -ECANCELED mean that the bit is set after a reset
 *	that is under way
 *
 * A pin applies to the whole controller while at least one open file requests
 * it, and survives resets.  The previous setting is restored when the last of
 * these files is closed, its process is killed, or the drive is released.
 *
 * A bit of @wanted that is neither in @in_force nor in @refused is set at the
 * end of a reset; GET_PIN shows the outcome after that.  A pin that the drive
 * refuses is no error.
 *
 * Errors: EINVAL if @wanted has unknown bits; EOPNOTSUPP if the disk lacks
 * CHARIO_FEATURE_PIN; ENOMEM; EINTR when the caller was killed.
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

/** enum chario_health_status - the overall health of a drive */
enum chario_health_status {
	CHARIO_HEALTH_OK = 1,
	CHARIO_HEALTH_WARNING = 2,
	CHARIO_HEALTH_CRITICAL = 3,
};

/* Reasons of &struct chario_health. */
#define CHARIO_HEALTH_SPARE		(1U << 0) /* few spare blocks are left */
#define CHARIO_HEALTH_TEMPERATURE	(1U << 1) /* near a limit, or beyond it */
#define CHARIO_HEALTH_RELIABILITY	(1U << 2) /* the drive reports: degraded */
#define CHARIO_HEALTH_READ_ONLY		(1U << 3) /* the medium is read-only */
#define CHARIO_HEALTH_BACKUP		(1U << 4) /* the power backup has failed */
#define CHARIO_HEALTH_WEAR		(1U << 8) /* 90 % of the drive's life is used */
#define CHARIO_HEALTH_MEDIA_ERRORS	(1U << 9) /* the drive has lost data */
#define CHARIO_HEALTH_THROTTLED		(1U << 10) /* in the last minute */

/**
 * struct chario_health - the health of a drive (CHARIO_IOC_HEALTH)
 * @size: size of this struct, see &struct chario_info
 * @status: &enum chario_health_status
 * @reasons: CHARIO_HEALTH_* bits, 0 if @status is CHARIO_HEALTH_OK
 * @events: number of events that the drive has reported since it was bound
 * @read_ns: time at which the drive was asked, in nanoseconds of
 *	CLOCK_MONOTONIC; it is asked at most once a second, and after an event
 * @critical_warning: Critical Warning bits of the drive, as in the NVMe
 *	specification
 * @temperature_k: composite temperature in kelvin; 0 if the drive does not
 *	report it, like all temperatures here
 * @warning_temperature_k: temperature in kelvin from which the drive is too hot
 *	and may throttle
 * @critical_temperature_k: temperature in kelvin from which the drive may stop
 * @warning_minutes: time above @warning_temperature_k in minutes
 * @critical_minutes: time above @critical_temperature_k in minutes
 * @spare_percent: spare blocks that are left, in percent
 * @spare_threshold_percent: threshold of @spare_percent below which the drive
 *	warns
 * @used_percent: part of the drive's life that is used, in percent, as the
 *	vendor estimates it; can exceed 100
 * @throttled: 1 if the drive was seen to throttle in the last minute, else 0
 * @throttle_light_count: number of transitions to light throttling
 * @throttle_heavy_count: number of transitions to heavy throttling
 * @throttle_light_s: time of light throttling in seconds
 * @throttle_heavy_s: time of heavy throttling in seconds
 * @sensors_k: temperatures of the drive's sensors in kelvin
 * @data_units_read: data read by the host, in units of 512,000 bytes
 * @data_units_written: data written by the host, in units of 512,000 bytes
 * @read_commands: number of read commands that the drive has completed, for any
 *	host and driver
 * @write_commands: number of write commands that the drive has completed, for
 *	any host and driver
 * @busy_minutes: time for which the drive was busy with commands, in minutes
 * @power_cycles: number of power cycles
 * @power_on_hours: time with power, in hours
 * @unsafe_shutdowns: number of times that power was lost without notice
 * @media_errors: number of errors in data that the drive could not correct
 * @error_log_entries: number of errors that the drive has logged in its life
 *
 * All disks of a drive give the same health.
 *
 * Errors: EOPNOTSUPP if the disk lacks CHARIO_FEATURE_HEALTH, or the drive has
 * no health log; EAGAIN while the controller is being reset; EIO when the drive
 * has been given up; ETIMEDOUT when it does not answer, and EBUSY while it
 * still has not; EINTR when the caller was killed.
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
