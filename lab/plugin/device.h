/* SPDX-License-Identifier: MIT */
/*
 * Control of the emulated device's speed, so that the race between a caller
 * going to sleep and its completion has the same winner in every operation.
 *
 * QEMU's device works in the main loop: a doorbell store schedules work there
 * and wakes the loop. This file stands before the C library's ppoll(), in
 * which the main loop waits, and so decides when the loop sees that work.
 */
#ifndef CHARIO_DEVICE_H
#define CHARIO_DEVICE_H

#include <stdbool.h>

enum device_mode {
	DEVICE_FREE, /* as fast as the machine goes */
	DEVICE_LATE, /* work is held until the CPUs that rang doorbells have gone idle */
	DEVICE_STALL, /* the virtual CPU waits after its doorbell store */
};

/* device_is_preloaded() - whether the main loop runs through this file. */
bool device_is_preloaded(void);

/*
 * device_set_mode() - from the thread of @vcpu, between operations
 *
 * In LATE mode the device awaits @vcpu, and from its first doorbell on every
 * other CPU that rings one.
 */
void device_set_mode(enum device_mode mode, unsigned int vcpu);

/*
 * device_rung() - @vcpu has stored to a doorbell: in STALL mode, wait until
 * neither the main loop nor a worker has anything left to do
 *
 * Return: false when that did not come to pass within a second.
 */
bool device_rung(unsigned int vcpu);

/* device_set_idle() - @vcpu halted, or goes on. */
void device_set_idle(unsigned int vcpu, bool idle);

#endif
