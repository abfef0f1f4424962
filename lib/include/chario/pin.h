/* SPDX-License-Identifier: LGPL-2.1-or-later OR MIT */
/*
 * Pins: what an open device asks of its drive and host, for as long as it is
 * open, so that calls take the same time each.
 *
 * Power states that the drive enters by itself, interrupts that it holds back,
 * reads that it repeats for seconds, CPUs and links that sleep: each has a
 * CHARIO_PIN_* bit in <chario/uapi.h>.
 */
#ifndef CHARIO_PIN_H
#define CHARIO_PIN_H

#include <stddef.h>
#include <stdint.h>

#include <chario/device.h>

#ifdef __cplusplus
extern "C" {
#endif

/**
 * chario_pin_set() - ask for pins, and give up all others
 * @device: an open device; what it asks for ends when it is closed
 * @wanted: CHARIO_PIN_* bits
 * @pin: is filled in with what has come of it; members that the kernel does
 *	not know read as zero
 * @size: sizeof(*@pin)
 *
 * What the drive refuses is no error: @pin says so.
 *
 * Context: sleeps for as long as the drive takes for some admin commands.
 * Return: 0; -EINVAL where @wanted has bits that the kernel does not know or
 * @size is smaller than the first version of the struct, -EOPNOTSUPP where the
 * disk has nothing to pin, -ENOTTY where the kernel module knows no pins,
 * -ENODEV when the disk has been removed, -ENOMEM.
 */
int chario_pin_set(const struct chario_device *device, uint32_t wanted, struct chario_pin *pin,
		   size_t size);

/**
 * chario_pin_get() - what a device asks for, and what has come of it
 * @device: an open device
 * @pin: is filled in; members that the kernel does not know read as zero
 * @size: sizeof(*@pin)
 *
 * Context: may sleep.
 * Return: as chario_pin_set().
 */
int chario_pin_get(const struct chario_device *device, struct chario_pin *pin, size_t size);

/**
 * chario_pin_name() - the name of a pin
 * @place: of its bit: 0 for CHARIO_PIN_APST, and so on
 *
 * Return: "apst", "power-state", "coalescing", "vectors", "retry", "cpu" or
 * "link", a constant; NULL where there is no such pin.
 */
const char *chario_pin_name(unsigned int place);

#ifdef __cplusplus
}
#endif

#endif /* CHARIO_PIN_H */
