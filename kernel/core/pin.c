// SPDX-License-Identifier: GPL-2.0-only
/*
 * What open files pin: power states, interrupts and retries of their drive.
 */
#include <linux/string.h>

#include "core/backend.h"

static_assert(CHARIO_PIN_ALL == (1U << CHARIO_NR_PINS) - 1);

/**
 * chario_pin_get() - what has come of it
 * @cio: the disk
 * @held: what a file asks for
 * @pin: filled in
 *
 * Return: 0; EOPNOTSUPP, EINTR.
 */
int chario_pin_get(struct chario_device *cio, u32 held, struct chario_pin *pin)
{
	if (!cio->backend->pin)
		return -EOPNOTSUPP;
	memset(pin, 0, sizeof(*pin));
	return cio->backend->get_pin(cio, held, pin);
}

/**
 * chario_pin_set() - a file asks for something else
 * @cio: the disk
 * @held: what it asks for so far; becomes what it asks for now
 * @pin: in: what it wants; filled in
 *
 * Return: 0; EINVAL, EOPNOTSUPP, ENODEV, ENOMEM, EINTR.
 */
int chario_pin_set(struct chario_device *cio, u32 *held, struct chario_pin *pin)
{
	u32 wanted = pin->wanted;
	int ret;

	if (pin->reserved || (wanted & ~CHARIO_PIN_ALL))
		return -EINVAL;
	if (!cio->backend->pin)
		return -EOPNOTSUPP;
	ret = cio->backend->pin(cio, held, wanted);
	return ret ?: chario_pin_get(cio, wanted, pin);
}

/**
 * chario_pin_release() - a file is closed
 * @cio: the disk, whose drive may have gone
 * @held: what the file asks for
 */
void chario_pin_release(struct chario_device *cio, u32 *held)
{
	if (*held)
		cio->backend->pin(cio, held, 0);
}
