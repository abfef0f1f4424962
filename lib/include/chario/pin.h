/* SPDX-License-Identifier: LGPL-2.1-or-later OR MIT */
/*
 * Pins: an open device keeps its drive and host awake and attentive, so that calls take the
 * same time each.
 *
 * Power states that the drive enters by itself, interrupts that it holds back, reads that
 * it repeats for seconds, CPUs and links that sleep: a CHARIO_PIN_* bit in <chario/uapi.h>
 * turns off each of them.
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
 * chario_pin_set() - set the pins of a device
 * @device: an open device; its pins end when it is closed
 * @wanted: CHARIO_PIN_* bits; all other pins are given up
 * @pin: struct to fill in with the outcome; members that the kernel does not know read
 *	as zero
 * @size: sizeof(*@pin)
 *
 * A pin that the drive refuses is no error, but is shown in @pin.
 *
 * Context: sleeps for as long as the drive takes for some admin commands.
 * Return: 0; -EINVAL if @wanted has bits that the kernel does not know or @size is smaller
 * than the first version of the struct; -EOPNOTSUPP if the disk has nothing to pin; -ENOTTY
 * if the kernel module does not support pins; -ENODEV when the disk has been removed;
 * -ENOMEM.
 */
int chario_pin_set(const struct chario_device *device, uint32_t wanted, struct chario_pin *pin,
		   size_t size);

/**
 * chario_pin_get() - get the pins of a device and their outcome
 * @device: an open device
 * @pin: struct to fill in; members that the kernel does not know read as zero
 * @size: sizeof(*@pin)
 *
 * Context: may sleep.
 * Return: the results of chario_pin_set().
 */
int chario_pin_get(const struct chario_device *device, struct chario_pin *pin, size_t size);

/**
 * chario_pin_name() - the name of a pin
 * @place: place of its bit: 0 for CHARIO_PIN_APST, and so on
 *
 * Return: "apst", "power-state", "coalescing", "vectors", "retry", "cpu" or "link", a
 * constant; NULL if there is no such pin.
 */
const char *chario_pin_name(unsigned int place);

#ifdef __cplusplus
}
#endif

#endif /* CHARIO_PIN_H */
