// SPDX-License-Identifier: GPL-2.0-only
/*
 * Pins of open files: power states, interrupts and retries of their drive.
 */
#include <linux/string.h>

#include "disk/disk.h"
#include "types/backend.h"

static_assert(CHARIO_PIN_ALL == (1U << CHARIO_NR_PINS) - 1);

/**
 * chario_pin_get() - describe the effect of the pins of a file
 * @disk: the disk
 * @held: CHARIO_PIN_* bits of the file
 * @pin: the description, filled in
 *
 * Return: 0; EOPNOTSUPP, EINTR.
 */
int chario_pin_get(struct chario_disk *disk, u32 held, struct chario_pin *pin)
{
	if (!disk->backend->pin)
		return -EOPNOTSUPP;
	memset(pin, 0, sizeof(*pin));
	return disk->backend->get_pin(disk, held, pin);
}

/**
 * chario_pin_set() - change the pins of a file
 * @disk: the disk
 * @held: CHARIO_PIN_* bits of the file, updated
 * @pin: the bits wanted; filled in with their effect
 *
 * Return: 0; EINVAL, EOPNOTSUPP, ENODEV, ENOMEM, EINTR.
 */
int chario_pin_set(struct chario_disk *disk, u32 *held, struct chario_pin *pin)
{
	u32 wanted = pin->wanted;
	int ret;

	if (pin->reserved || (wanted & ~CHARIO_PIN_ALL))
		return -EINVAL;
	if (!disk->backend->pin)
		return -EOPNOTSUPP;
	ret = disk->backend->pin(disk, held, wanted);
	return ret ?: chario_pin_get(disk, wanted, pin);
}

/**
 * chario_pin_release() - release the pins of a file that is closed
 * @disk: the disk, whose drive may have gone
 * @held: CHARIO_PIN_* bits of the file, cleared
 */
void chario_pin_release(struct chario_disk *disk, u32 *held)
{
	if (*held)
		disk->backend->pin(disk, held, 0);
}
