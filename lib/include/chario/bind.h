/* SPDX-License-Identifier: LGPL-2.1-or-later OR MIT */
/*
 * A bind: a drive goes from one driver to another.
 *
 * The module chario drives only what it has been bound to by name.  To bind a
 * drive is to write its driver_override, to take it from the driver that has
 * it and to give it to chario; to unbind it is the way back.  In between, the
 * earlier driver is remembered below /run/chario.
 */
#ifndef CHARIO_BIND_H
#define CHARIO_BIND_H

#include <stddef.h>
#include <stdint.h>

#include <chario/drive.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Flags of chario_bind() and chario_unbind(). */
#define CHARIO_BIND_FORCE (1U << 0) /* although the drive is in use */

/**
 * enum chario_bind_step - the steps of a bind and an unbind
 * @CHARIO_BIND_DONE: all of them are done
 * @CHARIO_BIND_CHECK: see that the drive is not in use
 * @CHARIO_BIND_MODULE: load the module
 * @CHARIO_BIND_REMEMBER: write down, read or erase the earlier driver
 * @CHARIO_BIND_OVERRIDE: write driver_override
 * @CHARIO_BIND_RELEASE: take the drive from the driver that has it
 * @CHARIO_BIND_ATTACH: give it to the other driver
 * @CHARIO_BIND_APPEAR: wait for /dev/chardiskN
 */
enum chario_bind_step {
	CHARIO_BIND_DONE,
	CHARIO_BIND_CHECK,
	CHARIO_BIND_MODULE,
	CHARIO_BIND_REMEMBER,
	CHARIO_BIND_OVERRIDE,
	CHARIO_BIND_RELEASE,
	CHARIO_BIND_ATTACH,
	CHARIO_BIND_APPEAR,
};

/**
 * struct chario_bind_result - what a bind or an unbind has come to
 * @size: size of this struct as the library knows it
 * @step: &enum chario_bind_step that failed; CHARIO_BIND_DONE when none did
 * @was_bound: 1 when the drive was with chario at the beginning, else 0
 * @restored: 1 when a step failed and the drive is back with its earlier
 *	driver, else 0
 * @nr_disks: disks that the drive has after a bind
 * @earlier_driver: driver that had the drive before, or an empty string
 * @driver: driver that has it now, or an empty string
 */
struct chario_bind_result {
	uint32_t size;
	uint32_t step;
	uint32_t was_bound;
	uint32_t restored;
	uint32_t nr_disks;
	char earlier_driver[32];
	char driver[32];
};

/**
 * chario_bind() - give a drive to CharIO
 * @drive: the drive, as chario_drive_find() gave it
 * @flags: CHARIO_BIND_FORCE or 0
 * @result: is filled in, also on failure
 * @size: sizeof(*@result)
 *
 * A drive that is in use is left alone unless forced; from the check until the
 * earlier driver has let go, nothing else can begin to use it.  When a step
 * fails, the earlier driver gets the drive back.  A drive that is with CharIO
 * already stays there: that is success.  Another bind or unbind of the drive
 * that is under way is waited for.
 *
 * Context: may sleep, beyond what the drivers take up to 10 s for the disks and
 * twice up to 10 s for udev.
 * Return: 0; -EBUSY when the drive is in use (@result->step says
 * CHARIO_BIND_CHECK, chario_use_each() says by what), -EPERM or -EACCES
 * without the rights of root, -ENOENT when the module cannot be loaded because
 * it is not installed, -ENODEV when the drive has gone or the module refused
 * it, -ETIMEDOUT when its disks did not appear, -ENOTBLK when something else, such as a
 * plain file, stands where the node of one of them is to be, -EINVAL for unknown @flags or
 * a @size smaller than the first version of the struct, or what the driver
 * gave.
 */
int chario_bind(const struct chario_drive *drive, uint32_t flags, struct chario_bind_result *result,
		size_t size);

/**
 * chario_unbind() - give a drive back to the driver it had
 * @drive: the drive, as chario_drive_find() gave it
 * @flags: CHARIO_BIND_FORCE or 0; open files get -ENODEV when forced
 * @result: is filled in, also on failure
 * @size: sizeof(*@result)
 *
 * Where no earlier driver is known, the kernel chooses as it does for a new
 * device.  A drive that a bind or an unbind left without a driver when it was
 * killed goes back as well.
 *
 * Context: may sleep.
 * Return: 0, @result->driver says who has the drive now, which may be nobody;
 * -EBUSY when a disk of it is open, -ENXIO when the drive is not with CharIO,
 * -EPERM or -EACCES without the rights of root, -ENODEV when the drive has
 * gone, -EINVAL for unknown @flags or a @size smaller than the first version
 * of the struct, or what the driver gave.
 */
int chario_unbind(const struct chario_drive *drive, uint32_t flags,
		  struct chario_bind_result *result, size_t size);

#ifdef __cplusplus
}
#endif

#endif /* CHARIO_BIND_H */
