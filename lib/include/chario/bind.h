/* SPDX-License-Identifier: LGPL-2.1-or-later OR MIT */
/*
 * A bind: a drive goes from one driver to another.
 *
 * The module chario drives only drives that were bound to it by name.  A bind writes the
 * driver_override of the drive, takes the drive from its present driver, and gives it to
 * chario; an unbind does the reverse.  In between, the earlier driver is recorded below
 * /run/chario.
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
#define CHARIO_BIND_FORCE (1U << 0) /* even if the drive is in use */
#define CHARIO_BIND_BLOCK (1U << 1) /* chario_bind(): its disks are block devices as well */

/**
 * enum chario_bind_step - the steps of a bind and an unbind
 * @CHARIO_BIND_DONE: all of them are done
 * @CHARIO_BIND_CHECK: check that the drive is not in use
 * @CHARIO_BIND_MODULE: load the module
 * @CHARIO_BIND_REMEMBER: record, read or erase the earlier driver
 * @CHARIO_BIND_OVERRIDE: write driver_override
 * @CHARIO_BIND_RELEASE: take the drive from its present driver
 * @CHARIO_BIND_ATTACH: give the drive to the other driver
 * @CHARIO_BIND_APPEAR: wait for /dev/chardiskN
 * @CHARIO_BIND_SERVE: make the block devices /dev/chardiskNb
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
	CHARIO_BIND_SERVE,
};

/**
 * struct chario_bind_result - the outcome of a bind or an unbind
 * @size: size of this struct as the library knows it
 * @step: &enum chario_bind_step that failed; CHARIO_BIND_DONE if none did
 * @was_bound: 1 if the drive was with chario at the beginning, else 0
 * @restored: 1 if a step failed and the drive is back with its earlier driver, else 0
 * @nr_disks: number of disks of the drive after a bind
 * @earlier_driver: name of the earlier driver, or an empty string
 * @driver: name of the present driver, or an empty string
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
 * @drive: drive, from chario_drive_find()
 * @flags: CHARIO_BIND_* bits
 * @result: struct to fill in, also on failure
 * @size: sizeof(*@result)
 *
 * A drive in use is left alone unless forced; from the check until the earlier driver has
 * let go, nothing else can begin to use it.  When a step fails, the earlier driver gets the
 * drive back.  A drive that is already with CharIO stays there: that is success.  With
 * CHARIO_BIND_BLOCK each of its disks has a block device afterwards; without it none is made
 * or taken away.  The call waits for another bind or unbind of the same drive.
 *
 * Context: may sleep: besides the time of the drivers, up to 10 s for the disks and twice
 * up to 10 s for udev.
 * Return: 0; -EBUSY when the drive is in use (@result->step is CHARIO_BIND_CHECK,
 * chario_use_each() lists the uses); -EPERM or -EACCES without the rights of root; -ENOENT
 * when the module cannot be loaded because it is not installed; -ENODEV when the drive has
 * gone or the module refused it; -ETIMEDOUT when its disks did not appear; -ENOTBLK when
 * another file, such as a plain file, is at the path of a disk's node; -EOPNOTSUPP when a
 * disk cannot be a block device, see chario(4); -EINVAL for unknown @flags or a @size smaller
 * than the first version of the struct; or an error of the driver.
 */
int chario_bind(const struct chario_drive *drive, uint32_t flags, struct chario_bind_result *result,
		size_t size);

/**
 * chario_unbind() - give a drive back to its earlier driver
 * @drive: drive, from chario_drive_find()
 * @flags: CHARIO_BIND_FORCE or 0; open files get -ENODEV when forced
 * @result: struct to fill in, also on failure
 * @size: sizeof(*@result)
 *
 * Without a known earlier driver, the kernel chooses one as for a new device.  A drive that
 * was left without a driver, because a bind or an unbind was killed, goes back as well.
 *
 * Context: may sleep.
 * Return: 0, and @result->driver names the present driver, or is empty if there is none;
 * -EBUSY when a disk of the drive is open; -ENXIO when the drive is not with CharIO; -EPERM
 * or -EACCES without the rights of root; -ENODEV when the drive has gone; -EINVAL for
 * unknown @flags or a @size smaller than the first version of the struct; or an error of
 * the driver.
 */
int chario_unbind(const struct chario_drive *drive, uint32_t flags,
		  struct chario_bind_result *result, size_t size);

#ifdef __cplusplus
}
#endif

#endif /* CHARIO_BIND_H */
